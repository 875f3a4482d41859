"""Rows scored by the kernels that matter, beside the sum of all kernels."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from foliax.density import Dataset
from foliax.density.batches import log_prob_in_batches
from foliax.estimators import LocalKernel, ScaleMixtureKernel
from foliax.estimators.kernel import density as kernel_density
from foliax.estimators.kernel import scoring
from foliax.estimators.kernel.cost import INDEXED_PAIR_RATIO, count_scored_pairs
from foliax.estimators.kernel.data import DistinctRows
from foliax.estimators.kernel.density import KernelDensity
from foliax.estimators.kernel.neighbours import local_kernels
from foliax.estimators.kernel.shapes import Tangents
from foliax.estimators.kernel.space import Space
from foliax.manifolds import Naturals, PositiveReals, Product, SpecialOrthogonal, Sphere, Torus
from foliax.manifolds.sphere import MIN_SINE

from .test_scale_mixture import cluster

KEY = jax.random.key(0)
SPEC = LocalKernel((6, 24), (0.3, 1.0), ScaleMixtureKernel(largest=500.0, ratio=8.0), folds=2)
MANIFOLDS = {
    "S²": Sphere(2),
    "T²": Torus(2),
    "SO(3)": SpecialOrthogonal(3),
    "mixed": Product(Sphere(2), PositiveReals(), Torus(1)),
}


@pytest.fixture
def indexed(monkeypatch):
    """Use the index even where it does not pay."""
    monkeypatch.setattr(kernel_density, "MIN_INDEXING_WORK", 0)
    monkeypatch.setattr(kernel_density, "MIN_INDEXED_KERNELS", 0)


def shaped_density(manifold, weights=None, n=600):
    """Local kernels of several shapes and widths, and few others."""
    space = Space(manifold)
    data = DistinctRows.from_rows(space, cluster(manifold, n), weights)
    relative = np.ones(space.n_bandwidths)
    parts = tuple(local_kernels(Tangents(space), data, relative, (6, 24), (0.3, 1.0)))
    logs = np.log([0.4, 0.3, 0.2, 0.1], dtype=np.float32)
    return KernelDensity(manifold, parts, (jnp.asarray(logs[:2]), jnp.asarray(logs[2:])))


def score(density, rows):
    return density.log_prob_rows(rows, np.arange(len(rows)), key=KEY, batch_size=4096).value


def check(density, rows):
    """Compare both in double precision, where only kernels that are left out make a difference."""
    with jax.enable_x64(True):
        density = jax.tree.map(
            lambda a: jnp.asarray(a, float) if jnp.issubdtype(a.dtype, jnp.floating) else a,
            density,
        )
        rows, numbers = rows.astype(float), np.arange(len(rows))
        expected = log_prob_in_batches(density, rows, numbers, None, KEY, 4096).value
        np.testing.assert_allclose(score(density, rows), expected, atol=1e-6, rtol=0)
    return expected


@pytest.mark.parametrize("name", MANIFOLDS)
def test_an_index_gives_the_sum_of_all_kernels(name, indexed):
    density = shaped_density(MANIFOLDS[name])
    check(density, cluster(MANIFOLDS[name], 500, seed=1))


def test_kernels_with_cells_have_no_index(indexed):
    """Their masses are shared by levels, which is faster."""
    continuous = Product(Sphere(2), PositiveReals())
    for manifold, expected in ((continuous, True), (Product(continuous, Naturals(1)), False)):
        part = shaped_density(manifold, n=40).parts[0]
        assert kernel_density.has_index(part) is expected


def test_few_kernels_are_evaluated(indexed, monkeypatch):
    pairs = []
    tiles = scoring.build_tiles
    monkeypatch.setattr(
        scoring, "build_tiles", lambda lists: pairs.append(sum(map(len, lists))) or tiles(lists)
    )
    density, rows = shaped_density(Sphere(2), n=4000), cluster(Sphere(2), 2000, seed=1)
    score(density, rows)
    assert 0 < sum(pairs) < 0.4 * 4 * 4000 * len(rows) / scoring.MAX_BLOCK_ROWS * 2


@pytest.mark.parametrize("name", ["S²", "SO(3)"])
def test_the_cost_model_counts_the_evaluated_kernels(name, indexed, monkeypatch):
    whole = shaped_density(MANIFOLDS[name], n=2000)
    density = KernelDensity(whole.manifold, whole.parts[:1], whole.log_weights[:1])
    listed, within = [], scoring.within_share

    def record(relative):
        listed.append(within(relative))
        return listed[-1]

    monkeypatch.setattr(scoring, "within_share", record)
    score(density, cluster(density.manifold, 2000, seed=1))
    counted = np.mean([len(numbers) for numbers in listed])
    modelled = count_scored_pairs(density.parts[0], np.asarray(density.log_weights[0]))
    assert 0.5 < modelled / counted < 2
    pair_work = INDEXED_PAIR_RATIO * density.parts[0].pair_work
    assert modelled * pair_work < density.evaluation_work < 2 * modelled * pair_work


def test_a_fitted_density_and_its_background(indexed):
    manifold = Sphere(2)
    density = SPEC.fit(Dataset(cluster(manifold, 700), manifold), key=KEY).density
    check(
        density,
        np.concatenate([cluster(manifold, 300, seed=1), cluster(manifold, 40, seed=2, spread=3.0)]),
    )


def test_rows_far_from_all_kernels(indexed):
    density = shaped_density(Product(PositiveReals(), Torus(1)))
    rows = np.array(cluster(density.manifold, 200, seed=1))
    rows[:20, 0] *= 1e4
    expected = check(density, rows)
    assert expected[:20].max() < expected[20:].min() - 100


def test_weights_over_twelve_orders(indexed):
    weights = 10.0 ** np.random.default_rng(0).uniform(-12, 0, 600)
    check(shaped_density(Sphere(2), weights), cluster(Sphere(2), 500, seed=1))


def test_batches_and_copies_do_not_matter(indexed):
    density, rows = shaped_density(Sphere(2)), cluster(Sphere(2), 300, seed=1)
    whole = score(density, rows)
    np.testing.assert_array_equal(score(density, rows), whole)
    np.testing.assert_array_equal(
        score(density, np.concatenate([rows, rows[::-1]])), [*whole, *whole[::-1]]
    )
    each = [score(density, rows[start : start + 70]) for start in range(0, 300, 70)]
    np.testing.assert_allclose(np.concatenate(each), whole, atol=1e-6, rtol=0)


@pytest.mark.parametrize("length", [1.0, 1 - 1e-6, 1 + 1e-6])
def test_a_kernel_has_no_peak_at_its_antipode(length):
    """There v is π times the first tangent vector, and θ/sin θ is π over the least sine."""
    part = shaped_density(Sphere(2)).parts[0]
    row = np.asarray(part.rows[0])
    peak, antipode = (np.asarray(part.log_terms(jnp.asarray(y)))[0] for y in (row, -length * row))
    v = np.asarray(part.whiten)[0, :, 0] * np.pi
    lost = 0.5 * (v @ v) / np.asarray(part.widths) ** 2 - np.log(np.pi / MIN_SINE)
    np.testing.assert_allclose(peak - antipode, lost, rtol=5e-3)


@pytest.mark.parametrize("factor", [1.0, 10.0], ids=["narrow", "broad"])
@pytest.mark.parametrize("name", MANIFOLDS)
def test_bounds_hold_everywhere(name, factor):
    manifold = MANIFOLDS[name]
    part = shaped_density(manifold).parts[1]
    part = dataclasses.replace(part, widths=factor * part.widths)
    rows = np.concatenate(
        [cluster(manifold, 50, seed=1), cluster(manifold, 50, seed=2, spread=3.0)]
    )
    heights, curvatures = part.term_bounds()
    gaps = part.scaled_embedding(rows)[:, None] - part.centres
    bounds = heights - 0.5 * curvatures * (gaps**2).sum(2)[..., None]
    terms = np.asarray(jax.vmap(part.log_terms)(jnp.asarray(rows)))
    assert (terms <= bounds + 1e-3).all()
    far = terms < heights.max() - 40
    is_pruned = bounds[far] < heights.max() - 20
    assert is_pruned.mean() > 0.6, "bounds that are far above the terms prune nothing"


def test_log_prob_can_be_compiled_and_differentiated():
    density = dataclasses.replace(shaped_density(Torus(2)))
    rows = jnp.asarray(cluster(Torus(2), 5, seed=1))
    slopes = jax.jit(jax.vmap(jax.grad(lambda y: density.log_prob(y).value)))(rows)
    step = 1e-2 * jnp.eye(2)[0]
    ends = [density.log_prob(rows + sign * step).value for sign in (1, -1)]
    np.testing.assert_allclose(slopes[:, 0], (ends[0] - ends[1]) / 2e-2, rtol=0.1, atol=0.5)
