"""The scale-mixture and local kernels on every kind of manifold."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from foliax.density import Dataset, LocalizedDensity
from foliax.estimators import (
    KernelDensity,
    LocalKernel,
    ScaleMixtureKernel,
    UnsupportedManifoldError,
)
from foliax.estimators.kernel import bandwidths, mixing
from foliax.estimators.kernel.components import ScaleKernels
from foliax.estimators.kernel.data import DistinctRows
from foliax.estimators.kernel.local import MIN_STRATUM_ROWS, density_strata
from foliax.estimators.kernel.mixing import prune_components
from foliax.estimators.kernel.neighbours import local_kernels
from foliax.estimators.kernel.shapes import Tangents
from foliax.estimators.kernel.space import Space
from foliax.estimators.kernel.terms import log_cell, sample_row
from foliax.evaluation import metrics
from foliax.manifolds import (
    Circle,
    Euclidean,
    Integers,
    Interval,
    Naturals,
    Orientations,
    PositiveReals,
    Product,
    ProjectiveSpace,
    Rounded,
    SpecialOrthogonal,
    Sphere,
    Stiefel,
    Torus,
)
from foliax.paper import targets

from ..agreement import agrees

KEY = jax.random.key(0)
# No minimum gain, so that several scales stay although few rows need only one.
COARSE = ScaleMixtureKernel(largest=600.0, min_gain=0.0)
SHAPED = LocalKernel((8, 24), (0.5, 1.0), COARSE, folds=5)


def cluster(manifold, n, seed=0, spread=0.25):
    """Rows around a few points, by steps in the ambient space."""
    rng = np.random.default_rng(seed)
    g = manifold.dequantization()
    centres = rng.normal(size=(4, g.ambient_dim)) * 1.5
    x = centres[rng.integers(4, size=n)] + spread * rng.normal(size=(n, g.ambient_dim))
    y = jax.vmap(g.quantize)(jnp.asarray(x, jnp.float32))[0]
    return np.asarray(jax.vmap(manifold.project)(y))


FINITE = {
    "S¹": Sphere(1),
    "S²": Sphere(2),
    "S³": Sphere(3),
    "T²": Torus(2),
    "SO(3)": SpecialOrthogonal(3),
    "axes": ProjectiveSpace(2),
    "hexagonal": Orientations("622"),
    "S² × T¹": Product(Sphere(2), Torus(1)),
}
SPECS = {"scale": COARSE, "local": SHAPED}


def heaviest(density):
    """The component of the largest weight π, normalised; its ratio to the density is ≤ 1/π."""
    if isinstance(density, LocalizedDensity):
        return density.with_density(heaviest(density.density))
    part = int(np.argmax([float(w.max()) for w in density.log_weights]))
    use = np.zeros(len(density.log_weights[part]), bool)
    use[int(jnp.argmax(density.log_weights[part]))] = True
    return KernelDensity(density.manifold, (density.parts[part].select(use),), (jnp.zeros(1),))


MANIFOLDS = {
    **FINITE,
    "R²": Euclidean(2),
    "positives": PositiveReals(1),
    "interval": Interval(-1.0, 2.0),
    "R × S²": Product(Euclidean(1), Sphere(2)),
    "S¹ × Z": Product(Sphere(1), Integers(1)),
}


FAST = [("S²", "scale"), ("axes", "scale"), ("R × S²", "local")]
ALL = [(name, kind) for name in MANIFOLDS for kind in SPECS]
PAIRS = FAST + [pytest.param(*p, marks=pytest.mark.slow) for p in ALL if p not in FAST]


@pytest.mark.parametrize(("name", "kind"), PAIRS)
def test_samples_are_those_of_the_log_densities(name, kind):
    manifold, spec = MANIFOLDS[name], SPECS[kind]
    density = spec.fit(Dataset(cluster(manifold, 40), manifold), key=KEY).density
    agrees(density, heaviest(density), 2000, error=0.05)


@pytest.mark.parametrize(("name", "kind"), [("S²", "local"), ("SO(3)", "scale")])
def test_mass(name, kind):
    spec = SPECS[kind]
    manifold = FINITE[name]
    density = spec.fit(Dataset(cluster(manifold, 40), manifold), key=KEY).density
    mass = metrics.total_mass(density, 4000, key=KEY, near=heaviest(density), share=0.9)
    assert mass.error < 0.03
    assert abs(mass.value - 1) < 4 * mass.error, mass


COUNTS = {"integers": Integers(1), "naturals": Naturals(1), "rounded": Rounded(0.1)}


@pytest.mark.parametrize("name", COUNTS)
def test_pmf_sums_to_one_and_matches_its_samples(name):
    manifold = COUNTS[name]
    rng = np.random.default_rng(1)
    step = 0.1 if name == "rounded" else 1.0
    rows = step * rng.poisson(6.0, size=(400, 1)).astype(float)
    density = COARSE.fit(Dataset(rows, manifold), key=KEY).density
    shaped = SHAPED.fit(Dataset(rows, manifold), key=KEY).density
    assert eqx.tree_equal(shaped, density)
    start = 0 if name == "naturals" else -60
    values = step * np.arange(start, 4000 if name == "naturals" else 140)[:, None]
    value, _ = metrics.log_prob_once(density, values.astype(np.float32), key=KEY)
    pmf = np.exp(value)
    assert pmf.sum() == pytest.approx(1, abs=1e-3)
    drawn = np.round(density.sample(20_000, key=KEY)[:, 0] / step).astype(int)
    counted = np.bincount(drawn - start, minlength=len(pmf))[: len(pmf)] / len(drawn)
    error = np.sqrt(pmf * (1 - pmf) / len(drawn))
    assert (np.abs(counted - pmf) < 5 * error + 1e-4).all()
    truth = stats.poisson(6.0).pmf(np.round(values[:, 0] / step))
    assert np.abs(pmf - truth).sum() < 0.2


def test_a_wrong_normaliser_is_seen():
    density = COARSE.fit(Dataset(cluster(Sphere(2), 60), Sphere(2)), key=KEY).density
    wrong = KernelDensity(
        density.manifold, density.parts, tuple(w + np.log(1.1) for w in density.log_weights)
    )
    with pytest.raises(AssertionError):
        agrees(wrong, heaviest(density), 2000, error=0.05)


def test_the_kernel_is_von_mises_fisher_also_when_sharp():
    mean = np.array([0.6, 0.0, 0.8], np.float32)
    for kappa in (10.0, 1e4, 1e8):
        kernels = ScaleKernels(
            Space(Sphere(2)), mean[None], np.ones(1), np.zeros(1), np.array([kappa]), np.ones(1)
        )
        y = mean + np.array([0.8, 0.0, -0.6]) / np.sqrt(kappa)
        y = (y / np.linalg.norm(y)).astype(np.float32)
        squared = ((y.astype(float) - mean.astype(float)) ** 2).sum()
        exact = -0.5 * kappa * squared + np.log(kappa / (2 * np.pi)) - np.log(-np.expm1(-2 * kappa))
        assert float(kernels.log_components(jnp.asarray(y))[0]) == pytest.approx(exact, abs=2e-3)


def test_copies_cannot_drive_the_likelihood():
    rows = cluster(Sphere(2), 100)
    alone = ScaleMixtureKernel().fit(Dataset(rows, Sphere(2)), key=KEY)
    copied = ScaleMixtureKernel().fit(Dataset(np.repeat(rows, 5, axis=0), Sphere(2)), key=KEY)
    y = cluster(Sphere(2), 50, seed=0)[:50]
    a, _ = metrics.log_prob_once(alone.density, y, key=KEY)
    b, _ = metrics.log_prob_once(copied.density, y, key=KEY)
    np.testing.assert_allclose(a, b, atol=1e-4)


def test_weights_are_copies():
    """For counts, where one copy is left out at a time, weight 3 is three copies of a row."""
    rows = np.array([[1.0], [2.0], [4.0], [7.0]])
    repeats = np.array([3, 1, 2, 5])
    one = COARSE.fit(Dataset(rows, Integers(1), weights=repeats.astype(float)), key=KEY).density
    other = COARSE.fit(Dataset(np.repeat(rows, repeats, axis=0), Integers(1)), key=KEY).density
    values = np.arange(-3.0, 12.0, dtype=np.float32)[:, None]
    a, _ = metrics.log_prob_once(one, values, key=KEY)
    b, _ = metrics.log_prob_once(other, values, key=KEY)
    np.testing.assert_allclose(a, b, atol=1e-4)


def test_beyond_max_rows_held_out_rows_fit_the_weights():
    spec = dataclasses.replace(COARSE, max_rows=100)
    fitted = spec.fit(Dataset(cluster(Sphere(2), 300), Sphere(2)), key=KEY)
    assert any("60 held-out rows fitted the weights" in event for event in fitted.record.events)
    sizes = [len(part.rows) for part in fitted.density.parts if isinstance(part, ScaleKernels)]
    assert sizes == sorted(sizes), "broad kernels have fewer rows"
    assert 1 <= sizes[0] < sizes[-1] <= 300


@pytest.mark.parametrize("cheap", [0, 50])
def test_slow_components_of_small_weight_are_pruned(cheap, monkeypatch):
    """Each of the first two fits one row a little better; the first has few kernels."""
    monkeypatch.setattr(mixing, "MAX_CHEAP_KERNELS", cheap)
    space = Space(Sphere(2))
    data = DistinctRows.from_rows(space, cluster(Sphere(2), 200), None)
    parts = [
        ScaleKernels(space, *data.take(np.arange(n))[:3], np.array([kappa]), np.ones(1))
        for n, kappa in ((50, 10.0), (100, 30.0), (200, 1.0))
    ]
    scores = np.tile([0.5, 0.5, 1.0], (200, 1))
    scores[0, 0] = scores[1, 1] = 6.0
    shares, _ = prune_components(parts, np.array([0.006, 0.006, 0.988]), scores, data, 5.0)
    assert (shares > 1e-4).tolist() == [cheap > 0, False, True]
    scores[:40, 1] = 9.0
    shares, best = prune_components(parts, np.array([0.006, 0.2, 0.794]), scores, data, 5.0)
    assert shares[1] > 0.1
    assert best > 2, "components that gain stay"
    shares, _ = prune_components(parts[::-1], np.array([0.006, 0.2, 0.794]), scores, data, 1e9)
    assert shares[0] > 0, "the broadest stays"


def test_components_that_gain_nothing_are_left_out(monkeypatch):
    """Fewer components lose at most one nat of the total log-likelihood."""
    monkeypatch.setattr(mixing, "MAX_CHEAP_KERNELS", 0)
    rows, found = cluster(Sphere(2), 300), {}
    scales = ScaleMixtureKernel(largest=600.0)
    spec = LocalKernel((6, 12, 24), (0.4, 0.7, 1.2), scales, folds=3)
    for min_gain in (0.0, 1.0):
        monkeypatch.setattr(mixing, "MIN_GAIN_NATS", min_gain)
        fitted = spec.fit(Dataset(rows, Sphere(2)), key=KEY)
        count = sum(len(logs) for logs in fitted.density.log_weights)
        found[min_gain] = count, fitted.record.best_validation
    assert found[1.0][0] < found[0.0][0]
    assert found[1.0][1] - found[0.0][1] <= 1 / 300 + 1e-4


def test_one_row_beyond_max_rows_changes_little():
    rows, test = np.split(cluster(Sphere(2), 701), [201])
    few, many = (
        dataclasses.replace(COARSE, max_rows=most).fit(Dataset(rows, Sphere(2)), key=KEY).density
        for most in (201, 200)
    )
    a, b = (metrics.log_prob_once(density, test, key=KEY)[0] for density in (few, many))
    assert metrics.mean_and_error(b - a).value > -0.1


def test_shapes_help_along_a_line():
    """Rows along a great circle: kernels that lie along it beat round ones."""
    rng = np.random.default_rng(0)
    angle, off = rng.uniform(0, 2 * np.pi, 400), 0.01 * rng.normal(size=400)
    rows = np.stack([np.cos(angle), np.sin(angle), off], 1)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    scale = ScaleMixtureKernel().fit(Dataset(rows[:300], Sphere(2)), key=KEY).density
    local = LocalKernel().fit(Dataset(rows[:300], Sphere(2)), key=KEY).density
    a, _ = metrics.log_prob_once(scale, rows[300:].astype(np.float32), key=KEY)
    b, _ = metrics.log_prob_once(local, rows[300:].astype(np.float32), key=KEY)
    gain = metrics.mean_and_error(b - a)
    assert gain.value > 3 * gain.error


@pytest.mark.parametrize("spec", SPECS.values(), ids=SPECS)
@pytest.mark.slow
def test_it_learns_a_mixed_table(spec):
    """Dependent columns: the joint kernel beats the product of its columns' kernels."""
    rng = np.random.default_rng(0)
    target = targets.sphere_s2()
    where = target.sample(300, key=KEY)
    count = rng.poisson(np.exp(2 + 2 * where[:, 2]))
    rows = np.column_stack([where, count]).astype(np.float32)
    joint = spec.fit(Dataset(rows[:240], Product(Sphere(2), Naturals(1))), key=KEY).density
    first = spec.fit(Dataset(rows[:240, :3], Sphere(2)), key=KEY).density
    second = spec.fit(Dataset(rows[:240, 3:], Naturals(1)), key=KEY).density
    a, _ = metrics.log_prob_once(joint, rows[240:], key=KEY)
    b = metrics.log_prob_once(first, rows[240:, :3], key=KEY)[0]
    b += metrics.log_prob_once(second, rows[240:, 3:], key=KEY)[0]
    gain = metrics.mean_and_error(a - b)
    assert gain.value > 3 * gain.error, gain


