"""Rows of a slow path: blocks make honest scores, and kernels serve rows far from all others."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import foliax
from foliax.density import Dataset
from foliax.density.localized import LocalizedDensity
from foliax.estimators import Auto, LocalKernel, ScaleMixtureKernel, Stacking
from foliax.estimators.auto.selection import score_by_other_blocks
from foliax.estimators.base import FitError
from foliax.estimators.blocks import add_blocks
from foliax.estimators.kernel.bandwidths import leave_one_out
from foliax.estimators.kernel.components import ScaleKernels
from foliax.estimators.kernel.data import DistinctRows
from foliax.estimators.kernel.space import Space
from foliax.estimators.weights import mixture_weights
from foliax.evaluation.estimate import mean_and_error
from foliax.evaluation.mass import total_mass_of_fit
from foliax.io import dumps, loads

from ..manifolds.test_serial import NORTH, normal, on_sphere, path

KEY = jax.random.key(0)
SPHERE = foliax.Sphere(2)
N = 600
BLOCKS = 12
FEW = ScaleMixtureKernel(largest=1e5, ratio=4.0)
LOCAL = LocalKernel((6, 24), (0.5, 1.0), FEW, folds=4, strata=1)


def slow_path(seed, n=N):
    """A walk of 50 rows' memory: rows are 0.03 from their successors and 0.25 from random ones."""
    return on_sphere(path(seed, n, 3, step=0.03, pull=0.02) + NORTH)


ROWS, FRESH = slow_path(0), slow_path(1, 2 * N)


