import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from foliax.density import AbstractDensity, LogProb
from foliax.density import target as density_target
from foliax.evaluation import (
    bridged_mass,
    compare,
    divergence,
    log_prob_once,
    moments,
    squared_distance,
    total_mass,
)
from foliax.manifolds import Orthogonal, sphere, torus
from foliax.paper import targets

TARGETS = {
    "S²": targets.sphere_s2(),
    "S³": targets.sphere_s3(),
    "T² unimodal": targets.torus_unimodal(),
    "T² multimodal": targets.torus_multimodal(),
    "T² correlated": targets.torus_correlated(),
    "SO(3)": targets.rotations_so3(),
    # A small cloud, so that uniform points and reflections have enough mass.
    "O(3)": targets.procrustes(0, points=3, sigma=2.0),
}


@pytest.mark.parametrize("name", TARGETS)
def test_normalised(name):
    mass = total_mass(TARGETS[name], 100_000, key=jax.random.key(0))
    assert mass.error < 0.03
    assert abs(mass.value - 1) < 4 * mass.error


@pytest.mark.parametrize("name", TARGETS)
def test_the_sampler_draws_from_the_density(name):
    """Means of features under samples equal those of uniform points weighted by the density."""
    target, n = TARGETS[name], 40_000
    features = jax.jit(jax.vmap(target.manifold.features))
    drawn = np.asarray(features(target.sample(n, key=jax.random.key(1))))
    uniform = jax.vmap(lambda k: target.manifold.sample_uniform(key=k))(
        jax.random.split(jax.random.key(2), n)
    )
    log_p, _ = log_prob_once(target, np.asarray(uniform), key=jax.random.key(0))
    w = np.exp(log_p + target.manifold.log_total_volume())[:, None] * np.asarray(features(uniform))
    error = np.sqrt(drawn.var(0) / n + w.var(0) / n)
    assert (np.abs(drawn.mean(0) - w.mean(0)) < 4.5 * error).all()


class Scaled(AbstractDensity):
    """A density with a wrong normaliser."""

    inner: AbstractDensity
    log_factor: float
    manifold: object = None

    def __init__(self, inner, log_factor):
        self.inner, self.log_factor, self.manifold = inner, log_factor, inner.manifold

    def _log_prob(self, y, *, condition=None, key=None):
        value, error = self.inner.log_prob(y, key=key)
        return LogProb(value + self.log_factor, error)

    def _sample(self, *, condition=None, key):
        return self.inner.sample(key=key)

    work = 1

    def refine(self):
        return self


def test_a_density_equals_itself_and_a_wrong_normaliser_is_seen():
    target = TARGETS["S²"]
    same = compare(target, target, 2000, key=jax.random.key(0))
    assert same.kl_qp.value == same.kl_pq.value == 0
    assert same.mass.value == pytest.approx(1)
    assert same.ess.value == pytest.approx(1)
    wrong = compare(Scaled(target, np.log(1.1)), target, 2000, key=jax.random.key(0))
    assert wrong.mass.value == pytest.approx(1.1, abs=3 * wrong.mass.error)
    # By samples of mass 1, by uniform points of mass 1.1.
    least, most = 1 / 1.1 - 1 + np.log(1.1), 1.1 * np.log(1.1) - 0.1
    slack = 3 * wrong.kl_qp.error
    assert slack < 0.1 * least
    assert least - slack < wrong.kl_qp.value < most + slack


def test_a_bridge_finds_the_mass_and_its_error():
    a = targets.TorusModes(torus.Torus(2), ((0.3, -0.2),))
    b = targets.TorusModes(torus.Torus(2), ((0.7, 0.4),))
    found = bridged_mass(Scaled(a, np.log(1.1)), b, 5000, key=jax.random.key(0))
    assert found.error < 0.01
    assert found.value == pytest.approx(1.1, abs=3 * found.error)


def test_a_bridge_between_densities_that_do_not_overlap_is_an_error():
    target = targets.TorusModes(torus.Torus(2), ((0.3, -0.2),))
    with pytest.raises(ValueError, match="do not overlap"):
        bridged_mass(Scaled(target, -30.0), target, 100, key=jax.random.key(0))


def test_kl_between_two_von_mises_densities():
    """KL of a unimodal T² density from a shifted one, in closed form: Σ A(1)(1 − cos shift)."""
    from scipy.special import ive

    a = targets.TorusModes(torus.Torus(2), ((0.3, -0.2),))
    b = targets.TorusModes(torus.Torus(2), ((0.7, 0.1),))
    exact = ive(1, 1) / ive(0, 1) * (2 - np.cos(0.4) - np.cos(0.3))
    found = compare(a, b, 20_000, key=jax.random.key(0))
    assert abs(found.kl_qp.value - exact) < 4 * found.kl_qp.error
    assert abs(found.kl_pq.value - exact) < 4 * found.kl_pq.error