@pytest.mark.slow
def test_ratios_of_bandwidths_are_found_by_rows_with_neighbours(monkeypatch):
    """Many small groups, sharp in place, broad in hour and size: a small subsample shows none."""
    rng = np.random.default_rng(0)
    group = rng.integers(700, size=4000)
    place = rng.normal(size=(700, 3))[group]
    place = place / np.linalg.norm(place, axis=1, keepdims=True) + 0.01 * rng.normal(size=(4000, 3))
    place /= np.linalg.norm(place, axis=1, keepdims=True)
    hour = rng.uniform(-np.pi, np.pi, 4000)
    size = np.exp(0.3 * rng.normal(size=4000) + group % 60 / 20)
    rows = np.column_stack([place, hour, size]).astype(np.float32)
    manifold = Product(Sphere(2), Circle(), PositiveReals())

    def held_out():
        spec = ScaleMixtureKernel(largest=5e5, ratio=4.0)
        return -spec.fit(Dataset(rows, manifold), key=KEY).record.best_validation

    found = held_out()
    monkeypatch.setattr(bandwidths, "SEARCH_ROUNDS", bandwidths.SEARCH_ROUNDS[:1])
    assert found > held_out() + 0.05


def test_only_selected_concentrations_are_tried_on_all_rows(monkeypatch):
    """Fewer of them score as well. With few rows all are kept, because kernels are cheap."""
    rows, spec = cluster(Torus(2), 300), ScaleMixtureKernel(largest=1e6)
    space, kappas = Space(Torus(2)), spec.kappas()
    data, ratios = DistinctRows.from_rows(space, rows, None), np.ones(2)
    assert len(bandwidths.select_concentrations(space, data, ratios, kappas, KEY)) == len(kappas)
    expected = spec.fit(Dataset(rows, Torus(2)), key=KEY).record.best_validation
    monkeypatch.setattr(bandwidths, "SELECTION_ROWS", 70)
    assert len(bandwidths.select_concentrations(space, data, ratios, kappas, KEY)) < len(kappas) / 2
    found = spec.fit(Dataset(rows, Torus(2)), key=KEY).record.best_validation
    # Dropping sharp components and components of small weight may cost this much.
    assert found == pytest.approx(expected, abs=(spec.min_gain + mixing.MIN_GAIN_NATS) / len(rows))


