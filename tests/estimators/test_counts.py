"""Large and wide counts: Poisson(1e6) to Poisson(1e12), and log-normal counts to 1e12."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

import foliax
from campaign.cases import poisson, wide_counts
from campaign.truth import measure
from foliax.density import Dataset
from foliax.estimators import LocalKernel, ScaleMixtureKernel
from foliax.estimators.kernel.terms import log_cell
from foliax.estimators.weights import mixture_weights
from foliax.evaluation.mass import total_mass_of_fit
from foliax.flows import GaussianMixture
from foliax.manifolds import check_points
from foliax.manifolds.points import check_points_on_device
from foliax.manifolds.resolution import ResolutionError

KEY = jax.random.key(0)
N = 300
ROWS = 800
CASES = [poisson(1e12), wide_counts(), poisson(1e9)]
FLOW = foliax.DequantizedFlow(
    GaussianMixture(4), training=foliax.Training(steps=60, batch_size=64, eval_every=30)
)


def case_rows(case, n=N):
    return case.sample(np.random.default_rng(0), n).to_numpy(float)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_mass_is_one_and_the_truth_is_near(case):
    found = measure(case, "kernel", rows=ROWS)
    assert not found.refused
    assert found.ok, found.line()


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
@pytest.mark.parametrize("estimator", [LocalKernel(), FLOW], ids=lambda e: type(e).__name__)
def test_other_estimators_have_mass_one(case, estimator):
    rows = case_rows(case)
    density = estimator.fit(Dataset(rows, foliax.Naturals(1)), key=KEY).density
    found = total_mass_of_fit(density, rows, key=KEY)
    assert found is not None
    assert abs(found.value - 1) < 0.005 + 3 * found.error
    assert found.error < 0.05


@pytest.mark.slow
def test_neighbouring_counts_sum_to_the_mass_of_their_interval():
    """Counts around 1e6, whose cells are as narrow as the rounding of their logarithm."""
    rows = case_rows(wide_counts())
    density = ScaleMixtureKernel().fit(Dataset(rows, foliax.Naturals(1)), key=KEY).density
    counts = np.arange(1_000_000, 1_004_000.0)[:, None]
    logs = foliax.evaluate(density, counts).value
    # The density of log n varies slowly, so log p(n) + log(n + ½) is nearly constant.
    smooth = logs + np.log(counts[:, 0] + 0.5)
    assert np.ptp(smooth) < 0.01


def sum_over_cells(density, counts):
    """Sum a smooth probability over all counts of a range, from that of some of them."""
    middles = (counts[1:] + counts[:-1]) / 2
    numbers = np.diff(middles, prepend=counts[0] - 0.5, append=counts[-1] + 0.5)
    return float(np.exp(foliax.evaluate(density, counts[:, None]).value.astype(float)) @ numbers)


@pytest.fixture(
    scope="module",
    params=[wide_counts(), poisson(1e6), poisson(1e12)],
    ids=["log-normal", "1e6", "1e12"],
)
def counted(request):
    """Counts, a density that was fitted to them, and counts that resolve its shape."""
    rows = case_rows(request.param)
    density = ScaleMixtureKernel().fit(Dataset(rows, foliax.Naturals(1)), key=KEY).density
    if rows.std() > rows.mean() / 2:
        far = np.exp(np.linspace(np.log(1e3), np.log(1e25), 3000))
        return rows, density, np.unique(np.round([*np.arange(1000.0), *far]))
    grid = np.linspace(-30, 30, 3001)  # the broadest kernel has a deviation of 1.4
    return rows, density, np.unique(np.round(rows.mean() + rows.std() * grid))


def test_the_mass_of_all_cells_is_one(counted):
    _, density, counts = counted
    assert abs(sum_over_cells(density, counts) - 1) < 1e-3


def test_samples_have_all_their_digits(counted):
    rows, density, _ = counted
    drawn = density.sample(4000, key=KEY)
    assert drawn.dtype == np.float64
    assert (drawn == np.floor(drawn)).all()
    assert (drawn >= 0).all()
    large = drawn[drawn > 2**16]
    # Float32 has only multiples of 2^16 at 1e12, and exp of float32 leaves larger gaps.
    for modulus in (2, 16, 64):
        share, expected = np.mean(large % modulus == 0), 1 / modulus
        assert abs(share - expected) < 4 * np.sqrt(expected / len(large))
    # Samples agree with the density, and those of the same key are the same.
    low, high = np.quantile(rows, [0.25, 0.75])
    inside = np.linspace(low, high, 2001).round()
    inside = np.unique([*inside, *np.exp(np.linspace(np.log(low), np.log(high), 2001)).round()])
    share = np.mean((drawn >= inside[0]) & (drawn <= inside[-1]))
    assert abs(share - sum_over_cells(density, inside)) < 4 * np.sqrt(0.25 / len(drawn))
    np.testing.assert_array_equal(drawn[:50], density.sample(50, key=KEY))


def test_small_counts_keep_their_values_and_digits_are_spread():
    counts = np.array([[0.0, 1.0, 7.0, 1e5]])
    for noise in (0.0, 0.5, 1 - 2.0**-53):
        found = foliax.Naturals(4).restore_digits(counts, np.full((1, 4), noise))
        np.testing.assert_array_equal(found, counts)
    noise = np.linspace(0, 1, 10_001)[:-1, None]
    found = foliax.Naturals(1).restore_digits(np.full((10_000, 1), 1e12), noise)
    step = 1e12 * float(np.spacing(np.float32(np.log(1e12))))
    assert abs(np.ptp(found) / step - 1) < 1e-3
    assert abs(found.mean() - 1e12) < 1e-3 * step
    joint = foliax.Product(foliax.Sphere(2), foliax.Naturals(1))
    assert joint.rounds_samples
    assert not foliax.Sphere(2).rounds_samples
    points = np.array([[0.0, 0, 1, 1e12]])
    found = joint.restore_digits(points, np.zeros((1, 4)))
    np.testing.assert_array_equal(found[:, :3], points[:, :3])
    assert abs(found[0, 3] - 1e12 + step / 2) < 2


@pytest.mark.slow
def test_flows_of_counts_have_all_their_digits():
    rows = case_rows(wide_counts())
    density = FLOW.fit(Dataset(rows, foliax.Naturals(1)), key=KEY).density
    drawn = density.sample(1000, key=KEY)
    large = drawn[drawn > 2**24]
    assert (large == np.floor(large)).all()
    assert abs(np.mean(large % 2) - 0.5) < 4 * np.sqrt(0.25 / len(large))


@pytest.mark.slow
def test_scores_beyond_the_rows_are_finite():
    for case in CASES:
        rows = case_rows(case)
        density = ScaleMixtureKernel().fit(Dataset(rows, foliax.Naturals(1)), key=KEY).density
        beyond = np.array([[0.0], [1.0], [rows.max() * 1.5], [rows.max() * 1e3]])
        assert np.isfinite(foliax.evaluate(density, np.round(beyond)).value).all()


@pytest.mark.slow
def test_a_mixed_table():
    rng = np.random.default_rng(1)
    points = rng.normal(size=(N, 3)) + np.array([0, 0, 2])
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    manifold = foliax.Product(foliax.Sphere(2), foliax.Naturals(1))
    for case in CASES[1:]:
        rows = np.concatenate([points, case_rows(case)], axis=1)
        density = ScaleMixtureKernel().fit(Dataset(rows, manifold), key=KEY).density
        found = total_mass_of_fit(density, rows, key=KEY)
        assert found is not None
        assert abs(found.value - 1) < 0.005 + 3 * found.error
        assert found.error < 0.05


def test_whole_numbers_of_every_size_are_counts():
    counts = np.array([[0.0], [2.0**23 + 1], [12957705.0], [2.0**24 + 2], [1e12]])
    check_points(foliax.Naturals(1), counts)
    check_points_on_device(foliax.Naturals(1), counts)
    on_device = jnp.asarray(counts, jnp.float32)
    np.testing.assert_array_equal(jax.vmap(foliax.Naturals(1).project)(on_device), on_device)
    with pytest.raises(ValueError, match="not a whole number"):
        check_points(foliax.Naturals(1), counts + 0.25)


def test_counts_that_float32_cannot_tell_apart_are_refused():
    counts = 1e15 + np.round(1e9 * np.random.default_rng(0).normal(size=(N, 1)))
    with pytest.raises(ResolutionError, match="single precision resolves"):
        ScaleMixtureKernel().fit(Dataset(counts, foliax.Naturals(1)), key=KEY)


def test_cells_narrower_than_the_rounding_of_their_ends():
    width = np.log1p(1 / np.array([1e3, 1e5, 1e7, 1e9, 1e12]))
    ends = jnp.full((5, 2), 0.01, jnp.float32)
    for kappa in (1e-2, 1.0, 1e4):
        found = log_cell(ends, jnp.float32(kappa), jnp.asarray(width, jnp.float32))
        exact = stats.norm.logpdf(0.01 * np.sqrt(kappa)) + np.log(width * np.sqrt(kappa))
        np.testing.assert_allclose(found, exact, atol=1e-3)  # the density varies within 1e-3


def test_only_a_row_without_density_is_said_to_be_far():
    scores = np.zeros((3, 2))
    scores[1] = np.nan
    with pytest.raises(FloatingPointError, match="Row 1 has a log density of nan"):
        mixture_weights(scores, np.ones(3))
    scores[1] = -np.inf
    with pytest.raises(FloatingPointError, match="too far from all other rows"):
        mixture_weights(scores, np.ones(3))
