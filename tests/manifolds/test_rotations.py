import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from foliax.manifolds import (
    QR,
    ExponentialMap,
    Fold,
    Orientations,
    Polar,
    Quaternions,
    SignedQuaternions,
    SpecialOrthogonal,
    Stiefel,
    log_joint,
)
from foliax.manifolds.quaternions import quaternion_of_rotation
from foliax.manifolds.rotations import reflection

from .contract import Case, mean_of_weights, suite


def turned(angle, axis=(0.36, 0.48, 0.8)):
    return list(Rotation.from_rotvec(angle * np.array(axis)).as_matrix().reshape(-1))


def uniform(n):
    return lambda y: -SpecialOrthogonal(n).log_total_volume()


REFLECTED = (list(np.diag([1.0, 1.0, -1.0]).reshape(-1)), "determinant −1")
STRETCHED = (list(2 * np.eye(3).reshape(-1)), "squared norm 4")
ANGLES = (1e-3, 1.0, math.pi - 1e-3, math.pi)
TRIANGLE = [1.0, 0.3, 0.8, -0.2, 0.1, 1.2]

CASES = [
    Case(
        f"SO(3) {way.__name__}",
        Fold(way(Stiefel(3, 3))),
        invalid=(REFLECTED, STRETCHED),
        awkward=tuple((turned(a), TRIANGLE) for a in ANGLES),
        known=uniform(3),
        tol32=1e-3,
    )
    for way in (Polar, QR)
] + [
    Case(
        "SO(3) quaternions",
        Quaternions(),
        invalid=(REFLECTED, STRETCHED),
        awkward=tuple((turned(a), [r]) for a in ANGLES for r in (1e-6, 1.0, 1e6)),
        known=uniform(3),
    ),
    Case(
        "O(3) signed quaternions",
        SignedQuaternions(),
        invalid=(STRETCHED,),
        awkward=tuple(
            ([s * v for v in turned(a)], [r, t])
            for a in ANGLES
            for s in (1, -1)
            for r, t in ((1e-6, 1.0), (1.0, 1e-6), (1e6, 1e6))
        ),
        known=lambda y: -Stiefel(3, 3).log_total_volume(),
    ),
    Case(
        "SO(3) exponential",
        ExponentialMap(window=2),
        invalid=(REFLECTED, STRETCHED),
        awkward=tuple((turned(a), []) for a in ANGLES),
        # Within θ of the identity float32 knows a rotation's angle to 1e-7/θ only.
        tol32=2e-3,
        scale=0.9,
        spread=0.1,
    ),
    Case(
        "SO(4)",
        Fold(QR(Stiefel(4, 4))),
        invalid=((list(reflection(4).reshape(-1)), "determinant −1"),),
        known=uniform(4),
        tol32=1e-3,
    ),
    Case(
        "SO(3)/cubic",
        Orientations("cubic").dequantization(),
        invalid=(REFLECTED, STRETCHED),
        awkward=tuple((turned(a), [1.0]) for a in ANGLES),
        known=lambda y: -Orientations("cubic").log_total_volume(),
        spread=0.6,
    ),
]

test_contract = suite(CASES)


def angular_central_gaussian(matrix):
    """Density on SO(3) of the rotation of x ~ N(0, Σ) in R⁴; and Σ's factor."""
    factor = np.diag([1.0, 0.7, 1.3, 0.5]) + np.tril(np.full((4, 4), 0.2), -1)
    q = jnp.linalg.solve(jnp.asarray(factor), quaternion_of_rotation(matrix))
    # On S³: |det|⁻¹ (qᵀΣ⁻¹q)⁻² / 2π²; two quaternions a rotation; dVol_F = 8·2^{3/2} dA.
    log_sphere = -math.log(np.linalg.det(factor)) - 2 * jnp.log(q @ q) - math.log(2 * math.pi**2)
    return log_sphere + math.log(2) - math.log(8 * 2**1.5), factor


