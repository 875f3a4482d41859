import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.scipy.stats import dirichlet

import foliax
from foliax import manifolds
from foliax.manifolds import Product, Sphere, check_points, log_joint
from foliax.manifolds.simplex import IsometricLogRatio, Simplex, helmert

from .contract import Case, suite


def logistic_normal(y):
    """Density of softmax(x, 0), x ~ N(0, Σ), by additive log-ratios; induced measure.

    With x = Hᵀ log y ~ N(0, Id), the ratios log(y_i/y_{d+1}) have Σ = Id + 11ᵀ, whose determinant
    is d + 1. Aitchison & Shen 1980, Biometrika 67.
    """
    d = len(y) - 1
    ratios = jnp.log(y[:-1] / y[-1])
    covariance = np.eye(d) + np.ones((d, d))
    quadratic = ratios @ np.linalg.inv(covariance) @ ratios
    log_constant = -d / 2 * math.log(2 * math.pi) - math.log(d + 1) / 2
    return log_constant - quadratic / 2 - jnp.log(y).sum() - math.log(d + 1) / 2


def nearly_at_a_corner(d):
    small = 1e-6
    return [small] * d + [1 - d * small]


CASES = [
    Case(
        f"simplex Δ^{d}",
        IsometricLogRatio(Simplex(d)),
        invalid=(
            ([0.0, *[1 / d] * d], "share 0 is 0; shares must be above 0"),
            ([-0.5, *[1.5 / d] * d], "share 0 is -0.5"),
            ([1.0] * (d + 1), f"the shares sum to {d + 1}"),
        ),
        awkward=(([1 / (d + 1)] * (d + 1), []), (nearly_at_a_corner(d), [])),
        known=logistic_normal,
    )
    for d in (1, 2, 4)
]

test_contract = suite(CASES)


def test_it_is_exported():
    assert foliax.Simplex is manifolds.Simplex is Simplex
    assert manifolds.IsometricLogRatio is IsometricLogRatio


@pytest.mark.parametrize("d", [1, 2, 5])
def test_the_basis_is_orthonormal_and_sums_to_zero(d):
    basis = helmert(d)
    np.testing.assert_allclose(basis.T @ basis, np.eye(d), atol=1e-12)
    np.testing.assert_allclose(basis.sum(axis=0), 0, atol=1e-12)


@pytest.mark.parametrize("d", [1, 2, 3])
def test_the_volume_is_that_of_the_regular_simplex(d):
    """A segment of length √2, a triangle of side √2, a tetrahedron of edge √2."""
    known = {1: math.sqrt(2), 2: math.sqrt(3) / 2, 3: 1 / 3}
    assert math.exp(Simplex(d).log_total_volume()) == pytest.approx(known[d])


def test_the_measure_is_the_induced_volume():
    """A flat Dirichlet density, which is per Lebesgue measure, is √(d+1) times 1/volume."""
    d = 3
    per_lebesgue = dirichlet.logpdf(jnp.full(d + 1, 1 / (d + 1)), jnp.ones(d + 1))
    uniform = -Simplex(d).log_total_volume()
    assert float(per_lebesgue) == pytest.approx(uniform + math.log(d + 1) / 2, abs=1e-5)


def test_uniform_samples_have_the_moments_of_a_flat_dirichlet():
    n, d = 20_000, 2
    keys = jax.random.split(jax.random.key(0), n)
    y = np.asarray(jax.vmap(lambda k: Simplex(d).sample_uniform(key=k))(keys))
    variance = d / ((d + 1) ** 2 * (d + 2))
    assert np.abs(y.mean(axis=0) - 1 / (d + 1)).max() < 4 * math.sqrt(variance / n)
    np.testing.assert_allclose(y.var(axis=0), variance, rtol=0.05)


def test_no_share_is_special():
    """Under a spherical Gaussian, permuted shares have the same density."""
    g = IsometricLogRatio(Simplex(2))

    def log_prob(x):
        return -0.5 * (x**2).sum()

    with jax.enable_x64(True):
        y = jnp.array([0.2, 0.3, 0.5])
        values = [
            log_joint(g, log_prob, y[jnp.array(p)], jnp.zeros(0)) for p in ([0, 1, 2], [2, 0, 1])
        ]
        assert float(values[0]) == pytest.approx(float(values[1]), abs=1e-12)


def test_project_divides_by_the_sum():
    np.testing.assert_allclose(Simplex(2).project(jnp.array([1.0, 1, 2])), [0.25, 0.25, 0.5])


def test_it_is_a_factor_of_products():
    product = Product(Simplex(2), Sphere(2))
    assert (product.dim, product.size) == (4, 6)
    check_points(product, np.array([[0.2, 0.3, 0.5, 0, 0, 1.0]]))


def test_dimensions_below_one_are_refused():
    with pytest.raises(ValueError, match="d >= 1"):
        Simplex(0)
