import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.scipy.stats import norm

from foliax.manifolds import (
    Circle,
    Euclidean,
    Integers,
    Joint,
    Orientations,
    Product,
    ProjectiveSpace,
    Quotient,
    SpecialOrthogonal,
    Sphere,
    Torus,
    Wrapping,
)

from .contract import Case, suite
from .test_integers import two_sided_geometric

MIXED = Product(Sphere(2), Circle(), Product(Integers(1), Euclidean(1)))


def mixed_proposal(key):
    k1, k2, k3, k4 = jax.random.split(key, 4)
    where, when = Sphere(2).sample_uniform(key=k1), Circle().sample_uniform(key=k2)
    count, log_pmf = two_sided_geometric(1.0)(k3)
    real = 2 * jax.random.normal(k4, (1,))
    log_h = log_pmf + norm.logpdf(real[0], 0, 2) - math.log(4 * math.pi) - math.log(2 * math.pi)
    return jnp.concatenate([where, when, count, real]), log_h


CASES = [
    Case(
        "S²×S¹×Z×R",
        MIXED.dequantization(),
        invalid=(
            ([2.0, 0, 0, 0, 0, 0], "factor 0"),
            ([1.0, 0, 0, 0, 0.5, 0], "factor 2"),
        ),
        awkward=(([0.0, 0, 1, -3, 0, 0], [1.0, 1.0, 0.5]),),
        known=lambda y: (
            -math.log(8 * math.pi**2)
            + norm.logpdf(y[5])
            + jnp.log(norm.cdf(y[4] + 1) - norm.cdf(y[4]))
        ),
        proposal=mixed_proposal,
    ),
    Case(
        "RP²",
        ProjectiveSpace(2).dequantization(),
        invalid=(([1.0, 1.0, 0.0], "norm"),),
        awkward=(([1.0, 0.0, 0.0], [1e-6]), ([0.0, 0.0, 1.0], [1e6])),
        known=lambda y: -math.log(2 * math.pi),
        spread=0.5,
    ),
    Case(
        "RP² × S¹ wrapped",
        Joint(ProjectiveSpace(2).dequantization(), Wrapping(Circle(), window=1)),
    ),
]

test_contract = suite(CASES)


def test_products_split_and_join():
    y = jnp.arange(6.0)
    parts = MIXED.split(y)
    assert [len(part) for part in parts] == [3, 1, 2]
    np.testing.assert_array_equal(MIXED.join(parts), y)
    assert (MIXED.dim, MIXED.size) == (5, 6)


@pytest.mark.parametrize("quotient", [ProjectiveSpace(2), Orientations("432"), Orientations("222")])
def test_a_quotient_cannot_tell_the_images_of_a_point_apart(quotient):
    with jax.enable_x64(True):
        key = jax.random.key(0)
        y = quotient.sample_uniform(key=key)
        other = quotient.sample_uniform(key=jax.random.key(1))
        features = quotient.features(y)
        for image in quotient.orbit(y):
            assert float(quotient.distance(y, image)) < 1e-9
            assert float(quotient.distance(image, other)) == pytest.approx(
                float(quotient.distance(y, other)), abs=1e-9
            )
            np.testing.assert_allclose(quotient.features(image), features, atol=1e-9)
        assert float(jnp.abs(quotient.features(other) - features).max()) > 1e-2


def test_features_tell_points_of_a_half_turn_apart_and_see_angles_as_angles():
    half_turn = Quotient(Sphere(2), [np.eye(3), np.diag([-1.0, -1.0, 1.0])])
    up, down = jnp.array([0.6, 0.0, 0.8]), jnp.array([0.6, 0.0, -0.8])
    assert float(jnp.abs(half_turn.features(up) - half_turn.features(down)).max()) > 0.1
    swapped = Quotient(Torus(2), [np.eye(2), np.eye(2)[::-1]])
    y = jnp.array([0.3, 1.0])
    np.testing.assert_allclose(swapped.features(y), swapped.features(y - 2 * jnp.pi), atol=1e-5)


def test_sides_differ():
    right, left = Orientations("cubic"), Orientations("cubic", side="left")
    y = SpecialOrthogonal(3).sample_uniform(key=jax.random.key(2))
    gap = jnp.abs(right.orbit(y)[:, None] - left.orbit(y)[None]).max(-1).min(0)
    assert float(jnp.sort(gap)[1]) > 1e-2


@pytest.mark.parametrize(
    ("name", "order"), [("1", 1), ("mmm", 4), ("4/mmm", 8), ("-3m", 6), ("622", 12), ("m-3m", 24)]
)
def test_point_groups(name, order):
    assert len(Orientations(name).group) == order


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Orientations("5"), "Unknown point group '5'"),
        (lambda: Orientations("432", side="up"), "side must be"),
        (lambda: Quotient(Sphere(2), [np.eye(3), np.diag([1, -1, 0.5])]), "orthogonal"),
        (
            lambda: Quotient(Sphere(2), [np.eye(3), np.diag([1, -1, 1]), np.diag([-1, 1, 1])]),
            "not a group",
        ),
        (lambda: Quotient(Sphere(2), [np.eye(2)]), "shape"),
        (lambda: Quotient(Sphere(2), [np.eye(3)], "right"), "side='left'"),
        (
            lambda: Quotient(SpecialOrthogonal(3), [np.eye(3), np.diag([1, 1, -1])]),
            "does not keep",
        ),
        (lambda: Quotient(Sphere(2), [np.eye(3), np.eye(3)]), "twice"),
        (lambda: Product(), "at least one"),
        (
            lambda: Joint(
                ProjectiveSpace(2).dequantization(),
                Orientations("cubic").dequantization(),
                Wrapping(Torus(2), window=2),
            ),
            "2400 branches, more than the maximum of 1024",
        ),
    ],
)
def test_refusals(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_manifolds_know_their_symmetry():
    quotient, rows = ProjectiveSpace(2), np.eye(3)
    assert quotient.symmetry.base == Sphere(2)
    assert (quotient.symmetry.order, quotient.symmetry.is_axial) == (2, True)
    images = np.concatenate([quotient.orbit(jnp.asarray(row)) for row in rows])
    np.testing.assert_array_equal(quotient.symmetry.images(rows), images)
    for manifold in (Sphere(2), Product(quotient, Circle())):
        assert (manifold.symmetry.base, manifold.symmetry.order) == (manifold, 1)
        assert not manifold.symmetry.is_axial
