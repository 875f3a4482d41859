"""What every manifold flow must do, whichever it is."""

import dataclasses
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from foliax.density import AbstractDensity, Dataset, LogProb, PushForward
from foliax.density import target as density_target
from foliax.estimators import (
    CircularSplineFlow,
    ExponentialFlow,
    ManifoldODE,
    MobiusFlow,
    UnsupportedManifoldError,
)
from foliax.estimators.manifold_flow.base import uniform_sampler
from foliax.evaluation import metrics
from foliax.flows import RealNVP
from foliax.flows.manifold import AbstractBijection
from foliax.manifolds import AbstractManifold, Integers, SpecialOrthogonal, Sphere, Torus
from foliax.paper import targets
from foliax.training import Training, partition

from ...small import points_of, rows_of

SHORT = Training(steps=40, batch_size=64, eval_every=20, learning_rate=1e-2, warmup=5, ema=0.9)
KEY = jax.random.key(0)


@dataclasses.dataclass(frozen=True)
class Case:
    target: density_target.AbstractTarget
    spec: Any
    awkward: tuple[tuple[float, ...], ...] = ()


PI = float(np.pi)
CUT = ((PI, 0.0), (-PI, PI), (0.0, -PI), (0.0, 0.0), (3.1415925, -3.1415925))
POLES = ((0.0, 0.0, 1.0), (0.0, 0.0, -1.0), (1e-4, 0.0, 1.0), (0.0, 1e-7, -1.0), (-1.0, 0.0, 0.0))
POLES_S3 = (*((0.0, *pole) for pole in POLES), (0.0, 0.0, 1.0, 0.0), (0.0, 1.0, 1e-6, 0.0))
CASES = {
    "mobius T2": Case(targets.torus_multimodal(), MobiusFlow(4, width=16, training=SHORT), CUT),
    "mobius S2": Case(targets.sphere_s2(), MobiusFlow(4, 6, 16, training=SHORT), POLES),
    "mobius S3": Case(targets.sphere_s3(), MobiusFlow(4, 6, 16, training=SHORT), POLES_S3),
    "autoregressive T2": Case(
        targets.torus_multimodal(), CircularSplineFlow(6, width=16, training=SHORT), CUT
    ),
    "coupling T2": Case(
        targets.torus_multimodal(), CircularSplineFlow(6, 2, True, 16, training=SHORT), CUT
    ),
    "ode S2": Case(
        targets.sphere_s2(), ManifoldODE(16, steps=4, max_steps=128, training=SHORT), POLES
    ),
    "exponential": Case(targets.rotations_so3(), ExponentialFlow(RealNVP(2, 8), training=SHORT)),
}
# Of the same parts as the others, but slower to compile.
SLOW = ("mobius S2", "mobius S3", "autoregressive T2", "ode S2", "exponential")


def marked(names):
    return [pytest.param(n, marks=pytest.mark.slow) if n in SLOW else n for n in names]


ALL = marked(CASES)
FLOWS = marked(name for name in CASES if name != "exponential")


@pytest.fixture(scope="module")
def trained():
    found = {}

    def get(name: str) -> AbstractDensity:
        if name not in found:
            case = CASES[name]
            fitted = case.spec.fit(
                Dataset(rows_of(case.target, 400), case.target.manifold), key=KEY
            )
            assert fitted.record.history[-1].loss < fitted.record.history[0].loss
            assert fitted.record.events == []
            found[name] = fitted.density
        return found[name]

    return get


def shaken(density: PushForward, size: float) -> PushForward:
    params, static = partition(density)
    leaves, tree = jax.tree.flatten(params)
    keys = jax.random.split(jax.random.key(5), len(leaves))
    moved = [a + size * jax.random.normal(k, a.shape) for a, k in zip(leaves, keys, strict=True)]
    return eqx.combine(jax.tree.unflatten(tree, moved), static)


def own_mass(density: AbstractDensity, target: density_target.AbstractTarget) -> metrics.Estimate:
    """E_q[p/q] over q's samples: 1 for the target p, which q covers, if q is what it says."""
    rows = density.sample(4000, key=jax.random.key(1))
    log_q, _ = metrics.log_prob_once(density, rows, key=KEY)
    log_p, _ = metrics.log_prob_once(target, rows, key=KEY)
    return metrics.mean_and_error(np.exp(log_p - log_q))


def is_one(mass: metrics.Estimate) -> bool:
    assert mass.error < 0.04, mass
    return abs(mass.value - 1) < 4 * mass.error


class Misjudged(AbstractBijection):
    """A bijection whose log stretch is wrong by a tenth of it and 0.2."""

    right: AbstractBijection

    def forward(self, x):
        y, log_stretch = self.right.forward(x)
        return y, 0.9 * log_stretch + 0.2

    def inverse(self, y):
        x, log_stretch = self.right.inverse(y)
        return x, 0.9 * log_stretch + 0.2

    def accurate(self):
        return self