class Leaky(AbstractDensity):
    """A density mixed with a small share of the uniform one."""

    inner: AbstractDensity
    share: float = eqx.field(static=True)
    manifold: object = None

    def __init__(self, inner, share):
        self.inner, self.share, self.manifold = inner, share, inner.manifold

    def _log_prob(self, y, *, condition=None, key=None):
        log_uniform = np.log(self.share) - self.manifold.log_total_volume()
        value = self.inner.log_prob(y).value + np.log1p(-self.share)
        return density_target.exactly(jnp.logaddexp(value, log_uniform))

    def _sample(self, *, condition=None, key):
        k1, k2, k3 = jax.random.split(key, 3)
        inside = jax.random.uniform(k1) >= self.share
        return jnp.where(inside, self.inner.sample(key=k2), self.manifold.sample_uniform(key=k3))

    work = 1

    def refine(self):
        return self


def test_kl_of_a_density_that_leaks_has_a_small_error():
    """One sample in a thousand has p near e^-100; uniform points keep the error small."""
    p = targets.SphereModes(sphere.Sphere(2), ((0.0, 0.0, 1.0),), 100.0)
    q, n = Leaky(p, 1e-3), 2000
    height = np.linspace(-1, 1, 200_001)
    points = np.stack([np.sqrt(1 - height**2), 0 * height, height], 1).astype(np.float32)
    log_q, log_p = (log_prob_once(d, points, key=jax.random.key(0))[0] for d in (q, p))
    exact = 2 * np.pi * np.trapezoid(np.exp(log_q) * (log_q - log_p), height)
    found = compare(q, p, n, key=jax.random.key(1))
    assert abs(found.kl_qp.value - exact) < 4 * found.kl_qp.error
    log_ratio = log_q - log_p
    variance = 2 * np.pi * np.trapezoid(np.exp(log_q) * log_ratio**2, height) - exact**2
    assert found.kl_qp.error < 0.1 * np.sqrt(variance / n)


def test_procrustes_density_is_that_of_the_two_clouds():
    """Differences of log densities are those of −‖B − OA‖²/(2σ²)."""
    rng = np.random.default_rng(5)
    cloud, moved, sigma = rng.normal(size=(3, 10)), rng.normal(size=(3, 10)), 0.7
    attraction = tuple(map(tuple, (moved @ cloud.T / sigma**2).tolist()))
    target = targets.Procrustes(Orthogonal(3), attraction)
    rows = np.stack([np.linalg.qr(rng.normal(size=(3, 3)))[0] for _ in range(6)])
    found, _ = log_prob_once(target, rows.reshape(6, 9).astype(np.float32), key=jax.random.key(0))
    exact = -((moved - rows @ cloud) ** 2).sum((1, 2)) / (2 * sigma**2)
    assert np.ptp(found - exact) < 1e-5 * np.abs(exact).max()


def test_procrustes_samples_rotations_and_reflections_by_their_masses():
    target = TARGETS["O(3)"]
    drawn = target.sample(40_000, key=jax.random.key(3)).reshape(-1, 3, 3)
    share = (np.linalg.det(drawn) < 0).mean()
    log_masses = target._components()[2]
    expected = 1 / (1 + np.exp(log_masses[0] - log_masses[1]))
    assert 0.05 < expected < 0.95
    assert abs(share - expected) < 4 * np.sqrt(expected * (1 - expected) / len(drawn))


def test_moments_of_normals_are_without_bias_and_their_errors_honest():
    """Over repetitions, the mean is right and the spread agrees with the stated errors."""
    rng = np.random.default_rng(0)
    shift, n = np.array([0.1, -0.2, 0.0]), 400
    found = [
        moments(
            rng.normal(size=(n, 3)) + shift, np.array([1.0, 1.0, 1.3]) * rng.normal(size=(n, 3))
        )
        for _ in range(400)
    ]
    for part, exact in (("mean", shift @ shift), ("covariance", 0.69**2)):
        values, errors = np.array([getattr(one, part) for one in found]).T
        spread = values.std(ddof=1)
        assert abs(values.mean() - exact) < 4 * spread / 20
        assert 0.85 < np.sqrt((errors**2).mean()) / spread < 1.15


def test_equal_means_have_an_error_too():
    rng = np.random.default_rng(1)
    value, error = squared_distance(rng.normal(size=(500, 4)), rng.normal(size=(500, 4)))
    assert abs(value) < 4 * error
    # 2 tr V² with V = 2/500 of the identity in four dimensions.
    assert error == pytest.approx(np.sqrt(8) * 2 / 500, rel=0.5)


def test_a_divergence_where_a_density_is_zero():
    zero = np.zeros(2)
    found = divergence(np.array([-np.inf, np.log(2)]), zero, zero)
    assert found.value == pytest.approx((1 + 2 * np.log(2) - 1) / 2)
