"""Spline flows: exact densities of mass 1 whose samples follow them, on every kind of manifold."""

import dataclasses
import itertools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from foliax import io
from foliax.density import Dataset, Members, Stacked
from foliax.density.covered import CoveredDensity, sample_base
from foliax.estimators import SplineFlow, UnsupportedManifoldError, get_estimator
from foliax.estimators.spline_flow import _upgrade
from foliax.evaluation import mean_and_error
from foliax.flows.manifold.block_splines import BlockSplines
from foliax.manifolds import (
    Circle,
    Euclidean,
    Naturals,
    Orthogonal,
    PositiveReals,
    Product,
    ProjectiveSpace,
    Rounded,
    SpecialOrthogonal,
    Sphere,
    Stiefel,
    Torus,
)
from foliax.training import Training, partition

KEY = jax.random.key(0)
SHORT = Training(steps=60, batch_size=64, eval_every=20, learning_rate=1e-2, warmup=5, ema=0.9)
SMALL = SplineFlow(layers=3, width=8, depth=1, bins=4, members=1, training=SHORT)
TINY = dataclasses.replace(SMALL, layers=1, bins=3)
COMPACT = {
    "S2": Sphere(2),
    "S5": Sphere(5),
    "T3": Torus(3),
    "SO(3)": SpecialOrthogonal(3),
    "St(4, 2)": Stiefel(4, 2),
    "St(5, 2)": Stiefel(5, 2),
    "O(3)": Orthogonal(3),
    "RP2": ProjectiveSpace(2),
    "S2 x S1": Product(Sphere(2), Circle()),
}
SLOW = ("S5", "St(5, 2)", "O(3)", "RP2")
ALL = [pytest.param(n, marks=pytest.mark.slow) if n in SLOW else n for n in COMPACT]
MIXED = Product(Sphere(2), Circle(), PositiveReals(), Rounded(0.5), Naturals())


def shaken(density: CoveredDensity, size: float = 0.1) -> CoveredDensity:
    """Move all parameters, so that the density is far from its start."""
    params, static = partition(density)
    leaves, tree = jax.tree.flatten(params)
    keys = jax.random.split(jax.random.key(5), len(leaves))
    moved = [a + size * jax.random.normal(k, a.shape) for a, k in zip(leaves, keys, strict=True)]
    return eqx.combine(jax.tree.unflatten(tree, moved), static)


def uniform_rows(manifold, n, seed=0):
    keys = jax.random.split(jax.random.key(seed), n)
    return np.asarray(jax.vmap(lambda k: manifold.sample_uniform(key=k))(keys))


def mixed_rows(n, seed=0):
    rng = np.random.default_rng(seed)
    place = rng.normal(size=(n, 3)) + np.array([1, 0, 0])
    place /= np.linalg.norm(place, axis=1, keepdims=True)
    angle = rng.vonmises(place[:, 1], 2.0, n)
    size = np.exp(place[:, 0] + 0.3 * rng.normal(size=n))
    rounded = np.round(2 * (10 + 2 * rng.normal(size=n))) / 2
    return np.column_stack([place, angle, size, rounded, rng.poisson(4 * size)])


@pytest.mark.parametrize("name", ALL)
def test_total_mass_is_one(name):
    """The mean of V·p over uniform rows."""
    manifold = COMPACT[name]
    density = shaken(SMALL.build(Dataset(uniform_rows(manifold, 64), manifold), key=KEY))
    values = density.evaluate(uniform_rows(manifold, 20_000, seed=1)).value
    mass = mean_and_error(np.exp(values + manifold.log_total_volume()))
    assert np.std(values) > 0.1
    assert mass.error < 0.03
    assert abs(mass.value - 1) < 4 * mass.error


@pytest.mark.parametrize("name", ALL)
def test_samples_follow_the_density(name):
    """The mean of 1/(V·p) over samples, which are uniform after weighting."""
    manifold = COMPACT[name]
    density = shaken(SMALL.build(Dataset(uniform_rows(manifold, 64), manifold), key=KEY))
    rows = density.sample(4000, key=jax.random.key(2))
    weights = np.exp(-density.evaluate(rows).value - manifold.log_total_volume())
    one = mean_and_error(weights)
    assert one.error < 0.1
    assert abs(one.value - 1) < 4 * one.error
    # The weights undo the density: weighted features have the mean of uniform ones.
    features = np.asarray(jax.vmap(manifold.features)(jnp.asarray(rows)))
    expected = np.asarray(jax.vmap(manifold.features)(uniform_rows(manifold, 4000, seed=3)))
    for found, wanted in zip((weights[:, None] * features).T, expected.T, strict=True):
        difference = mean_and_error(found - wanted)
        assert abs(difference.value) < 5 * difference.error + 1e-6


