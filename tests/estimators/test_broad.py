"""No row costs more than ln 100 nats below the uniform density, or below the broadest kernel."""

import dataclasses
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import foliax
from foliax.density import AbstractDensity, LogProb, Stacked
from foliax.estimators import (
    AbstractEstimator,
    Auto,
    DirectionalMixture,
    FitResult,
    LocalKernel,
    ScaleMixtureKernel,
    Stacking,
)
from foliax.estimators.auto import Policy
from foliax.estimators.auto.policy import Candidate
from foliax.estimators.broad import build_broad_stack, uniform_weight
from foliax.evaluation.mass import total_mass_of_fit
from foliax.io import dumps, loads
from foliax.manifolds import AbstractManifold
from foliax.training import Record

KEY = jax.random.key(0)
SPHERE, LINE = foliax.Sphere(2), foliax.Euclidean(1)
KERNEL = ScaleMixtureKernel(largest=1e5, ratio=4.0)
LOCAL = LocalKernel((6, 24), (0.5, 1.0), KERNEL, folds=4, strata=1)
CENTRE = np.array([0.6, 0.0, 0.8])
SHARPNESS = 40.0
TEETH, TOOTH = 60, 0.02
LN_100 = math.log(100)


class Known(AbstractDensity):
    """The truth: a comb on the line, which no kernel finds, or exp(κ cᵀy) on the sphere."""

    manifold: AbstractManifold

    def _log_prob(self, y, *, condition=None, key=None):
        if self.manifold == LINE:
            teeth = jax.scipy.stats.norm.logpdf(y[0], jnp.arange(TEETH), TOOTH)
            value = jax.nn.logsumexp(teeth) - math.log(TEETH)
        else:
            value = SHARPNESS * (y @ jnp.asarray(CENTRE, y.dtype) - 1)
            value = value + math.log(SHARPNESS / (2 * math.pi))
        return LogProb(value, jnp.zeros_like(value))

    def _sample(self, *, condition=None, key):
        if self.manifold == LINE:
            k1, k2 = jax.random.split(key)
            return jax.random.randint(k1, (1,), 0, TEETH) + TOOTH * jax.random.normal(k2, (1,))
        k1, k2 = jax.random.split(key)
        height = 1 + jnp.log1p(-jax.random.uniform(k1)) / SHARPNESS
        turn = 2 * jnp.pi * jax.random.uniform(k2)
        basis = jnp.asarray(np.linalg.svd(CENTRE[None])[2][1:])
        flat = jnp.sqrt(1 - height**2) * jnp.stack([jnp.cos(turn), jnp.sin(turn)])
        return height * jnp.asarray(CENTRE) + flat @ basis

    @property
    def work(self):
        return 1

    def refine(self):
        return self


@dataclasses.dataclass(frozen=True)
class Truth(AbstractEstimator):
    """Gets all the weight of a stack."""

    def _fit(self, data, *, key, validation=None, callbacks=()):
        return FitResult(Known(data.manifold), Record(1))


FAR = {"sphere": (SPHERE, -CENTRE[None]), "line": (LINE, np.array([[200.0]]))}


def rows_of(manifold):
    return Known(manifold).sample(240, key=KEY)


def fit_auto(monkeypatch, data):
    candidates = [Candidate("kernel", KERNEL, is_kernel=True), Candidate("truth", Truth())]
    monkeypatch.setattr(Policy, "candidates", lambda *_: candidates)
    return Auto().fit(data, key=KEY)


@pytest.mark.parametrize("name", FAR)
@pytest.mark.parametrize("how", ["stack", "auto"])
def test_a_stack_whose_kernel_has_little_weight_keeps_a_broad_component(monkeypatch, name, how):
    manifold, far = FAR[name]
    rows = rows_of(manifold)
    data = foliax.Dataset(rows, manifold)
    if how == "stack":
        found = Stacking((KERNEL, Truth())).fit(data, key=KEY)
    else:
        found = fit_auto(monkeypatch, data)
    density = found.density
    assert isinstance(density, Stacked)
    known = [
        w for w, m in zip(density.log_weights, density.members, strict=True) if isinstance(m, Known)
    ]
    assert float(np.exp(known[0])) > 0.5, "the truth has most of the weight"
    broad = density.members[-1]
    value = density.evaluate(far).value[0]
    assert value > broad.evaluate(far).value[0] - LN_100 - 1e-3
    assert Known(manifold).evaluate(far).value[0] < value - 20
    if name == "sphere":
        assert value > -manifold.log_total_volume() - LN_100 - 1e-3
        assert abs(uniform_weight(density) - 0.01) < 1e-5
    else:
        (part,) = broad.parts
        np.testing.assert_array_equal(part.kappas, [0.5])
    assert any("no row costs more than ln 100" in event for event in found.record.events)
    claimed = -found.record.best_validation
    assert abs(claimed - density.evaluate(rows).value.mean()) < 0.5
    mass = total_mass_of_fit(density, rows, key=KEY)
    assert mass is not None
    assert abs(mass.value - 1) < 4 * mass.error + 1e-3


NARROW = {
    "0.01 rad": CENTRE + 0.004 * np.random.default_rng(0).normal(size=(240, 3)),
    "1e-7 rad": CENTRE + 3e-8 * np.random.default_rng(0).normal(size=(240, 3)),
}


@pytest.mark.parametrize(
    "estimator",
    [
        KERNEL,
        LOCAL,
        Stacking((KERNEL, LOCAL)),
        pytest.param(Auto(time_limit=1.0), marks=pytest.mark.slow),
    ],
    ids=["kernel", "local kernel", "stack", "auto"],
)
@pytest.mark.parametrize("name", NARROW)
def test_rows_far_from_a_narrow_region(name, estimator):
    rows = NARROW[name] / np.linalg.norm(NARROW[name], axis=1, keepdims=True)
    density = estimator.fit(foliax.Dataset(rows, SPHERE), key=KEY).density
    east = np.array([0.8, 0.0, -0.6])
    angles = np.array([0.03, 0.3, 1.5, 3.0, np.pi])[:, None]
    far = np.concatenate([np.cos(angles) * CENTRE + np.sin(angles) * east, -rows[:3]])
    values = density.evaluate(far).value
    assert (values > -SPHERE.log_total_volume() - LN_100 - 1e-3).all()
    traced = density.log_prob(jnp.asarray(far)).value
    assert (np.asarray(traced) > -SPHERE.log_total_volume() - LN_100 - 1e-2).all()


def test_a_mixture_alone_gets_the_uniform_density_and_model_files_hold_it():
    mixture = (
        DirectionalMixture(components=1)
        .fit(foliax.Dataset(rows_of(SPHERE), SPHERE), key=KEY)
        .density
    )
    density, added = build_broad_stack([mixture], np.ones(1))
    assert abs(uniform_weight(density) - 0.01) < 1e-5
    assert 0 < added < 0.01
    again = loads(dumps(density)).density
    far = FAR["sphere"][1]
    np.testing.assert_array_equal(again.evaluate(far).value, density.evaluate(far).value)
    assert build_broad_stack([density], np.ones(1)) == (density, 0.0)


def test_without_kernels_on_a_line_there_is_nothing_to_add():
    density = Known(LINE)
    assert build_broad_stack([density], np.ones(1)) == (density, 0.0)
