"""Kernels evaluated without those that are too far away to matter."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from foliax.density import Dataset
from foliax.density.batches import log_prob_in_batches, pad_to_power_of_two
from foliax.estimators import LocalKernel, ScaleMixtureKernel
from foliax.estimators.kernel import density as kernel_density
from foliax.estimators.kernel import pruning
from foliax.estimators.kernel.components import ScaleKernels
from foliax.estimators.kernel.data import DistinctRows, fraction_within, merge_nearby_rows
from foliax.estimators.kernel.neighbours import local_kernels
from foliax.estimators.kernel.pruning import (
    BlockIndex,
    evaluate,
    evaluate_parts,
    evaluate_pruned,
    group_by_bandwidth,
    split_into_blocks,
)
from foliax.estimators.kernel.shapes import Tangents
from foliax.estimators.kernel.space import Space
from foliax.evaluation import metrics
from foliax.manifolds import (
    Euclidean,
    Naturals,
    Orientations,
    PositiveReals,
    Product,
    Rounded,
    SpecialOrthogonal,
    Sphere,
    Torus,
)

from .test_scale_mixture import cluster

KEY = jax.random.key(0)
SHARP = ScaleMixtureKernel(largest=3000.0, min_gain=0.0)
SPECS = {
    "scale": SHARP,
    "local": LocalKernel((4, 16), (0.3, 1.0), SHARP, folds=2),
}
MANIFOLDS = {
    "S²": Sphere(2),
    "T³": Torus(3),
    "SO(3)": SpecialOrthogonal(3),
    "hexagonal": Orientations("622"),
    "R × S²": Product(Euclidean(1), Sphere(2)),
    "mixed": Product(Sphere(2), PositiveReals(), Naturals(1)),
    "counts": Naturals(2),
}


@pytest.fixture
def always(monkeypatch):
    """Prune even where it does not pay."""
    monkeypatch.setattr(pruning, "MIN_PRUNING_WORK", 0)
    monkeypatch.setattr(pruning, "MIN_PRUNED_KERNELS", 0)
    monkeypatch.setattr(kernel_density, "MIN_PRUNING_WORK", 0)
    monkeypatch.setattr(kernel_density, "MIN_INDEXING_WORK", 0)
    monkeypatch.setattr(kernel_density, "MIN_INDEXED_KERNELS", 0)


def queries(manifold, n=300):
    """Some rows near the training rows, some far from them."""
    few = cluster(manifold, n, seed=1)
    return np.concatenate([few, cluster(manifold, 40, seed=2, spread=3.0)])


FAST = [("S²", "scale"), ("S²", "local")]
ALL = [(name, how) for name in MANIFOLDS for how in SPECS]
PAIRS = FAST + [pytest.param(*pair, marks=pytest.mark.slow) for pair in ALL if pair not in FAST]


@pytest.mark.parametrize(("name", "how"), PAIRS)
def test_pruning_does_not_change_the_density(name, how, always):
    manifold = MANIFOLDS[name]
    density = SPECS[how].fit(Dataset(cluster(manifold, 400), manifold), key=KEY).density
    rows = queries(manifold)
    numbers = np.arange(len(rows))
    found = density.log_prob_rows(rows, numbers, key=KEY, batch_size=4096).value
    expected = log_prob_in_batches(density, rows, numbers, None, KEY, 4096).value
    np.testing.assert_allclose(found, expected, atol=2e-5, rtol=2e-6)


def around_the_pole(n):
    rows = np.random.default_rng(0).normal(size=(n, 3)) * 0.05 + [0, 0, 1]
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def test_negligible_kernels_are_pruned(always):
    """Sharp components have no term on the far side of the sphere, except in mixed blocks."""
    space = Space(Sphere(2))
    data = DistinctRows.from_rows(space, around_the_pole(1000), None)
    kernels = ScaleKernels(space, *data[:3], np.array([1.0, 1e5]), np.ones(1))
    rows = np.concatenate([data.rows, -data.rows[:300]])
    found = evaluate_pruned(kernels, rows)
    expected = np.asarray(evaluate(kernels, rows, np.full(len(rows), -1, np.int32)), float)
    assert np.isfinite(found[:, 0]).all()
    left_out = ~np.isfinite(found[:, 1])
    assert left_out[1000:].mean() > 0.3
    assert not left_out[:1000].any()
    assert (expected[left_out, 1] < kernels.log_peaks[1] - 30).all()
    np.testing.assert_allclose(found[~left_out], expected[~left_out], rtol=1e-5, atol=1e-5)


def test_rows_outside_every_cutoff_radius_use_all_kernels(always):
    space = Space(Sphere(2))
    data = DistinctRows.from_rows(space, around_the_pole(300), None)
    parts = [ScaleKernels(space, *data[:3], np.array([k]), np.ones(1)) for k in (1e4, 1e5)]
    far = np.array([[0.0, 0.0, -1.0]], np.float32)
    assert not np.isfinite(evaluate_pruned(parts[0], far)).any()
    nobody = np.full(1, -1, np.int32)
    expected = [np.asarray(evaluate(part, far, nobody), float)[:, 0] for part in parts]
    found = evaluate_parts(parts, far)
    np.testing.assert_allclose(found, np.stack(expected, axis=1), rtol=1e-5)


@eqx.filter_jit
def logs(kernels, y):
    return kernels.log_components(y)


def test_few_rows_have_few_levels():
    """In a column with as many values as rows, a subset of rows keeps only its own values."""
    space = Space(Product(Sphere(2), Rounded(0.001)))
    values = 0.001 * np.random.default_rng(0).permutation(300)[:, None]
    rows = np.concatenate([around_the_pole(300), values], axis=1).astype(np.float32)
    data, relative = DistinctRows.from_rows(space, rows, None), np.ones(2)
    scale = ScaleKernels(space, *data[:3], np.array([1.0, 100.0]), relative)
    (local,) = local_kernels(Tangents(space), data, relative, (8,), (0.5, 1.0))
    chosen = np.arange(0, 300, 10)
    for kernels in (scale, local):
        assert len(kernels.levels[0]) == 512
        some = kernels.subset(chosen, np.ones(30, bool))
        assert len(some.levels[0]) == 32
        wanted = kernels.subset(np.arange(300), np.isin(np.arange(300), chosen))
        for y in rows[:3]:
            found, expected = (logs(part, jnp.asarray(y)) for part in (some, wanted))
            np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_excluded_groups_are_left_out(always):
    rows = cluster(Sphere(2), 200)
    space = Space(Sphere(2))
    data = DistinctRows.from_rows(space, rows, None)
    kernels = ScaleKernels(space, *data[:3], np.array([10.0, 1000.0]), np.ones(1))
    groups = np.asarray(data.groups, np.int32)
    expected = np.asarray(evaluate(kernels, data.rows, groups), float)
    found = evaluate_pruned(kernels, data.rows, data.groups)
    kept = np.isfinite(found)
    np.testing.assert_allclose(found[kept], expected[kept], rtol=1e-5, atol=1e-5)
    assert (expected[~kept] < expected.max(1).min() - 10).all()


def test_an_isolated_row_far_away_has_a_density(always):
    rows = np.concatenate([cluster(Euclidean(1), 300), [[400.0]]]).astype(np.float32)
    density = SHARP.fit(Dataset(rows[:-1], Euclidean(1)), key=KEY).density
    value = density.log_prob_rows(rows, np.arange(301), key=KEY, batch_size=4096).value
    expected = log_prob_in_batches(density, rows, np.arange(301), None, KEY, 4096).value
    assert expected[-1] < np.sort(expected)[1] - 50, "below both levels"
    np.testing.assert_allclose(value, expected, atol=2e-5, rtol=2e-6)


@pytest.mark.parametrize("pilot", [2, 256])
@pytest.mark.parametrize("manifold", [Sphere(2), PositiveReals(), Naturals(1)], ids=str)
def test_a_row_that_is_not_a_number_is_not_hidden(manifold, pilot, always, monkeypatch):
    """The row may or may not be among the pilot rows."""
    monkeypatch.setattr(kernel_density, "MAX_PILOT_ROWS", pilot)
    rows = cluster(manifold, 100)
    density = SHARP.fit(Dataset(rows, manifold), key=KEY).density
    wrong = np.concatenate([rows, np.full((1, manifold.size), np.nan, np.float32)])
    with pytest.raises(FloatingPointError, match="Row 100"):
        metrics.log_prob_once(density, wrong, key=KEY)


def test_blocks_hold_every_point_once_and_are_small():
    points = np.random.default_rng(0).normal(size=(1000, 3))
    found = list(split_into_blocks(points, 100))
    assert sorted(np.concatenate(found)) == list(range(1000))
    assert max(map(len, found)) <= 100
    spread = [np.ptp(points[block], axis=0).max() for block in found]
    assert np.mean(spread) < 0.5 * np.ptp(points, axis=0).max()


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_points_within_their_radii_of_a_box_are_found(size):
    rng = np.random.default_rng(0)
    points, box = rng.normal(size=(500, 3)), rng.uniform(0.2, 0.6, (20, 3))
    reach = rng.uniform(0.0, 1.0, 500)
    found = BlockIndex.build(points, size).within_radii(reach, box)
    gaps = points - np.clip(points, box.min(0), box.max(0))
    expected = np.flatnonzero(np.linalg.norm(gaps, axis=1) <= reach)
    assert sorted(found) == expected.tolist()
    assert 0 < len(expected) < 400
    assert not len(BlockIndex.build(points, size).within_radii(reach, box + 50))


def test_sizes_are_powers_of_two():
    assert [len(pad_to_power_of_two(np.arange(n))) for n in (1, 32, 33, 100)] == [32, 32, 64, 128]
    assert (pad_to_power_of_two(np.arange(5, 40))[35:] == 5).all()


def test_groups_of_bandwidths_are_a_partition():
    bandwidths = np.array([1.0, 0.1, 2.0, 0.2, np.inf])
    assert np.sum(list(group_by_bandwidth(bandwidths)), axis=0).tolist() == [1] * 5
    assert [use.sum() for use in group_by_bandwidth(bandwidths)] == [2, 2, 1]


@pytest.mark.parametrize("name", ["S²", "mixed"])
def test_merged_rows_keep_their_weight_and_place(name):
    space = Space(MANIFOLDS[name])
    data = DistinctRows.from_rows(space, cluster(space.manifold, 2000), None)
    relative = np.ones(space.n_bandwidths)
    few = merge_nearby_rows(space, data, relative, 0.2)
    assert len(few.rows) < len(data.rows) / 2
    assert few.weights.sum() == pytest.approx(data.weights.sum())
    kept, places = (space.scaled_embedding(d.rows, relative, cells=True) for d in (few, data))
    gaps = np.sqrt(((places[:, None] - kept[None]) ** 2).sum(2)).min(1)
    assert gaps.max() <= 0.2 * np.sqrt(places.shape[1])
    assert len(merge_nearby_rows(space, data, relative, 1e-7).rows) == len(data.rows)


def test_rows_near_a_row_are_counted():
    """Of 1000 equally spaced points of a circle, the fraction 0.1/π lies within 0.1."""
    space = Space(Torus(1))
    rows = np.linspace(-np.pi, np.pi, 1000, endpoint=False, dtype=np.float32)[:, None]
    found = fraction_within(space, DistinctRows.from_rows(space, rows, None), np.ones(1), 0.1)
    assert found == pytest.approx(0.1 / np.pi, rel=0.05)
    counts = Space(Naturals(1))
    assert (
        fraction_within(
            counts, DistinctRows.from_rows(counts, [[1.0], [2.0]], None), np.ones(1), 0.1
        )
        == 1
    )


@pytest.mark.parametrize("kappa", [0.5, 1e6])
def test_rows_are_subsampled_only_where_many_are_within_reach(kappa):
    space, spec = Space(Sphere(2)), ScaleMixtureKernel(max_rows=20)
    data = DistinctRows.from_rows(space, cluster(Sphere(2), 1000), None)
    kernels = spec._merged_kernels(space, data, np.ones(1), np.array([kappa, 1e6]))
    assert kernels.n_rows == (1000 if kappa == 1e6 else 100)


@pytest.mark.slow
def test_many_rows_are_fitted_as_well_as_few():
    """Merged kernels score as well as kernels of all rows."""
    rows, test = cluster(Sphere(2), 4000), cluster(Sphere(2), 2000, seed=5)
    whole = SHARP.fit(Dataset(rows, Sphere(2)), key=KEY).density
    spec = ScaleMixtureKernel(largest=3000.0, min_gain=0.0, max_rows=500)
    fitted = spec.fit(Dataset(rows, Sphere(2)), key=KEY)
    assert "carry kernels" in fitted.record.events[-1]
    assert max(len(p.centres) for p in fitted.density.parts) <= 2500
    scores = [metrics.log_prob_once(d, test, key=KEY)[0] for d in (whole, fitted.density)]
    gain = metrics.mean_and_error(scores[1] - scores[0])
    assert gain.value > -0.03 - 3 * gain.error
    mass = metrics.total_mass(fitted.density, key=KEY, near=whole, share=0.9)
    assert abs(mass.value - 1) < 4 * mass.error + 1e-3