def test_refusals_and_bad_input():
    with pytest.raises(UnsupportedManifoldError, match="no kernel for Stiefel"):
        COARSE.fit(Dataset(np.eye(3, 2).reshape(1, -1), Stiefel(3, 2)), key=KEY)
    with pytest.raises(UnsupportedManifoldError, match=r"known for SO\(3\), not for SO\(4\)"):
        SHAPED.fit(Dataset(np.eye(4).reshape(1, -1), SpecialOrthogonal(4)), key=KEY)
    with pytest.raises(ValueError, match="at least 2 distinct rows"):
        COARSE.fit(Dataset(np.array([[1.0, 0.0], [1.0, 0.0]]), Sphere(1)), key=KEY)
    with pytest.raises(ValueError, match="non-negative"):
        COARSE.fit(Dataset(np.eye(2), Sphere(1), weights=[1.0, -1.0]), key=KEY)
    with pytest.raises(ValueError, match="smallest < largest"):
        ScaleMixtureKernel(smallest=2.0, largest=1.0)
    with pytest.raises(ValueError, match="ratio"):
        ScaleMixtureKernel(ratio=1.0)


def test_cells_of_any_width():
    kappas = np.array([1e-8, 1e-4, 1.0, 1e4])
    for kappa in kappas:
        ends = np.array([[-0.5, 0.5], [0.5, 1.5], [-3.0, -2.0], [-np.inf, 0.3]])
        sd = 1 / np.sqrt(kappa)
        low, high = stats.norm.cdf(ends / sd).T
        tail_low, tail_high = stats.norm.sf(ends / sd).T
        exact = np.where(ends.sum(1) > 0, tail_low - tail_high, high - low)
        found = log_cell(jnp.asarray(ends, jnp.float32), jnp.asarray(kappa, jnp.float32))
        seen = exact > 1e-30
        np.testing.assert_allclose(np.exp(np.asarray(found, float))[seen], exact[seen], rtol=2e-4)