def four_ways(n=40_000):
    """Log densities at five rotations by four dequantizations of one density; the exact ones."""
    ys = jnp.asarray(Rotation.random(5, rng=1).as_matrix().reshape(5, 9))

    def relative(y):
        uniform_density = -SpecialOrthogonal(3).log_total_volume()
        return angular_central_gaussian(y.reshape(3, 3))[0] - uniform_density

    def gaussian(x):
        return -0.5 * x @ x - len(x) / 2 * math.log(2 * math.pi)

    def tilted(g):
        """A Gaussian is uniform on SO(3) and independent of z: tilt it by the wanted density."""
        return lambda x: gaussian(x) + relative(g.quantize(x)[0])

    def in_the_ball(x):
        angle = jnp.linalg.norm(x)
        log_density = relative(ExponentialMap().quantize(x)[0]) - math.log(8 * math.pi**2)
        haar = 2 * jnp.log(jnp.abs(2 * jnp.sin(angle / 2) / angle))
        return jnp.where(angle < math.pi, log_density + haar, -jnp.inf)

    def student(g, key):
        """Degrees of freedom 6 about (the log of) one, with the density in dz."""
        k1, k2 = jax.random.split(key)
        chi_square = 2 * jax.random.exponential(k2, (3,)).sum()
        k = g.auxiliary.size
        white = jax.random.normal(k1, (k,)) * jnp.sqrt(6 / chi_square)
        constant = math.lgamma((6 + k) / 2) - math.lgamma(3) - k / 2 * math.log(6 * math.pi)
        scale = 0.7
        z, slope = g.auxiliary.constrain(scale * white)
        log_q = constant - (6 + k) / 2 * jnp.log1p(white @ white / 6) - k * math.log(scale)
        return z, log_q - slope

    exact = np.array([float(angular_central_gaussian(y.reshape(3, 3))[0]) for y in ys])
    rows = {}
    quaternion = Quaternions()
    for name, g, log_prob in [
        ("polar", *(lambda g: (g, tilted(g)))(Fold(Polar(Stiefel(3, 3))))),
        ("QR", *(lambda g: (g, tilted(g)))(Fold(QR(Stiefel(3, 3))))),
        ("quaternions", quaternion, tilted(quaternion)),
        ("exponential", ExponentialMap(window=1), in_the_ball),
    ]:

        def log_w(key, g=g, log_prob=log_prob):
            z, log_q = student(g, key)
            return jax.vmap(lambda y: log_joint(g, log_prob, y, z))(ys) - log_q

        value, error = mean_of_weights(log_w, n if g.auxiliary.size else 1)
        rows[name] = (np.log(value), error / value)
    return rows, exact


def test_four_ways_to_one_density():
    with jax.enable_x64(True):
        rows, exact = four_ways()
        for values, errors in rows.values():
            assert errors.max() < 0.05
            assert (np.abs(values - exact) < 4 * errors + 1e-9).all(), (values, exact, errors)


@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_the_reflection_is_one_for_every_n(n):
    assert np.linalg.det(reflection(n)) == pytest.approx(-1)
    assert not np.allclose(np.linalg.det(-np.eye(n)), -1) or n % 2


def test_quaternions_agree_with_scipy():
    rotations = Rotation.random(200, rng=0)
    got = jax.vmap(quaternion_of_rotation)(jnp.asarray(rotations.as_matrix(), "float32"))
    want = rotations.as_quat(canonical=True, scalar_first=True)
    np.testing.assert_allclose(np.abs((got * want).sum(1)), 1, atol=1e-6)


def test_only_square_frames_fold_and_only_so3_has_quaternions():
    with pytest.raises(ValueError, match="Only O"):
        Fold(QR(Stiefel(4, 3)))
    with pytest.raises(ValueError, match="SO\\(4\\)"):
        Quaternions(SpecialOrthogonal(4))
    with pytest.raises(ValueError, match="only"):
        SignedQuaternions(Stiefel(3, 2))