@pytest.mark.parametrize("spec", [FEW, LOCAL, Stacking((FEW,), 0.3)], ids=type)
def test_the_held_out_score_is_that_of_fresh_blocks(spec):
    claimed, fresh, errors = {}, {}, {}
    for blocks in (None, BLOCKS):
        fitted = spec.fit(Dataset(ROWS, SPHERE, blocks=blocks), key=KEY)
        scores = fitted.density.evaluate(FRESH).value
        found = mean_and_error(scores, blocks=np.arange(2 * N) * 2 * BLOCKS // (2 * N))
        claimed[blocks], fresh[blocks] = -fitted.record.best_validation, found.value
        errors[blocks] = found.error
    assert claimed[None] > fresh[None] + 0.5, "random rows promise too much"
    # As many blocks claim as are fresh, twice over.
    assert abs(claimed[BLOCKS] - fresh[BLOCKS]) < 3 * np.sqrt(3) * errors[BLOCKS]
    assert fresh[BLOCKS] > fresh[None], "blocks choose broader kernels"


def test_a_block_is_left_out_as_a_whole():
    manifold = foliax.Circle()
    rows = np.array([[0.0], [0.1], [1.0], [1.1], [2.0]])
    blocks, weights = np.array([7, 7, 3, 3, 5]), np.arange(1.0, 6.0)
    space, kappas = Space(manifold), np.array([2.0, 9.0])
    data = DistinctRows.from_rows(space, rows, weights, blocks)
    found = leave_one_out(ScaleKernels(space, *data[:3], kappas, np.ones(1)), data)
    for row, score in zip(data.rows, found, strict=True):
        others = blocks != blocks[np.argmin(np.abs(rows[:, 0] - row[0]))]
        rest = DistinctRows.from_rows(space, rows[others], weights[others])
        kernels = ScaleKernels(space, *rest[:3], kappas, np.ones(1))
        np.testing.assert_allclose(score, kernels.log_components(jnp.asarray(row)), rtol=1e-4)


def test_copies_of_counts_stay_in_their_blocks():
    """Every block has every count, so that leaving a block out changes nothing."""
    space = Space(foliax.Naturals(1))
    rows, blocks = np.tile([[0.0], [1.0], [4.0]], (3, 1)), np.repeat(np.arange(3), 3)
    data = DistinctRows.from_rows(space, rows, None, blocks)
    assert len(data.rows) == 9
    kernels = ScaleKernels(space, *data[:3], np.array([1.0, 10.0]), np.ones(1))
    found = leave_one_out(kernels, data)
    expected = np.stack([kernels.log_components(jnp.asarray(row)) for row in data.rows])
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_kernels_need_more_than_one_block():
    with pytest.raises(FitError, match="Use more blocks"):
        FEW.fit(Dataset(ROWS, SPHERE, blocks=2).take(np.arange(200)), key=KEY)


def test_many_rows_are_held_out_by_blocks():
    spec = dataclasses.replace(FEW, max_rows=200)
    claimed = [
        -spec.fit(Dataset(ROWS, SPHERE, blocks=blocks), key=KEY).record.best_validation
        for blocks in (None, BLOCKS)
    ]
    assert claimed[0] > claimed[1] + 0.5


FAR = {
    "sphere": (SPHERE, ROWS[:100], [[0.0, 0.0, -1.0]]),
    "valley": (SPHERE, on_sphere([0.6, 0.0, 0.8] + 1e-5 * normal(0, 100, 3)), [[0.0, -1.0, 0.0]]),
    "narrow angle": (foliax.Torus(2), [0.3, 1.0] + 1e-4 * normal(0, 100, 2), [[-2.0, 1.0]]),
}


@pytest.mark.parametrize("spec", [FEW, LOCAL], ids=type)
@pytest.mark.parametrize("name", FAR)
def test_no_row_costs_more_than_ln_100_below_the_uniform_density(name, spec):
    manifold, rows, far = FAR[name]
    density = spec.fit(Dataset(rows, manifold), key=KEY).density
    value = density.evaluate(np.array(far)).value[0]
    assert value > -manifold.log_total_volume() - np.log(100) - 1e-3
    mass = total_mass_of_fit(density, rows, key=KEY)
    assert mass is not None
    assert abs(mass.value - 1) < 4 * mass.error + 1e-3


def test_far_rows_on_the_line_cost_no_more_than_the_broadest_kernel():
    rows = np.sort(normal(0, 120, 1), axis=0)
    for spec in (FEW, LOCAL):
        density = spec.fit(Dataset(rows, foliax.Euclidean(1)), key=KEY).density
        parts = zip(density.parts, density.log_weights, strict=True)
        kernels = [(p.kappas, w) for p, w in parts if isinstance(p, ScaleKernels)]
        broad = sum(float(np.exp(w)[np.asarray(k) == 0.5].sum()) for k, w in kernels)
        assert broad > 0.01 - 1e-6


def test_a_localized_density_samples_its_uniform_component():
    manifold, rows, _ = FAR["valley"]
    density = FEW.fit(Dataset(rows, manifold), key=KEY).density
    assert isinstance(density, LocalizedDensity)
    assert density.uniform_weight == 0.01
    often = LocalizedDensity(manifold, density.coordinates, density.density, 0.3)
    n = 1000
    keys = jax.random.split(KEY, n)
    drawn, found = often.sample_rows_with_log_prob(keys, np.arange(n), key=KEY, batch_size=n)
    np.testing.assert_array_equal(drawn, often.sample_rows(keys))
    expected = often.log_prob_rows(drawn, np.arange(n), key=KEY, batch_size=n)
    np.testing.assert_allclose(found.value, expected.value, atol=1e-3)
    far = np.linalg.norm(drawn - rows.mean(0), axis=1) > 1e-3
    assert abs(far.mean() - 0.3) < 4 * np.sqrt(0.3 * 0.7 / n)
    # Uniform on the sphere: the mean of each coordinate is 0, with variance 1/3.
    assert np.abs(drawn[far].mean(0)).max() < 4 / np.sqrt(3 * far.sum())
    one = jax.vmap(lambda key: often._sample(key=key))(keys)
    far = np.linalg.norm(np.asarray(one) - rows.mean(0), axis=1) > 1e-3
    assert abs(far.mean() - 0.3) < 4 * np.sqrt(0.3 * 0.7 / n)
    loaded = loads(dumps(often)).density
    np.testing.assert_array_equal(loaded.evaluate(drawn).value, often.evaluate(drawn).value)


def test_a_uniform_component_needs_a_finite_volume():
    density = FEW.fit(Dataset(1e6 + normal(0, 50, 1), foliax.Euclidean(1)), key=KEY).density
    assert density.uniform_weight == 0
    with pytest.raises(ValueError, match="volume is infinite"):
        dataclasses.replace(density, uniform_weight=0.1)


def test_the_score_of_a_stack_uses_weights_of_other_blocks():
    """Members that are good on one block each look good together only where weights are fitted."""
    blocks = np.repeat([0, 1], 50)
    scores = np.where(np.equal.outer(blocks, [0, 1]), 0.0, -3.0)
    rows = np.ones(100)
    _, fitted = mixture_weights(scores, rows, prior=1.0)
    assert fitted == pytest.approx(np.log((1 + np.exp(-3)) / 2), abs=1e-3)
    (good, bad), _ = mixture_weights(scores[:50], rows[:50], prior=1.0)
    expected = np.log(good * np.exp(-3) + bad)
    assert score_by_other_blocks(scores, rows, blocks) == pytest.approx(expected)
    assert expected < fitted - 1


def test_auto_falls_back_on_blocks_and_says_so():
    time = np.arange(N)
    blatant = on_sphere(np.c_[np.sin(0.05 * time), np.sin(0.031 * time), 1 + np.sin(0.017 * time)])
    data, event = add_blocks(Dataset(blatant, SPHERE))
    assert data.blocks.max() + 1 >= 10
    assert "Consecutive rows are much alike" in event
    for same in (Dataset(blatant, SPHERE, blocks=0), Dataset(FRESH[::5], SPHERE)):
        assert add_blocks(same) == (same, "")
    few = Dataset(blatant[:210], SPHERE)
    fitted = Auto(time_limit=0.01).fit(few, key=KEY)
    assert fitted.record.events[0].startswith("Consecutive rows are much alike")