def sharpest(spec, rows):
    density = spec.fit(Dataset(rows, Circle()), key=KEY).density
    return min(part.bandwidths.min() for part in density.parts)


def test_rows_near_each_other_by_chance_make_no_spikes():
    """Some of 400 uniform angles are close by chance; twins are close on purpose."""
    rows = np.random.default_rng(0).uniform(-np.pi, np.pi, (400, 1)).astype(np.float32)
    assert sharpest(ScaleMixtureKernel(), rows) > 0.1
    assert sharpest(ScaleMixtureKernel(min_gain=0.0), rows) < 0.01
    twins = np.concatenate([rows, rows + 1e-3])
    assert sharpest(ScaleMixtureKernel(), twins) < 0.01


def test_copies_count_as_rows_when_components_are_judged():
    """With few values and many rows, broad kernels alone would triple the variance.

    A hundredth of the mass belongs to the broadest kernels, and adds a quarter.
    """
    rows = np.random.default_rng(0).poisson(1.0, (5000, 1)).astype(np.float32)
    density = ScaleMixtureKernel().fit(Dataset(rows, Naturals(1)), key=KEY).density
    values = np.arange(40.0, dtype=np.float32)[:, None]
    p = np.exp(metrics.log_prob_once(density, values, key=KEY)[0])
    mean = p @ values[:, 0]
    assert p @ (values[:, 0] - mean) ** 2 == pytest.approx(rows.var(), rel=0.3)


