import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import integrate, stats
from scipy.special import ive

from foliax.distributions import (
    log_rotation_mass,
    log_vmf_normaliser,
    sample_bingham,
    sample_drop,
    sample_rotation,
    sample_turn,
    sample_von_mises_fisher,
)
from foliax.distributions.von_mises_fisher import wood_drop

KEY = jax.random.key(0)


def draws(draw, n):
    return np.asarray(jax.jit(jax.vmap(draw))(jax.random.split(KEY, n)))


@pytest.mark.parametrize("kappa", [0.1, 3.0, 1e3, 1e8])
@pytest.mark.parametrize("d", [1, 2, 3, 6])
def test_drop_follows_its_density(d, kappa):
    """1 − yᵀμ against its distribution by quadrature, by Kolmogorov and Smirnov."""
    n = 2000
    found = draws(lambda k: sample_drop(kappa, d, key=k), n).astype(float)
    assert (found > 0).mean() > 0.999
    # By the angle, whose density is finite for every d.
    grid = np.linspace(0, min(np.pi, 12 / np.sqrt(kappa)), 4001)
    density = np.exp(-2 * kappa * np.sin(grid / 2) ** 2) * np.sin(grid) ** (d - 1)
    cdf = integrate.cumulative_trapezoid(density, grid, initial=0)
    angles = 2 * np.arcsin(np.sqrt(np.minimum(found / 2, 1)))
    result = stats.kstest(angles, lambda v: np.interp(v, grid, cdf / cdf[-1]))
    assert result.pvalue > 1e-3


@pytest.mark.parametrize("b", [1e-9, 0.4])
@pytest.mark.parametrize("d", [1, 3])
def test_no_proposal_is_beyond_the_mode_or_its_opposite(d, b):
    """Compiled, from normal vectors next to either pole, against float64."""
    rng = np.random.default_rng(0)
    normal = rng.normal(size=(20_000, d + 1)) * np.append(1.0, np.full(d, 1e-4))
    normal = normal.astype(np.float32)
    found = np.asarray(jax.jit(jax.vmap(lambda g: wood_drop(g, b)))(normal), float)
    assert (found >= 0).all()
    assert (found <= 2).all()
    first, side = normal[:, 0].astype(float), np.square(normal[:, 1:].astype(float)).sum(1)
    norm = np.sqrt(first**2 + side)
    smaller = side / (2 * norm * (norm + np.abs(first)))
    beta, rest = np.where(first < 0, (smaller, 1 - smaller), (1 - smaller, smaller))
    np.testing.assert_allclose(found, 2 * b * beta / (rest + b * beta), rtol=2e-6)


def test_von_mises_fisher_mean():
    mean, kappa = jnp.array([0.6, 0.0, -0.8]), 5.0
    found = draws(lambda k: sample_von_mises_fisher(mean, kappa, key=k), 4000)
    assert np.abs(np.linalg.norm(found, axis=1) - 1).max() < 1e-5
    heights = found @ np.asarray(mean)
    expected = 1 / np.tanh(kappa) - 1 / kappa
    assert abs(heights.mean() - expected) < 4 * heights.std() / np.sqrt(4000)


def test_turn_is_scipys():
    found = draws(lambda k: sample_turn(2.0, key=k), 2000)
    assert stats.kstest(found, stats.vonmises(2.0).cdf).pvalue > 1e-3


@pytest.mark.parametrize("d", [1, 2, 3, 6])
def test_mass_of_sharp_kernels(d):
    """exp(κ(yᵀμ − 1)) is a Gaussian of the tangent space: relative error of order 1/κ."""
    for kappa in (0.999e6, 1.001e6, 1e9, 1e12):
        gaussian = d / 2 * np.log(2 * np.pi / kappa)
        assert float(log_vmf_normaliser(kappa, d)) == pytest.approx(gaussian, abs=5 / kappa + 1e-12)


def test_mass_is_scipys():
    mean = np.array([0.0, 0.0, 1.0])
    expected = stats.vonmises_fisher(mean, 7.0).logpdf(mean[None])[0]
    assert -log_vmf_normaliser(7.0, 2) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("kappa", [1e-3, 1.0, 30.0, 1e5])
def test_rotation_mass_in_three_dimensions(kappa):
    exact = np.log(ive(0, 2 * kappa) - ive(1, 2 * kappa))
    assert log_rotation_mass(kappa, 3) == pytest.approx(exact, abs=1e-6)


@pytest.mark.parametrize("n", [2, 4, 5])
def test_rotation_mass_by_haar_samples(n):
    haar = stats.special_ortho_group(n, seed=0).rvs(40_000)
    kappa = 0.7
    values = np.exp(-kappa * (n - np.trace(haar, axis1=1, axis2=2)))
    error = values.std() / values.mean() / np.sqrt(len(values))
    assert abs(log_rotation_mass(kappa, n) - np.log(values.mean())) < 4 * error


@pytest.mark.parametrize(
    ("n", "kappa"), [(2, 3.0), (3, 0.2), (3, 50.0), (3, 1e6), (4, 4.0), (5, 2.0)]
)
def test_rotations_have_the_mean_trace(n, kappa):
    """E tr R = d/dκ of the log mass, and every draw is a rotation."""
    found = draws(lambda k: sample_rotation(kappa, n, key=k), 3000).astype(float)
    assert np.abs(found @ found.transpose(0, 2, 1) - np.eye(n)).max() < 1e-5
    assert np.linalg.det(found).min() > 0
    drop = ((found - np.eye(n)) ** 2).sum((1, 2)) / 2
    step = 1e-3 * kappa
    slope = -(log_rotation_mass(kappa + step, n) - log_rotation_mass(kappa - step, n)) / (2 * step)
    assert abs(drop.mean() - slope) < 4 * drop.std() / np.sqrt(len(drop)) + 1e-5 * slope


def test_a_sampler_of_impossible_parameters_ends():
    rates, envelope = -jnp.ones(3), jnp.ones(())
    assert np.isnan(draws(lambda k: sample_bingham(rates, envelope, key=k), 3)).all()
