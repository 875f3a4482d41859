import jax
import jax.numpy as jnp
import numpy as np
import pytest

from foliax.density import AbstractDensity, Dataset, LogProb, Stacked, evaluate
from foliax.estimators import ScaleMixtureKernel, Stacking, stack
from foliax.estimators.weights import mixture_weights
from foliax.evaluation import metrics
from foliax.manifolds import AbstractManifold, Circle, Sphere
from foliax.paper import targets

from ..small import SPEC
from .agreement import agrees

KEY = jax.random.key(0)
S2 = targets.sphere_s2()
WEIGHTS = jnp.log(jnp.array([0.3, 0.7]))


class Uncertain(AbstractDensity):
    """A density with a made-up error."""

    manifold: AbstractManifold
    base: AbstractDensity
    error: float

    def _log_prob(self, y, *, condition=None, key=None):
        value = self.base.log_prob(y).value
        return LogProb(value, jnp.full_like(value, self.error))

    def _sample(self, *, condition=None, key):
        return self.base.sample(key=key)

    @property
    def work(self):
        return 7

    def refine(self):
        return Uncertain(self.manifold, self.base, self.error / 2)


def kernel():
    rows = S2.sample(50, key=KEY)
    return ScaleMixtureKernel(largest=100.0).fit(Dataset(rows, Sphere(2)), key=KEY).density


def test_it_is_the_mixture_with_its_errors():
    one, other = Uncertain(S2.manifold, S2, 0.1), Uncertain(S2.manifold, kernel(), 0.2)
    both = Stacked((one, other), WEIGHTS)
    y = jnp.array([0.0, 0.6, 0.8])
    found = both.log_prob(y, key=KEY)
    p = np.exp([float(m.log_prob(y).value) for m in (one, other)]) * [0.3, 0.7]
    assert float(found.value) == pytest.approx(np.log(p.sum()), abs=1e-5)
    share = p / p.sum()
    assert float(found.error) == pytest.approx(np.hypot(*(share * [0.1, 0.2])), rel=1e-4)
    assert both.work == 14
    assert float(both.refine().log_prob(y, key=KEY).error) == pytest.approx(
        float(found.error) / 2, rel=1e-4
    )
    exact = Stacked((S2, kernel()), WEIGHTS)
    assert exact.refine() is exact


def test_mass_and_samples():
    both = Stacked((S2, kernel()), WEIGHTS)
    mass = metrics.total_mass(both, 8000, key=KEY, near=S2)
    assert abs(mass.value - 1) < 4 * mass.error
    agrees(both, S2, 4000, error=0.05)


def test_weights_are_found():
    """Rows of 0.3 p + 0.7 q: EM finds the shares within four standard errors."""
    other = kernel()
    rows = Stacked((S2, other), WEIGHTS).sample(3000, key=KEY)
    density, _ = stack((S2, other), Dataset(rows, S2.manifold), key=KEY)
    share = float(jnp.exp(density.log_weights[0]))
    p, q = (np.exp(metrics.log_prob_once(m, rows, key=KEY)[0]) for m in (S2, other))
    information = (((p - q) / (0.3 * p + 0.7 * q)) ** 2).sum()
    assert abs(share - 0.3) < 4 / np.sqrt(information)


def test_few_rows_do_not_decide_alone():
    scores = np.array([[0.0, -0.5], [0.0, -0.5]])
    alone, _ = mixture_weights(scores, np.ones(2))
    assert alone[0] > 0.99
    pulled, _ = mixture_weights(scores, np.ones(2), prior=2.0)
    assert 0.5 < pulled[0] < 0.9


@pytest.mark.slow
def test_a_spec_of_several():
    rows = S2.sample(300, key=KEY)
    fitted = Stacking((ScaleMixtureKernel(largest=100.0), SPEC)).fit(
        Dataset(rows, Sphere(2)), key=KEY
    )
    assert any("Stacked:" in event for event in fitted.record.events)
    assert np.isfinite(evaluate(fitted.density, rows[:20]).value).all()
    assert np.isfinite(fitted.record.best_validation)


def test_refusals():
    with pytest.raises(ValueError, match="one manifold"):
        Stacked((S2, targets.torus_unimodal()), WEIGHTS)
    with pytest.raises(ValueError, match="at least one estimator"):
        Stacking(())
    with pytest.raises(FloatingPointError, match="Row 1 has density 0"):
        mixture_weights(np.array([[0.0], [-np.inf]]), np.ones(2))


@pytest.mark.slow
def test_many_draws_are_those_of_each_key():
    """Grouped by member and part, they are the same rows in the same places."""
    rows = np.random.default_rng(0).vonmises(0.0, 3.0, (60, 1)).astype(np.float32)
    kernel = (
        ScaleMixtureKernel(largest=50.0, min_gain=0.0).fit(Dataset(rows, Circle()), key=KEY).density
    )
    wide = (
        ScaleMixtureKernel(largest=2.0, min_gain=0.0).fit(Dataset(rows, Circle()), key=KEY).density
    )
    both = Stacked((kernel, wide), jnp.log(jnp.array([0.7, 0.3])))
    keys = jax.random.split(KEY, 50)
    for density in (kernel, both):
        one_by_one = jax.vmap(lambda key, d=density: d.sample(key=key))(keys)
        np.testing.assert_allclose(density.sample_rows(keys), one_by_one, atol=1e-6)
        assert density.sample_rows(keys[:0]).shape == (0, 1)