def test_concentrations_end_where_asked():
    assert np.allclose(ScaleMixtureKernel(10.0, 1e8, ratio=10.0).kappas(), 10.0 ** np.arange(1, 9))
    assert len(ScaleMixtureKernel(1.0, 1024.0).kappas()) == 11


@pytest.mark.parametrize("name", ["S²", "axes"])
def test_strata_add_up_to_all_rows(name):
    """The kernels of the strata, weighted by their sizes, are the kernels of all rows."""
    manifold = FINITE[name]
    tangents, relative = Tangents(Space(manifold)), np.ones(1)
    data = DistinctRows.from_rows(tangents.space, cluster(manifold, 3 * MIN_STRATUM_ROWS + 1), None)
    found = density_strata(tangents.space, data, relative, 3)
    assert [len(part) for part in found] == [
        MIN_STRATUM_ROWS + 1,
        MIN_STRATUM_ROWS,
        MIN_STRATUM_ROWS,
    ]
    assert sorted(np.concatenate(found)) == list(range(len(data.rows)))
    (whole,) = local_kernels(tangents, data, relative, (8,), (0.5, 1.0))
    images = len(whole.rows) // len(data.rows)
    y = jnp.asarray(data.rows[0])
    logs = [
        np.log(len(part) / len(data.rows))
        + whole.take((part[:, None] * images + np.arange(images)).reshape(-1)).log_components(y)
        for part in found
    ]
    expected = whole.log_components(y)
    assert np.allclose(jax.nn.logsumexp(jnp.stack(logs), axis=0), expected, atol=1e-4)
    # The first stratum is the densest.
    gaps = [np.linalg.norm(data.rows[p][:, None] - data.rows[p][None], axis=2) for p in found]
    near = [np.sort(gap, axis=1)[:, 1].mean() for gap in gaps]
    assert near[0] < near[2]


