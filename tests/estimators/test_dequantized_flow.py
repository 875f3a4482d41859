import dataclasses
import io

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flowjax.distributions import Normal as StandardNormalOf
from rich.console import Console

from foliax import dequantizers
from foliax.density import RQMC, Dataset, DequantizedDensity, evaluate
from foliax.dequantizers import HeavyTailed, Uniform
from foliax.dequantizers.families import UniformCells
from foliax.estimators import DequantizedFlow, FitResult, get_estimator, refine_dequantizer
from foliax.estimators.dequantized_flow import ambient_points, check_solver, check_window
from foliax.evaluation import log_prob_once
from foliax.flows import AbstractAmbient, DiscreteODE, Flowjax, FromFlowjax, GaussianMixture
from foliax.flows.mass import reciprocal_mass
from foliax.manifolds import (
    ByRadii,
    Euclidean,
    Integers,
    Naturals,
    OffManifoldError,
    Product,
    Quaternions,
    Sphere,
    Torus,
    Wrapping,
)
from foliax.paper import targets
from foliax.training import ELBO, Block, ImportanceWeighted, OnBlock, Record, Training
from foliax.training.progress import training_bar

from ..small import SPEC, density, rows_of

KEY = jax.random.key(0)
COUNTS = DequantizedFlow(
    GaussianMixture(6),
    HeavyTailed(8),
    ImportanceWeighted(4),
    Training(steps=1500, learning_rate=1e-2),
)


def poisson_and_binomial(n, seed=0):
    rng = np.random.default_rng(seed)
    low, high = rng.poisson(3, n), rng.binomial(40, 0.6, n)
    return np.where(rng.random(n) < 0.5, low, high).astype(np.float32)[:, None]


def test_each_heap_of_rotations_starts_as_one():
    """The second, of few rows, at right angles to the first: its sign is not the first's affair."""
    key, *keys = jax.random.split(KEY, 4)
    centres = jnp.eye(4)[jnp.where(jnp.arange(1000) < 990, 0, 2)]
    q = centres + 0.1 * jax.random.normal(key, (1000, 4))
    g = Quaternions()
    rows = jax.vmap(lambda q: g.quantize(q)[0])(q)
    q_of = dequantizers.build(HeavyTailed(8), g, key=keys[0])
    x = ambient_points(g, q_of, Dataset(rows, g.manifold), keys[1], is_multimodal=True)
    unit = np.asarray(x / jnp.linalg.norm(x, axis=1, keepdims=True))
    for axis, size in ((0, 990), (2, 10)):
        cluster = unit[np.abs(unit[:, axis]) > 0.7, axis]
        assert len(cluster) == size
        assert abs(np.sign(cluster).sum()) == size


@pytest.mark.slow
def test_a_pmf_sums_to_one_and_beats_uniform_dequantization():
    rows, held = poisson_and_binomial(2000), poisson_and_binomial(500, seed=1)
    key = jax.random.key(0)
    fitted = COUNTS.fit(Dataset(rows, Integers(1)), key=key)
    pmf = evaluate(fitted.density, np.arange(-60.0, 120.0, dtype=np.float32)[:, None], tol=1e-4)
    assert np.exp(pmf.value).sum() == pytest.approx(1, abs=1e-3)
    ours = evaluate(fitted.density, held, tol=1e-3).value
    # The bound that uniform dequantization trains and reports: E log π(n + u).
    uniform = dataclasses.replace(COUNTS, dequantizer=Uniform(), objective=ELBO())
    other = uniform.fit(Dataset(rows, Integers(1)), key=key).density
    u = jax.random.uniform(jax.random.key(1), (len(held), 64, 1))
    bound = jax.vmap(jax.vmap(lambda y, u: other.log_weight(y, u), (None, 0)))(held, u)
    gain = ours - np.asarray(bound).mean(1)
    assert gain.mean() > 3 * gain.std() / np.sqrt(len(gain))


def test_naturals_put_no_mass_below_zero():
    fitted = COUNTS.fit(Dataset(poisson_and_binomial(1000), Naturals(1)), key=jax.random.key(0))
    pmf = evaluate(fitted.density, np.arange(0.0, 400.0, dtype=np.float32)[:, None], tol=1e-4)
    assert np.exp(pmf.value).sum() == pytest.approx(1, abs=2e-3)