def test_probabilities_of_discrete_values_add_up():
    """For fixed other columns, the sum over both discrete ones is the density of the others."""
    rows = mixed_rows(400)
    density = shaken(SMALL.build(Dataset(rows, MIXED), key=KEY))
    others = rows[0, :5]
    grid = np.array(list(itertools.product(np.arange(-20, 60) / 2, np.arange(400))))
    table = np.column_stack([np.tile(others, (len(grid), 1)), grid])
    total = np.logaddexp.reduce(density.evaluate(table).value)
    bare = eqx.tree_at(lambda d: d.cell_flow, density, None)
    expected = bare.evaluate(rows[:1]).value[0]
    assert total == pytest.approx(expected, abs=2e-3)


def test_narrow_cells_are_densities_times_widths():
    """Counts near 1e5 have narrow cells in the logarithm; their probabilities add up to 1 too."""
    rows = np.random.default_rng(0).poisson(1e5, (400, 1)).astype(float)
    density = SMALL.build(Dataset(rows, Naturals()), key=KEY)
    counts = np.arange(90_000, 110_000, dtype=float)[:, None]
    total = np.exp(density.evaluate(counts).value).sum()
    assert total == pytest.approx(1, abs=2e-3)


def test_mixed_tables_fit_and_sample():
    rows = mixed_rows(2000)
    found = SMALL.fit(Dataset(rows, MIXED), key=KEY)
    assert found.record.history[-1].loss < found.record.history[0].loss - 0.1
    drawn = found.density.sample(2000, key=KEY)
    assert (np.abs(2 * drawn[:, 5] - np.round(2 * drawn[:, 5])) < 1e-4).all()
    assert (drawn[:, 6] == np.floor(drawn[:, 6])).all()
    assert (drawn[:, 6] >= 0).all()
    # Samples and rows are exchangeable up to the fit: the medians agree to a fraction of a spread.
    spread = np.quantile(rows[:, 4:], 0.84, axis=0) - np.quantile(rows[:, 4:], 0.16, axis=0)
    gap = np.median(drawn[:, 4:], axis=0) - np.median(rows[:, 4:], axis=0)
    assert (np.abs(gap) < 0.25 * spread).all()


def test_inverse_of_the_splines():
    blocks = Product(Sphere(3), Torus(2), Euclidean(1)).cover().blocks
    flow = BlockSplines(blocks, 2, layers=4, width=8, depth=1, bins=5, key=KEY)
    leaves, tree = jax.tree.flatten(eqx.filter(flow.networks, eqx.is_array))
    flow = eqx.tree_at(
        lambda f: f.networks,
        flow,
        eqx.combine(
            jax.tree.unflatten(tree, [3 * leaf for leaf in leaves]),
            eqx.filter(flow.networks, eqx.is_array, inverse=True),
        ),
    )
    condition = jnp.array([0.3, -1.0])
    for seed in range(5):
        x = sample_base(blocks, jax.random.key(seed))
        u, _ = flow.to_base(x, condition)
        assert np.abs(u - x).max() > 0.05
        back = np.asarray(flow.from_base(u, condition))
        gap = np.abs(back - x)
        gap[4:6] = np.minimum(gap[4:6], 2 * np.pi - gap[4:6])
        assert gap.max() < 1e-3


def test_members_are_trained_side_by_side_and_give_their_mean():
    data = Dataset(uniform_rows(Sphere(2), 400), Sphere(2))
    rows = jnp.asarray(uniform_rows(Sphere(2), 40, seed=3))
    parts = [shaken(TINY.build(data, key=jax.random.key(k)), 0.1 + 0.1 * k) for k in range(3)]
    joint = Members(*parts)
    each = np.stack([part.log_prob(rows).value for part in parts])
    assert np.ptp(each, axis=0).max() > 0.1
    mean = np.logaddexp.reduce(each) - np.log(3)
    for density in (joint, joint.separate()):
        np.testing.assert_allclose(density.log_prob(rows).value, mean, atol=1e-4)
        np.testing.assert_allclose(density.log_prob(rows[0]).value, mean[0], atol=1e-4)
    assert joint.work == joint.separate().work == 3 * parts[0].work
    fitted = dataclasses.replace(TINY, members=3).fit(data, key=KEY).density
    assert isinstance(fitted, Stacked)
    assert len({part.log_prob(rows[0]).value.item() for part in fitted.members}) == 3