@pytest.mark.parametrize("n", [2 * MIN_STRATUM_ROWS + 20, 3 * MIN_STRATUM_ROWS])
def test_a_fold_has_as_many_strata_as_all_rows(n):
    """A tenth fewer rows would have one stratum fewer."""
    spec = LocalKernel((4,), (1.0,), ScaleMixtureKernel(largest=4.0), folds=10)
    fitted = spec.fit(Dataset(cluster(Sphere(2), n), Sphere(2)), key=KEY)
    assert np.isfinite(fitted.record.best_validation)


@pytest.mark.parametrize("n", [1, 2, 10, 17])
def test_rows_are_drawn_by_their_weights(n):
    weights = np.random.default_rng(0).dirichlet(np.ones(n))
    keys = jax.random.split(KEY, 20_000)
    found = jax.vmap(lambda key: sample_row(jnp.log(jnp.asarray(weights)), key=key))(keys)
    counts = np.bincount(found, minlength=n)
    assert len(counts) == n
    error = np.sqrt(20_000 * weights * (1 - weights))
    assert (np.abs(counts - 20_000 * weights) <= 4 * error + 1e-6).all()


@pytest.mark.slow
def test_few_rows_are_one_stratum():
    data = DistinctRows.from_rows(
        Space(Sphere(2)), cluster(Sphere(2), 2 * MIN_STRATUM_ROWS - 1), None
    )
    found = (
        LocalKernel(neighbours=(3,), folds=2).fit(Dataset(data.rows, Sphere(2)), key=KEY).density
    )
    assert sum(isinstance(part, ScaleKernels) for part in found.parts) <= 1
    with pytest.raises(ValueError, match="strata"):
        LocalKernel(strata=0)