@pytest.mark.slow
def test_fitting_a_product_of_a_sphere_and_counts():
    where = rows_of(targets.sphere_s2(), 300)
    rows = jnp.concatenate([where, jnp.asarray(poisson_and_binomial(300))], axis=1)
    fitted = SPEC.fit(Dataset(rows, Product(Sphere(2), Naturals(1))), key=jax.random.key(0))
    found = evaluate(fitted.density, np.asarray(rows[:20]), tol=0.05, max_rounds=2)
    assert np.isfinite(found.value).all()
    draw = jax.vmap(lambda k: fitted.density.sample(key=k))(jax.random.split(jax.random.key(1), 50))
    assert float(jnp.abs(jnp.linalg.norm(draw[:, :3], axis=1) - 1).max()) < 1e-5


@pytest.mark.slow
def test_several_seeds_keep_the_best():
    rows = rows_of(targets.sphere_s2(), 200)
    blocks: list[Block] = []
    two = dataclasses.replace(SPEC, seeds=2)
    record = two.fit(
        Dataset(rows, Sphere(2)), key=jax.random.key(0), callbacks=[OnBlock(blocks.append)]
    ).record
    assert len(blocks) == 2 * len(record.history)
    assert record.best_validation == min(block.best_validation for block in blocks)


def test_float64_is_float64_end_to_end():
    rows = np.asarray(rows_of(targets.sphere_s2(), 100))
    double = dataclasses.replace(SPEC, precision=64)
    with pytest.raises(ValueError, match="x64 mode"):
        double.fit(Dataset(rows, Sphere(2)), key=jax.random.key(0))
    with jax.enable_x64(True):
        density = double.fit(Dataset(rows.astype(float), Sphere(2)), key=jax.random.key(0)).density
        floats = [a for a in jax.tree.leaves(density) if eqx.is_inexact_array(a)]
        assert {a.dtype for a in floats} == {jnp.dtype("float64")}
        assert density.log_prob(jnp.asarray(rows[0], float)).value.dtype == jnp.float64
        assert density.sample(key=jax.random.key(0)).dtype == jnp.float64


class Inflated(AbstractAmbient):
    """Log densities that are not those of the samples, as an exploited solver's."""

    inner: AbstractAmbient
    dim: int = 3

    def log_prob_and_cost(self, x, condition=None):
        value, cost = self.inner.log_prob_and_cost(x)
        return value + 0.5, cost

    def sample(self, *, condition=None, key):
        return self.inner.sample(key=key)


class Shell(AbstractAmbient):
    """A uniform direction and a log-normal radius of deviation 0.1: exact, with a hole inside."""

    dim: int = 3

    def log_prob_and_cost(self, x, condition=None):
        r = jnp.linalg.norm(x)
        log_radius = jax.scipy.stats.norm.logpdf(jnp.log(r), 0.0, 0.1) - jnp.log(r)
        return log_radius - jnp.log(4 * jnp.pi) - 2 * jnp.log(r), jnp.zeros(())

    def sample(self, *, condition=None, key):
        k1, k2 = jax.random.split(key)
        direction = jax.random.normal(k1, (3,))
        return direction / jnp.linalg.norm(direction) * jnp.exp(0.1 * jax.random.normal(k2))


def test_a_sharp_shell_raises_no_alarm():
    for seed in range(5):
        mass, error = reciprocal_mass(Shell(), key=jax.random.key(seed))
        assert abs(float(mass) - 1) < 4 * float(error) + 0.02


@pytest.mark.parametrize(("width", "lost"), [(2.0, False), (9.0, True)])
def test_mass_outside_the_window_is_reported(width, lost):
    wide = FromFlowjax(StandardNormalOf(jnp.zeros(1), width * jnp.ones(1)))
    density = DequantizedDensity(Wrapping(Torus(1), window=1), wide, UniformCells())
    record = Record(0)
    check_window(FitResult(density, record), jax.random.key(0))
    assert bool(record.events) == lost


def test_whole_numbers_and_lists_are_welcome():
    counts = [[int(v)] for v in poisson_and_binomial(60)[:, 0]]
    quick = dataclasses.replace(COUNTS, training=Training(steps=20, eval_every=20))
    density = quick.fit(Dataset(counts, Naturals(1)), key=jax.random.key(0)).density
    found = evaluate(density, np.array([[0], [3]]))
    np.testing.assert_allclose(found.value, evaluate(density, [[0.0], [3.0]]).value)


def test_one_column_needs_no_choice_of_flow():
    plain = DequantizedFlow(training=Training(steps=20, eval_every=20))
    density = plain.fit(
        Dataset(np.zeros((9, 1)) + np.arange(9.0)[:, None], Euclidean(1)), key=KEY
    ).density
    assert density.ambient.dim == 1