class Heavier(AbstractDensity):
    """A density whose normaliser is wrong."""

    manifold: AbstractManifold
    right: AbstractDensity

    def _log_prob(self, y, *, condition=None, key=None):
        value, error = self.right.log_prob(y, key=key)
        return LogProb(value + 0.2, error)

    def _sample(self, *, condition=None, key):
        return self.right.sample(key=key)

    @property
    def work(self):
        return self.right.work

    def refine(self):
        return self


@pytest.mark.parametrize("name", ALL)
def test_samples_and_log_densities_agree(name, trained):
    density = trained(name)
    target = CASES[name].target
    assert is_one(own_mass(density, target))
    if isinstance(density, PushForward):
        wrong = PushForward(density.manifold, Misjudged(density.bijection))
    else:
        wrong = Heavier(density.manifold, density)
    assert not is_one(own_mass(wrong, target))


@pytest.mark.parametrize("name", ALL)
def test_the_mass_is_one(name, trained):
    mass = metrics.total_mass(trained(name), 8000, key=jax.random.key(3))
    assert abs(mass.value - 1) < 0.005 + 4 * mass.error
    assert mass.error < 0.02


def stretches(manifold, inverse, y) -> tuple[jax.Array, jax.Array]:
    """By autodiff: how much the inverse stretches lengths at most, and the log of volumes."""
    x, _ = inverse(y)
    jacobian = jax.jacrev(lambda y: inverse(y)[0])(y)
    if not isinstance(manifold, Sphere):
        return jnp.linalg.norm(jacobian, 2), jnp.linalg.slogdet(jacobian)[1]
    # From tangent space to tangent space; for the volume, the normals are sent to each other.
    jacobian = jacobian - jnp.outer(jacobian @ y, y)
    return jnp.linalg.norm(jacobian, 2), jnp.linalg.slogdet(jacobian + jnp.outer(x, y))[1]


@eqx.filter_jit
def there_and_back(density: PushForward, x):
    """Gap, violation, the inverse's stretch of lengths, and two gaps of the log stretch."""
    manifold, flow = density.manifold, density.bijection

    def one(x):
        y, there = flow.forward(x)
        back, home = flow.inverse(y)
        lengths, log_volume = stretches(manifold, flow.inverse, y)
        gap, violation = manifold.distance(back, x), manifold.violation(y)
        return gap, violation, lengths, there + home, home - log_volume

    return jax.vmap(one)(x)


@pytest.mark.parametrize("name", FLOWS)
def test_round_trips_in_float32_and_log_stretches(name, trained):
    x = uniform_sampler(CASES[name].target.manifold)(jax.random.key(2), 200)
    x = jnp.concatenate([x, jnp.asarray(CASES[name].awkward, jnp.float32)])
    for shake in (0.0, 0.3):
        gap, violation, lengths, there_home, by_autodiff = there_and_back(
            shaken(trained(name), shake), x
        )
        # At a pole there is no derivative to measure by.
        lengths = jnp.where(jnp.isfinite(lengths), jnp.maximum(1, lengths), 1)
        assert (gap <= 1e-5 * lengths).all(), (gap / lengths).max()
        assert violation.max() < 1e-6
        assert jnp.abs(there_home[:200]).max() < 2e-3
        assert jnp.abs(by_autodiff[:200]).max() < 1e-2


@pytest.mark.parametrize("name", FLOWS)
def test_reverse_kl_trains_too_and_many_rows_are_as_few(name):
    case = CASES[name]
    fitted = case.spec.fit_target(case.target.manifold, case.target, key=KEY)
    assert fitted.record.history[-1].loss < fitted.record.history[0].loss
    density = fitted.density
    x = uniform_sampler(density.manifold)(jax.random.key(2), 4096)
    y, log_q = jax.jit(jax.vmap(density.push))(x)
    again, _ = metrics.log_prob_once(density, np.asarray(y), key=KEY)
    np.testing.assert_allclose(log_q, again, atol=2e-3)
    few, log_few = jax.jit(jax.vmap(density.push))(x[:32])
    np.testing.assert_allclose(y[:32], few, atol=1e-5)
    np.testing.assert_allclose(log_q[:32], log_few, atol=1e-4)


@pytest.mark.parametrize(
    ("spec", "where"),
    [
        (MobiusFlow(), Integers(1)),
        (CircularSplineFlow(), Sphere(2)),
        (CircularSplineFlow(layers=2, coupling=True), Torus(1)),
        (ManifoldODE(), Torus(2)),
        (ExponentialFlow(), SpecialOrthogonal(4)),
        (ExponentialFlow(), Sphere(3)),
    ],
)
def test_refusals_name_what_is_served(spec, where):
    with pytest.raises(UnsupportedManifoldError, match="it is for"):
        spec.fit(Dataset(points_of(where, 4), where), key=KEY)


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_twenty_seeds_do_not_diverge(name):
    case = CASES[name]
    rows = rows_of(case.target, 400)
    for seed in range(20):
        fitted = case.spec.fit(Dataset(rows, case.target.manifold), key=jax.random.key(seed))
        assert fitted.record.events == []


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_a_million_samples_are_finite(name, trained):
    rows = trained(name).sample(1_000_000, key=jax.random.key(7))
    assert np.isfinite(rows).all()
    metrics.log_prob_once(trained(name), rows, key=KEY)
