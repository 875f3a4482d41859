"""The families' constants and samplers against independent references."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import ive
from scipy.stats import norm, vonmises_fisher

from foliax import SpecialOrthogonal, Sphere, Torus
from foliax.distributions import bingham, bingham_rates
from foliax.estimators.mixture import (
    MatrixFisherFamily,
    MixtureDensity,
    VonMisesFisherFamily,
    WrappedNormalFamily,
    rotations,
    sphere,
    torus,
)
from foliax.evaluation import log_prob_once, mean_and_error
from foliax.manifolds.quaternions import rotation_of_quaternion

KEY = jax.random.key(0)


def alone(where, family, *fields):
    """Build a mixture of one component and a small uniform one."""
    components = family.build(fields[0](*(np.asarray(f, float)[None] for f in fields[1:])))
    return MixtureDensity(where, components, jnp.log(jnp.array([0.9, 0.1])))


@pytest.mark.parametrize("d", [1, 2, 3, 7])
@pytest.mark.parametrize("kappa", [1e-3, 1.0, 50.0, 1e4])
def test_von_mises_fisher_as_scipy(d, kappa):
    rng = np.random.default_rng(0)
    mean = rng.normal(size=d + 1)
    mean /= np.linalg.norm(mean)
    y = mean + rng.normal(size=(20, d + 1)) / np.sqrt(1 + kappa)
    y /= np.linalg.norm(y, axis=1, keepdims=True)
    known = vonmises_fisher(mean, kappa).logpdf(y)
    parameters = sphere.Parameters(mean[None], np.array([kappa]))
    family = VonMisesFisherFamily(d, 1e6)
    np.testing.assert_allclose(family.log_densities(parameters, y)[:, 0], known, atol=1e-8)
    density = jax.vmap(family.build(parameters).log_densities)(jnp.asarray(y, jnp.float32))
    np.testing.assert_allclose(density[:, 0], known, atol=1e-5 * (5 + np.abs(known).max()))


def test_chords_in_float32_at_large_concentrations():
    family, mean = VonMisesFisherFamily(2, 1e8), np.array([[0.6, 0.0, 0.8]])
    parameters = sphere.Parameters(mean, np.array([1e8]))
    y = mean + np.array([[0, 1e-4, 0], [8e-5, 0, -6e-5]])
    y = (y / np.linalg.norm(y, axis=1, keepdims=True)).astype(np.float32)
    exact = family.log_densities(parameters, y / np.linalg.norm(y.astype(float), axis=1)[:, None])
    found = jax.vmap(family.build(parameters).log_densities)(jnp.asarray(y))
    np.testing.assert_allclose(found, exact, atol=0.1)


RATES = [(0, 0, 0), (1, 2, 3), (0.01, 5, 40), (30, 30, 30), (0, 200, 4000), (900, 4e4, 4e6)]


def brute(rates):
    """log E exp(−Σ λ_j q_j²): two circles (q₀, q₁), (q₂, q₃), squared radii 1 − v and v uniform."""
    one, two, three = sorted(rates)

    def inner(v):
        first = ive(0, one * (1 - v) / 2)
        return first * ive(0, (three - two) * v / 2) * np.exp(-two * v)

    points = list(np.geomspace(1e-8, 0.5, 9))
    value = quad(inner, 0, 1, points=points, epsabs=0, epsrel=1e-10, limit=500)[0]
    return np.log(value)


@pytest.mark.parametrize("rates", RATES)
def test_the_bingham_constant_against_another_integral(rates):
    found = bingham(np.array([rates], float))
    assert found.log_constant[0] == pytest.approx(brute(rates), abs=1e-7)
    step = 1e-4 * (1 + np.array(rates)[:, None] * np.eye(3))
    slope = [(brute(rates + s) - brute(rates)) / s[i] for i, s in enumerate(step * np.eye(3))]
    np.testing.assert_allclose(found.mean[0], -np.array(slope), rtol=2e-3)


def about_z(t):
    zero = np.zeros_like(t)
    rows = [np.cos(t), -np.sin(t), zero, np.sin(t), np.cos(t), zero, zero, zero, zero + 1]
    return np.stack(rows, -1).reshape(*t.shape, 3, 3)


def test_the_matrix_fisher_constant_by_brute_force():
    """Euler angles: Haar measure is dα dγ d(cos β)/8π²; an arbitrary F."""
    f = np.array([[1.5, 0.3, -0.4], [0.2, -0.8, 0.5], [0.1, 0.6, 2.0]])
    turn = np.arange(48) * 2 * np.pi / 48
    cos_beta, weight = np.polynomial.legendre.leggauss(40)
    a, b, g = np.meshgrid(turn, np.arccos(cos_beta), turn, indexing="ij")
    swap = np.array([[0.0, 0, 1], [1, 0, 0], [0, 1, 0]])
    turned = about_z(a) @ (swap.T @ about_z(b) @ swap) @ about_z(g)
    heights = np.exp((turned * f).sum((-2, -1)))
    constant = np.log((heights.mean((0, 2)) * weight / 2).sum())
    u, s, vt = np.linalg.svd(f)
    s[2] *= np.linalg.det(u) * np.linalg.det(vt)
    rates = 2 * np.array([[s[1] + s[2], s[0] + s[2], s[0] + s[1]]])
    assert bingham(rates).log_constant[0] + s.sum() == pytest.approx(constant, abs=1e-7)


@pytest.mark.parametrize("rates", RATES)
def test_bingham_rates_solve_for_the_moments(rates):
    moments = bingham(np.array([rates], float)).mean
    found = bingham_rates(moments, most=4e6)
    np.testing.assert_allclose(found[0], rates, rtol=1e-5, atol=1e-6)


ALONE = {
    "S¹": (Sphere(1), VonMisesFisherFamily(1, 1e6), sphere.Parameters, [0.6, 0.8], 30.0),
    "S²": (Sphere(2), VonMisesFisherFamily(2, 1e6), sphere.Parameters, [0.6, 0, 0.8], 1e4),
    "S⁵": (Sphere(5), VonMisesFisherFamily(5, 1e6), sphere.Parameters, np.eye(6)[2], 2.0),
    "T¹": (Torus(1), WrappedNormalFamily(1, 1e6), torus.Parameters, [3.0], [[4.0]]),
    "T² ridge": (
        Torus(2),
        WrappedNormalFamily(2, 1e6),
        torus.Parameters,
        [3.0, -1],
        [[4.0, -3.98], [-3.98, 4.0]],
    ),
    "T³": (
        Torus(3),
        WrappedNormalFamily(3, 1e6),
        torus.Parameters,
        [3.0, -1, 0],
        [[1.0, 0.5, 0.05], [0.5, 1.5, 0.05], [0.05, 0.05, 0.01]],
    ),
    "SO(3)": (
        SpecialOrthogonal(3),
        MatrixFisherFamily(1e6),
        rotations.Parameters,
        np.eye(4)[[2, 0, 3, 1]],
        [0.5, 3.0, 60.0],
    ),
}


@pytest.mark.parametrize("name", ALONE)
def test_samples_and_mass_of_one_component(name):
    """E_q[u/q] = 1 and E_u[q/u] = 1 for the uniform u, E_q f = E_u[f q/u] for features f."""
    where, *rest = ALONE[name]
    q = alone(where, *rest)
    n, log_volume = 16384, where.log_total_volume()
    y = q.sample(n, key=KEY)
    uniform = np.asarray(
        jax.jit(jax.vmap(lambda k: where.sample_uniform(key=k)))(jax.random.split(KEY, n))
    )
    inverse, error = mean_and_error(np.exp(-log_volume - log_prob_once(q, y, key=KEY)[0]))
    assert abs(inverse - 1) < 4 * error + 1e-5
    # Half of the points from q, half uniform, weighted by q over the mean of both.
    both = np.concatenate([y, uniform])
    log_q = log_prob_once(q, both, key=KEY)[0]
    share = np.exp(log_q - np.logaddexp(log_q, -log_volume))
    features = np.asarray(jax.vmap(where.features)(jnp.asarray(both)))
    features = np.concatenate([features, np.ones((2 * n, 1))], axis=1)
    left = features[:n]
    right = 2 * (share[:, None] * features).reshape(2, n, -1)
    gap = left.mean(0) - right.mean((0, 1))
    spread = (left - right[0] / 2).std(0) + right[1].std(0) / 2
    assert (np.abs(gap) < 4.5 * spread / np.sqrt(n) + 1e-5).all()


def test_a_wrapped_normal_by_its_fourier_series():
    """p(θ) = (1 + 2 Σ_m exp(−m²σ²/2) cos m(θ − μ))/2π.

    The nearest images outside the window lie one on each side.
    """
    family = WrappedNormalFamily(1, 1e6)
    theta = np.linspace(-3.1, 3.1, 41)
    m = np.arange(1, 200)
    for sigma in (0.1, 0.6, 0.63, 1.9, 3.0):
        parameters = torus.Parameters(np.array([[2.5]]), np.array([[[sigma**2]]]))
        waves = np.exp(-(m**2) * sigma**2 / 2) * np.cos(m * (theta[:, None] - 2.5))
        known = (1 + 2 * waves.sum(1)) / (2 * np.pi)
        found = np.exp(family.log_densities(parameters, theta[:, None]))[:, 0]
        edge = np.pi * len(family.images(parameters.covariance[0]))
        atol = 2 * norm.pdf(edge, scale=sigma) + 1e-9
        np.testing.assert_allclose(found, known, atol=atol)
        built = jax.vmap(family.build(parameters).log_densities)(jnp.asarray(theta)[:, None])
        np.testing.assert_allclose(np.exp(built)[:, 0], known, atol=atol + 1e-5)


@pytest.mark.parametrize("d", [1, 2, 3, 6])
def test_windows_hold_what_they_promise(d):
    rng = np.random.default_rng(d)
    family = WrappedNormalFamily(d, 1e6)
    for scale in (1e-8, 0.01, 1.0, 100.0):
        a = rng.normal(size=(d, d))
        covariance = family.restrict(scale * a @ a.T)
        assert np.linalg.eigvalsh(covariance)[0] > 0
        images = family.images(covariance)
        assert len(images) <= 81
        reach = images.max(0) + np.pi
        assert (
            family.window_deviations * np.sqrt(np.diagonal(covariance)) <= reach * (1 + 1e-9)
        ).all()


def test_correlation_on_a_torus_of_six_angles():
    rng = np.random.default_rng(0)
    factor = 0.3 * rng.normal(size=(6, 6)) / np.sqrt(6)
    rows = np.mod(rng.normal(size=(2000, 6)) @ factor.T + 3.0, 2 * np.pi) - np.pi
    family = WrappedNormalFamily(6, 1e6)
    parameters = family.initialize(rows, np.ones((2000, 1)))
    np.testing.assert_allclose(parameters.covariance[0], factor @ factor.T, atol=0.02)


def test_quaternions_of_the_rows():
    q = np.random.default_rng(0).normal(size=(50, 4))
    q /= np.linalg.norm(q, axis=1, keepdims=True)
    rows = np.asarray(jax.vmap(rotation_of_quaternion)(jnp.asarray(q))).reshape(-1, 9)
    found = MatrixFisherFamily(1e6).prepare(np.asarray(rows, float))
    np.testing.assert_allclose(np.abs((found * q).sum(1)), 1, atol=1e-6)