def test_the_flow_by_name_serves_one_column():
    """Its couplings need two coordinates, so that a Gaussian mixture replaces them."""
    named = get_estimator("flow", steps=20)
    rows = np.random.default_rng(0).normal(5.0, 2.0, (300, 1))
    found = named.fit(Dataset(rows, Euclidean(1)), key=KEY).density
    grid = np.linspace(-20, 30, 2001)[:, None]
    mass = np.exp(found.evaluate(grid).value).sum() * (grid[1] - grid[0])[0]
    assert mass == pytest.approx(1, abs=1e-3)


def test_any_flowjax_distribution():
    spec = dataclasses.replace(
        SPEC, ambient=Flowjax(lambda key, dim: StandardNormalOf(jnp.zeros(dim), jnp.ones(dim)))
    )
    fitted = spec.fit(Dataset(rows_of(targets.sphere_s2(), 100), Sphere(2)), key=KEY)
    assert np.isfinite(fitted.record.best_validation)
    assert evaluate(fitted.density, [[0.0, 0.0, 1.0]]).reached.all()


def test_one_interrupt_ends_all_seeds():
    seen = []

    def interrupt(block):
        seen.append(block)
        raise KeyboardInterrupt

    three = dataclasses.replace(SPEC, seeds=3)
    fitted = three.fit(
        Dataset(rows_of(targets.sphere_s2(), 100), Sphere(2)),
        key=KEY,
        callbacks=[OnBlock(interrupt)],
    )
    assert len(seen) == 1
    assert fitted.record.stopped == "interrupted"


@pytest.mark.parametrize("bad", [{"seeds": 0}, {"precision": 16}, {"validation_fraction": 1.0}])
def test_bad_settings_are_refused(bad):
    with pytest.raises(ValueError, match="needs seeds >= 1"):
        DequantizedFlow(**bad)


@pytest.mark.slow
def test_an_exploited_solver_is_noticed():
    spec = dataclasses.replace(SPEC, ambient=DiscreteODE(8, 2, 3))
    fitted = spec.fit(Dataset(rows_of(targets.sphere_s2(), 200), Sphere(2)), key=jax.random.key(0))
    assert not fitted.record.events
    wrong = eqx.tree_at(lambda d: d.ambient, fitted.density, replace_fn=Inflated)
    check_solver(FitResult(wrong, fitted.record), jax.random.key(1))
    assert "not 1. Training exploited the solver" in fitted.record.events[0]


def test_off_manifold_rows_are_named():
    rows = np.array(rows_of(targets.sphere_s2(), 20))
    rows[7] *= 2
    with pytest.raises(OffManifoldError, match="Row 7"):
        SPEC.fit(Dataset(rows, Sphere(2)), key=jax.random.key(0))


def test_the_bar_is_silent_without_a_terminal():
    with training_bar(Console(force_terminal=False)) as bar:
        bar.on_block(Block(100, 200, 1.5, 1.25, 1.25, 3.0))
    console = Console(force_terminal=True, width=100, file=io.StringIO())
    with training_bar(console) as bar:
        bar.on_block(Block(100, 200, 1.5, 1.25, 1.25, 3.0))
    assert "100/200 steps" in console.file.getvalue()


@pytest.mark.slow
def test_a_density_settles_by_its_own_samples():
    """The flow stays as it is, to the bit; q(z | y) covers what the flow has."""
    d = density(ByRadii(Torus(2)))
    after = refine_dequantizer(
        d, key=jax.random.key(0), training=Training(steps=300, batch_size=128, learning_rate=1e-2)
    )
    assert eqx.tree_equal(after.ambient, d.ambient)
    assert after.integrator == d.integrator
    rows = d.sample(400, key=jax.random.key(1))

    def logs(part, integrator):
        found = part.with_integrator(integrator)
        return log_prob_once(found, rows, key=jax.random.key(2))

    exact, _ = logs(d, RQMC(1024, 8))
    first, second = (logs(part, RQMC(4, 8)) for part in (d, after))

    def size(values):
        return np.sqrt((values**2).mean())

    assert size(second[1]) < 0.5 * size(first[1])
    assert size(second[0] - exact) < 0.5 * size(first[0] - exact)


def test_where_z_needs_no_sampling_nothing_settles():
    d = density(Sphere(2).dequantization())
    assert refine_dequantizer(d, key=jax.random.key(0)) is d
