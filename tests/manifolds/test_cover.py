"""Covers: coordinates map back to their points, and volumes equal those of autodiff."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from foliax.manifolds import (
    AbstractManifold,
    Circle,
    Euclidean,
    Integers,
    Interval,
    Naturals,
    Orientations,
    Orthogonal,
    PositiveReals,
    Product,
    ProjectiveSpace,
    Rounded,
    SpecialOrthogonal,
    Sphere,
    Stiefel,
    Torus,
)
from foliax.manifolds.cover import Block
from foliax.manifolds.plain_covers import OrbitCover
from foliax.manifolds.sphere import householder_basis

COMPACT = {
    "circle as S1": Sphere(1),
    "S2": Sphere(2),
    "S5": Sphere(5),
    "T3": Torus(3),
    "SO(2)": SpecialOrthogonal(2),
    "SO(3)": SpecialOrthogonal(3),
    "SO(4)": SpecialOrthogonal(4),
    "SO(5)": SpecialOrthogonal(5),
    "O(2)": Orthogonal(2),
    "O(3)": Orthogonal(3),
    "O(4)": Orthogonal(4),
    "St(3, 1)": Stiefel(3, 1),
    "St(3, 2)": Stiefel(3, 2),
    "St(4, 2)": Stiefel(4, 2),
    "St(5, 2)": Stiefel(5, 2),
    "St(5, 3)": Stiefel(5, 3),
    "RP2": ProjectiveSpace(2),
    "cubic": Orientations("432"),
    "S2 x SO(3)": Product(Sphere(2), SpecialOrthogonal(3)),
}


@pytest.fixture(autouse=True)
def _float64():
    with jax.enable_x64(True):
        yield


def tangents(block: Block, part):
    """Return a curve-valued map of tangent vectors at a part, of Jacobian 1 at 0."""
    if not block.is_unit_vector:
        return 1, lambda t: part + t
    basis = householder_basis(part)

    def along(t):
        y = part + basis @ t
        return y / jnp.linalg.norm(y)

    return block.size - 1, along


def log_volume_by_autodiff(cover, x, cells):
    """−½ log det JᵀJ of the map from tangent vectors of the blocks to the point."""
    parts = jnp.split(x, np.cumsum([b.size for b in cover.blocks])[:-1])
    maps = [tangents(b, part) for b, part in zip(cover.blocks, parts, strict=True)]
    ends = np.cumsum([size for size, _ in maps])

    def point(t):
        pieces = jnp.split(t, ends[:-1])
        moved = [along(piece) for (_, along), piece in zip(maps, pieces, strict=True)]
        return cover.drop(jnp.concatenate(moved), cells)

    jacobian = jax.jacfwd(point)(jnp.zeros(ends[-1]))
    return -0.5 * jnp.linalg.slogdet(jacobian.T @ jacobian)[1]


@pytest.mark.parametrize("name", COMPACT)
def test_coordinates_map_back_and_volumes_are_right(name):
    manifold: AbstractManifold = COMPACT[name]
    cover = manifold.cover()
    assert cover is not None
    for seed in range(4):
        y = manifold.sample_uniform(key=jax.random.key(seed))
        x, log_volume = cover.lift(y)
        cells = cover.cells(y).middle
        assert x.shape == (cover.branches, cover.size)
        for one, volume in zip(x, log_volume, strict=True):
            back = cover.drop(one, cells)
            assert float(manifold.distance(back, y)) < 1e-6
            # The images of a group have equal volumes; choosing one has no derivative.
            plain = cover.base if isinstance(cover, OrbitCover) else cover
            expected = float(log_volume_by_autodiff(plain, one, cells))
            assert float(volume) == pytest.approx(expected, abs=1e-9)


def log_volume_of(block: Block) -> float:
    if block.kind == "axis":
        return ProjectiveSpace(block.size - 1).log_total_volume()
    return (Sphere(block.size - 1) if block.kind == "sphere" else Circle()).log_total_volume()


@pytest.mark.parametrize("name", COMPACT)
def test_uniform_coordinates_are_uniform_points(name):
    """The uniform density of all blocks, a half for a sign, is that of the manifold."""
    manifold = COMPACT[name]
    cover = manifold.cover()
    _, log_volume = cover.lift(manifold.sample_uniform(key=jax.random.key(0)))
    blocks = sum(map(log_volume_of, cover.blocks))
    density = jax.nn.logsumexp(log_volume) - blocks - cover.cell_count * math.log(2)
    assert float(density) == pytest.approx(-manifold.log_total_volume(), abs=1e-9)


def test_charts_are_lines():
    cover = Product(Euclidean(2), PositiveReals(), Interval(0.0, 2.0)).cover()
    assert [block.kind for block in cover.blocks] == ["line"] * 4
    y = jnp.array([1.5, -2.0, 3.0, 0.5])
    x, log_volume = cover.lift(y)
    np.testing.assert_allclose(cover.drop(x[0], jnp.zeros(0)), y, rtol=1e-12)
    expected = -math.log(3.0) + math.log(2 / (0.5 * 1.5))
    assert float(log_volume[0]) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    ("manifold", "value", "low", "high"),
    [
        (Naturals(), 3.0, math.log(3), math.log(4)),
        (Naturals(), 0.0, -math.inf, 0.0),
        (Integers(), -2.0, -2.0, -1.0),
        (Rounded(0.5), 1.5, 1.25, 1.75),
    ],
)
def test_cells_of_discrete_values(manifold, value, low, high):
    cover = manifold.cover()
    found = cover.cells(jnp.array([value]))
    np.testing.assert_allclose(found.low, [low], atol=1e-12)
    np.testing.assert_allclose(found.high, [high], atol=1e-12)
    assert float(cover.drop(jnp.zeros(0), found.middle)[0]) == value
    slope = 1 / (value + 0.5) if isinstance(manifold, Naturals) else high - low
    np.testing.assert_allclose(found.log_width, [math.log(slope)], atol=1e-12)
