"""Users' own manifolds: Theorem 1 and Corollary 2 by autodiff, on manifolds with known truth."""

import math
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from examples import doughnut, ellipsoid
from foliax.manifolds import (
    ByAutodiff,
    LevelSet,
    ProjectiveSpace,
    Sphere,
    auxiliary,
    check_points,
    log_joint,
)

from .contract import Case, marginals, suite


def on_ellipsoid(y):
    """x ~ N(0, diag(a²)): x/a is uniform on the sphere, whose area a stretches by det(a)‖s/a‖."""
    a = np.asarray(ellipsoid.axes)
    s = np.asarray(y) / a
    return -math.log(4 * math.pi) - math.log(np.prod(a) * np.linalg.norm(s / a))


def direction(key):
    return Sphere(2).sample_uniform(key=key)


def ellipsoid_proposal(key):
    a = jnp.asarray(np.asarray(ellipsoid.axes))
    s = direction(key)
    log_stretch = jnp.log(jnp.prod(a) * jnp.linalg.norm(s / a))
    return a * s, -math.log(4 * math.pi) - log_stretch


def doughnut_proposal(key):
    theta, phi = jax.random.uniform(key, (2,), maxval=2 * jnp.pi)
    out = doughnut.R + doughnut.RHO * jnp.cos(phi)
    y = jnp.stack([out * jnp.cos(theta), out * jnp.sin(theta), doughnut.RHO * jnp.sin(phi)])
    return y, -math.log(4 * math.pi**2) - jnp.log(doughnut.RHO * out)


CASES = [
    Case(
        "ellipsoid",
        ellipsoid.dequantization,
        invalid=(([5.0, 0.0, 0.0], "constraint is [4.]"),),
        proposal=ellipsoid_proposal,
    ),
    Case(
        "doughnut",
        doughnut.dequantization,
        invalid=(([9.0, 0.0, 0.0], "constraint is"),),
        proposal=doughnut_proposal,
        spread=0.6,
        scale=1.5,
        # Where the tube meets the axis, digits of float32 are lost: 1 − t·c cancels.
        tol32=5e-2,
    ),
]

test_contract = suite(CASES)


def test_ellipsoid_against_the_known_density():
    with jax.enable_x64(True):
        case = CASES[0]
        ambient = (np.zeros(3), np.diag(np.asarray(ellipsoid.axes)))
        ys = jnp.stack([ellipsoid_proposal(jax.random.key(k))[0] for k in range(3)])
        values, errors = marginals(case, ambient, ys, 40_000)
        known = np.array([on_ellipsoid(y) for y in ys])
        assert errors.max() < 0.02
        assert (np.abs(values - known) < 4 * errors).all()


def test_doughnut_against_the_known_density():
    """x uniform in a solid tube t < a < R: the density at φ is a ratio of areas, in closed form."""
    R, rho, a = doughnut.R, doughnut.RHO, 1.5
    log_uniform = -math.log(2 * math.pi**2 * R * a * a)

    def log_prob(x):
        return jnp.where(doughnut.core_and_tube(x)[2] < a, log_uniform, -jnp.inf)

    with jax.enable_x64(True):
        for phi in (0.0, 1.0, 2.5, math.pi - 1e-3):
            cos = math.cos(phi)
            y = jnp.array([R + rho * cos, 0.0, rho * math.sin(phi)])
            # Midpoints in t, mapped to z: the integral over z of the joint density.
            c = max(-cos, 0) / R
            t = (np.arange(20_000) + 0.5) / 20_000 * a
            z, slope = t / (1 - t * c), 1 / (1 - t * c) ** 2
            joint = jax.vmap(lambda z, y=y: log_joint(doughnut.dequantization, log_prob, y, z))(
                jnp.asarray(z)[:, None]
            )
            got = math.log(float((jnp.exp(joint) * slope).sum() * a / 20_000))
            area = rho * (R + rho * cos)
            want = math.log((a * a * R / 2 + a**3 * cos / 3) / area) + log_uniform
            assert got == pytest.approx(want, abs=1e-6)


def test_the_examples_are_short():
    for module in (ellipsoid, doughnut):
        lines = Path(module.__file__).read_text().splitlines()
        assert len([line for line in lines if line.strip()]) <= 25


def test_corollary_2_by_autodiff_is_the_shipped_projective_plane():
    """Branches ±y given as two inverses agree with the quotient."""
    plane = ProjectiveSpace(2)
    shipped = plane.dequantization()
    own = ByAutodiff(
        plane, auxiliary.positive(1), 3, shipped.quantize, lambda y, z: z * y, lambda y, z: -z * y
    )

    def log_prob(x):
        return -0.5 * ((x - 0.4) ** 2).sum()

    with jax.enable_x64(True):
        y, z = plane.sample_uniform(key=jax.random.key(0)), jnp.array([0.7])
        assert own.branches == shipped.branches == 2
        np.testing.assert_allclose(
            log_joint(own, log_prob, y, z), log_joint(shipped, log_prob, y, z), atol=1e-12
        )


def test_a_level_set_projects_onto_itself():
    with jax.enable_x64(True):
        sphere = LevelSet(lambda y: y @ y - 1, ambient=3)
        y = sphere.project(jnp.array([0.3, -2.0, 1.0]))
        check_points(sphere, np.asarray(y)[None], tol=1e-12)
        assert sphere.dim == 2
    with pytest.raises(ValueError, match="ByAutodiff"):
        sphere.dequantization()
