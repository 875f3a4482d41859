"""Local coordinates: one to one, the right volume, and found only where they are needed."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from foliax.manifolds import (
    Euclidean,
    Integers,
    Interval,
    Naturals,
    Orientations,
    PositiveReals,
    Product,
    ProjectiveSpace,
    Quotient,
    Rounded,
    SpecialOrthogonal,
    Sphere,
    Torus,
)

N = 200


def normal(*shape):
    return np.random.default_rng(0).normal(size=shape)


def near_one_point(d, width):
    points = np.eye(d + 1)[0] + width * normal(N, d + 1)
    return points / np.linalg.norm(points, axis=1, keepdims=True)


def rotations(width, centre=(1.0, 2.0, -0.5)):
    turn = Rotation.from_rotvec(width * normal(N, 3)) * Rotation.from_rotvec(centre)
    return turn.as_matrix().reshape(N, 9)


def angles(*widths):
    return np.array([3.1, -0.4])[: len(widths)] + np.array(widths) * normal(N, len(widths))


# manifold, rows in its units, and the spread that the working coordinates resolve
NARROW = {
    "pressure": (PositiveReals(1), 101325 + 3 * normal(N, 1)),
    "near one": (PositiveReals(2), 1 + 1e-6 * normal(N, 2)),
    "northing": (Euclidean(2), np.array([5.4e6, 3e5]) + 20 * normal(N, 2)),
    "tiny": (Euclidean(1), 1e-20 * normal(N, 1)),
    "interval": (Interval(0.0, 1e9), 5e8 + normal(N, 1)),
    "interval far from zero": (Interval(1e7, 1e7 + 2), 1e7 + 1 + 0.2 * normal(N, 1)),
    "valley": (Sphere(2), near_one_point(2, 1e-5)),
    "S⁴": (Sphere(4), near_one_point(4, 1e-3)),
    "minute": (Torus(1), angles(1e-4)),
    "one of two angles": (Torus(2), angles(1.0, 1e-4)),
    "rotations": (SpecialOrthogonal(3), rotations(1e-5)),
    "axes": (ProjectiveSpace(2), near_one_point(2, 1e-5)[:, ::-1]),
    "orientations": (Orientations("432"), rotations(1e-5, [0.1, 0.2, -0.1])),
    "product": (
        Product(Sphere(2), Euclidean(1)),
        np.concatenate([near_one_point(2, 1e-5), normal(N, 1)], axis=1),
    ),
}
# Rows of any spread: the chart of an open set is always applied in float64.
CHARTS = {
    "log-normal": (PositiveReals(1), np.exp(5 + normal(N, 1))),
    "forty decades": (PositiveReals(2), 10.0 ** (10 * normal(N, 2))),
    "ends of an interval": (Interval(-1.0, 1.0), np.tanh(4 * normal(N, 1))),
    "chart in a product": (
        Product(Sphere(2), Interval(0.0, 5.0)),
        np.concatenate([near_one_point(2, 0.1), 5 / (1 + np.exp(-normal(N, 1)))], axis=1),
    ),
}
CELLS = {
    "years in days": (Rounded(0.1, offset=7e5), 7e5 + 0.1 * np.round(30 * normal(N, 1))),
    "integers": (Integers(1), 3e9 + np.round(50 * normal(N, 1))),
    "counts": (Naturals(1), 1e6 + np.round(1000 * normal(N, 1))),
}


@pytest.mark.parametrize("name", NARROW | CELLS)
def test_there_and_back(name):
    manifold, rows = (NARROW | CELLS)[name]
    local = manifold.local_coordinates(rows)
    assert local is not None
    t, _ = local.encode(rows)
    assert t.shape == (N, local.working.size)
    spread = rows.std(axis=0).max()
    np.testing.assert_allclose(local.decode(t), rows, atol=1e-6 * spread, rtol=1e-13)
    single = local.decode(t.astype(np.float32).astype(np.float64))
    np.testing.assert_allclose(single, rows, atol=1e-5 * spread, rtol=1e-13)


@pytest.mark.parametrize("name", NARROW)
def test_coordinates_are_centred_and_scaled(name):
    manifold, rows = NARROW[name]
    local = manifold.local_coordinates(rows)
    t = local.encode(rows)[0]
    assert np.abs(np.median(t, axis=0)).max() < 4
    assert t.std(axis=0).min() > 0.3
    assert t.std(axis=0).max() < 4


@pytest.mark.parametrize("name", NARROW)
def test_the_volume_is_that_of_autodiff(name):
    """|dt/dy|² = det JᵀJ of the inverse, whose columns are tangent to the manifold."""
    manifold, rows = NARROW[name]
    local = manifold.local_coordinates(rows)
    with jax.enable_x64(True):
        for row in rows[:3]:
            t, log_slope = local.encode(jnp.asarray(row), jnp)
            jacobian = jax.jacfwd(lambda t: local.decode(t, jnp))(t)
            expected = -0.5 * jnp.linalg.slogdet(jacobian.T @ jacobian)[1]
            np.testing.assert_allclose(log_slope, expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", NARROW | CHARTS)
def test_traced_and_exact_agree(name):
    manifold, rows = (NARROW | CHARTS)[name]
    local = manifold.local_coordinates(rows)
    with jax.enable_x64(True):
        traced = jax.jit(lambda y: local.encode(y, jnp))(jnp.asarray(rows))
    for found, expected in zip(traced, local.encode(rows), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-5)


@pytest.mark.parametrize(
    ("manifold", "rows"),
    [
        (ProjectiveSpace(2), near_one_point(2, 1e-9)),
        (Orientations("432"), rotations(1e-9)),
        (Orientations("6/mmm", side="left"), rotations(1e-9)),
    ],
    ids=["axes", "cubic", "hexagonal"],
)
def test_images_of_a_point_have_the_same_coordinates(manifold, rows):
    actions = manifold.symmetry.actions
    which = np.random.default_rng(1).integers(len(actions), size=N)
    images = np.einsum("nij,nj->ni", actions[which], rows)
    local = manifold.local_coordinates(images)
    t, log_slope = local.encode(images)
    expected = local.encode(rows)
    np.testing.assert_allclose(t, expected[0], atol=1e-5)
    np.testing.assert_allclose(log_slope, expected[1], atol=1e-5)
    orbits = np.einsum("gij,nj->ngi", actions, local.decode(t))
    assert np.abs(orbits - rows[:, None]).max(axis=2).min(axis=1).max() < 1e-14


def test_a_point_near_its_own_image_has_no_local_coordinates():
    turn = np.diag([-1.0, -1.0, 1.0])
    manifold = Quotient(Sphere(2), np.stack([np.eye(3), turn]))
    assert manifold.local_coordinates(near_one_point(2, 1e-4)[:, ::-1]) is None
    assert manifold.local_coordinates(near_one_point(2, 1e-4)) is not None


@pytest.mark.parametrize(
    ("manifold", "rows"),
    [
        (Euclidean(1), 3 + normal(N, 1)),
        (Sphere(2), near_one_point(2, 0.1)),
        (Torus(2), angles(0.3, 0.3)),
        (SpecialOrthogonal(3), rotations(0.3)),
        (SpecialOrthogonal(4), np.tile(np.eye(4).reshape(1, 16), (N, 1))),
        (Integers(1), np.round(10 * normal(N, 1))),
        (Naturals(1), np.round(np.exp(2 + normal(N, 1)))),
        (Naturals(1), np.round(np.exp(12 + normal(N, 1)))),
    ],
    ids=str,
)
def test_ordinary_rows_stay_as_they_are(manifold, rows):
    assert manifold.local_coordinates(rows) is None


@pytest.mark.parametrize("off", [0.0, 1e-12, 1e-6, 1e-3])
def test_points_at_the_end_of_a_chart_are_far_away(off):
    """Not at its middle, where rounding of 0/0 would put them."""
    manifold, rows = NARROW["valley"]
    local = manifold.local_coordinates(rows)
    opposite = -local.centre + off * local.basis[:, 0]
    t, log_slope = local.encode(opposite[None] / np.linalg.norm(opposite))
    assert np.isfinite(t).all()
    assert np.isfinite(log_slope).all()
    assert np.linalg.norm(t * local.scale) >= min(1e6, 1.9 / max(off, 1e-15))
    half_turn = np.diag([1.0, -1.0, -1.0])
    manifold, rows = NARROW["rotations"]
    local = manifold.local_coordinates(rows)
    t, _ = local.encode((local.centre @ half_turn).reshape(1, 9))
    assert np.linalg.norm(t * local.scale) > 1e6
    manifold, rows = NARROW["minute"]
    local = manifold.local_coordinates(rows)
    t, _ = local.encode(local.centre[None] + np.pi)
    assert np.abs(t * local.scale) > 1e6


@pytest.mark.parametrize("low", [0.0, -1.0, 1000.0])
def test_distances_to_the_ends_of_an_interval_are_kept(low):
    manifold = Interval(low, low + 1)
    least = np.spacing(abs(low) + 1)
    gaps = np.geomspace(8 * least, 0.5, 60)[:, None]
    for rows in (low + gaps, low + 1 - gaps):
        local = manifold.local_coordinates(rows)
        single = local.decode(local.encode(rows)[0].astype(np.float32).astype(np.float64))
        np.testing.assert_allclose(single - low, rows - low, rtol=1e-5, atol=least)
        np.testing.assert_allclose(low + 1 - single, low + 1 - rows, rtol=1e-5, atol=least)


def test_positive_values_of_all_sizes_keep_their_digits():
    rows = np.geomspace(1e-307, 1e308, 100)[:, None]
    local = PositiveReals(1).local_coordinates(rows)
    single = local.decode(local.encode(rows)[0].astype(np.float32).astype(np.float64))
    np.testing.assert_allclose(single, rows, rtol=1e-4)


@pytest.mark.parametrize("name", CHARTS)
def test_points_of_a_chart_have_the_measure_of_the_manifold(name):
    manifold, rows = CHARTS[name]
    local = manifold.local_coordinates(rows)
    assert not local.encode(rows)[1].any()
    assert local.working.log_total_volume() == manifold.log_total_volume()
    with jax.enable_x64(True):
        for row in rows[:3]:
            t = jnp.asarray(local.encode(row)[0])
            found = local.working.dequantization().preimages(t, jnp.ones(manifold.size - 1))[1]
            expected = manifold.dequantization().preimages(
                jnp.asarray(row), jnp.ones(manifold.size - 1)
            )[1]
            np.testing.assert_allclose(found, expected, rtol=1e-9)
            found = local.working.features(t)
            np.testing.assert_allclose(found, manifold.features(jnp.asarray(row)), rtol=1e-9)


@pytest.mark.parametrize(
    "manifold",
    [Interval(0.0, 1.0), Interval(-1.0, 0.0), Interval(1000.0, 1000.000001), PositiveReals(1)],
    ids=str,
)
@pytest.mark.parametrize("xp", [np, jnp])
def test_points_of_a_chart_are_never_an_end(manifold, xp):
    dtype = np.float64 if xp is np else np.float32
    x = np.concatenate([[-1e4, 1e4], np.linspace(-800, 800, 1001)])[:, None].astype(dtype)
    y = np.asarray(manifold.from_chart(xp.asarray(x), xp))
    low, high = getattr(manifold, "low", 0.0), getattr(manifold, "high", np.inf)
    assert y.dtype == dtype
    if dtype is np.float64 or low != 1000:  # between which there is no float32
        assert (low < y.astype(float)).all()
        assert (y.astype(float) < high).all()
    # A flow that diverges is not hidden.
    for lost in (np.inf, -np.inf, np.nan):
        assert not np.isfinite(manifold.from_chart(xp.asarray([lost], dtype), xp)).any()
    if xp is np:
        log_slope = manifold.to_chart(y, np)[1]
        assert np.isfinite(log_slope).all()