def test_rows_one_by_one_have_the_values_of_all_at_once():
    density = shaken(TINY.build(Dataset(mixed_rows(400), MIXED), key=KEY))
    rows = jnp.asarray(mixed_rows(3, seed=3), jnp.float32)
    one_by_one, slopes = zip(
        *(jax.value_and_grad(lambda y: density.log_prob(y).value)(row) for row in rows),
        strict=True,
    )
    np.testing.assert_allclose(density.log_prob(rows).value, one_by_one, atol=1e-5)
    assert np.isfinite(slopes).all()
    assert np.abs(np.array(slopes)[:, :5]).max() > 0.1


def test_settings_of_older_files_have_one_member():
    stored = {"layers": 3, "width": 8, "depth": 1, "bins": 4}
    assert _upgrade(stored)["members"] == 1
    assert _upgrade(stored | {"members": 2})["members"] == 2


def test_the_condition_matters():
    rng = np.random.default_rng(1)
    condition = rng.uniform(-3, 3, (3000, 1))
    rows = condition + 0.3 * rng.normal(size=(3000, 1))
    data = Dataset(rows, Euclidean(1), condition=condition)
    longer = dataclasses.replace(SHORT, steps=300)
    found = dataclasses.replace(SMALL, training=longer).fit(data, key=KEY)
    fresh = rng.uniform(-3, 3, (2000, 1))
    values = fresh + 0.3 * rng.normal(size=(2000, 1))
    score = found.density.evaluate(values, condition=fresh).value
    truth = -0.5 * ((values - fresh)[:, 0] / 0.3) ** 2 - np.log(0.3 * np.sqrt(2 * np.pi))
    gap = mean_and_error(truth - score)
    assert gap.value < 0.15
    drawn = found.density.sample(500, condition=np.array([2.0]), key=KEY)
    assert abs(np.median(drawn) - 2) < 0.2


def test_same_key_same_bits_and_a_model_file_gives_them_back(tmp_path):
    data = Dataset(mixed_rows(400), MIXED)
    first, second = (SMALL.fit(data, key=KEY).density for _ in range(2))
    rows = mixed_rows(50, seed=7)
    expected = first.evaluate(rows).value
    np.testing.assert_array_equal(second.evaluate(rows).value, expected)
    io.save(tmp_path / "m.foliax", first, estimator=SMALL)
    np.testing.assert_array_equal(
        io.load(tmp_path / "m.foliax").density.evaluate(rows).value, expected
    )


def test_refusals_and_names():
    assert isinstance(get_estimator("spline flow"), SplineFlow)
    with pytest.raises(ValueError, match="layers, width and members >= 1"):
        SplineFlow(layers=0)
    with pytest.raises(ValueError, match="2 to 500 bins"):
        SplineFlow(bins=1)
    with pytest.raises(UnsupportedManifoldError, match="SplineFlow does not serve"):
        SMALL.fit(Dataset(np.ones((20, 1)), Orthogonal(1)), key=KEY)
    work = SplineFlow().fit_work(1000, Sphere(2))
    within = SplineFlow().within(0.8 * work, 1000, Sphere(2))
    assert within.training.steps < SplineFlow().training.steps
    assert within.fit_work(1000, Sphere(2)) <= 0.8 * work


@pytest.mark.parametrize(
    ("manifold", "n", "expected"),
    [(Sphere(2), 100, (12, 1, 32)), (Torus(3), 100, (8, 3, 32)), (Sphere(2), 30_000, (12, 1, 64))],
)
def test_layers_follow_the_blocks_and_widths_the_rows(manifold, n, expected):
    rows = np.asarray(jax.vmap(lambda k: manifold.sample_uniform(key=k))(jax.random.split(KEY, n)))
    flow = SplineFlow().build(Dataset(rows, manifold), key=KEY).flow
    assert flow is not None
    assert (*flow.orders.shape, flow.networks.layers[0].out_features) == expected
