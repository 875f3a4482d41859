import jax
import numpy as np
import pytest

from foliax import targets
from foliax.density import AbstractDensity
from foliax.marginal import LogProb
from foliax.metrics import compare, log_densities, samples, total_mass

TARGETS = {
    "S²": targets.sphere_s2(),
    "S³": targets.sphere_s3(),
    "T² unimodal": targets.torus_unimodal(),
    "T² multimodal": targets.torus_multimodal(),
    "T² correlated": targets.torus_correlated(),
    "SO(3)": targets.rotations_so3(),
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
    drawn = np.asarray(features(samples(target, n, key=jax.random.key(1))))
    uniform = jax.vmap(lambda k: target.manifold.sample_uniform(key=k))(
        jax.random.split(jax.random.key(2), n)
    )
    log_p, _ = log_densities(target, np.asarray(uniform), key=jax.random.key(0))
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

    def log_prob(self, y, *, context=None, key=None):
        value, error = self.inner.log_prob(y, key=key)
        return LogProb(value + self.log_factor, error)

    def sample(self, *, context=None, key):
        return self.inner.sample(key=key)

    work = 1

    def refined(self):
        return self


def test_a_density_equals_itself_and_a_wrong_normaliser_is_seen():
    target = TARGETS["S²"]
    same = compare(target, target, 2000, key=jax.random.key(0))
    assert same.kl_qp.value == same.kl_pq.value == 0
    assert same.mass.value == pytest.approx(1)
    assert same.ess == pytest.approx(1)
    wrong = compare(Scaled(target, np.log(1.1)), target, 2000, key=jax.random.key(0))
    assert wrong.mass.value == pytest.approx(1.1, abs=3 * wrong.mass.error)
    assert wrong.kl_qp.value == pytest.approx(1 / 1.1 - 1 + np.log(1.1), rel=1e-3)


def test_kl_between_two_von_mises_densities():
    """KL of a unimodal T² density from a shifted one, in closed form: Σ A(1)(1 − cos shift)."""
    from scipy.special import ive

    a = targets.TorusModes(targets.Torus(2), ((0.3, -0.2),))
    b = targets.TorusModes(targets.Torus(2), ((0.7, 0.1),))
    exact = ive(1, 1) / ive(0, 1) * (2 - np.cos(0.4) - np.cos(0.3))
    found = compare(a, b, 20_000, key=jax.random.key(0))
    assert abs(found.kl_qp.value - exact) < 4 * found.kl_qp.error
    assert abs(found.kl_pq.value - exact) < 4 * found.kl_pq.error
