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
from foliax.density.localized import LocalizedDensity
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


@pytest.mark.slow
def test_samples_are_whole_and_scores_beyond_the_rows_are_finite():
    for case in CASES:
        rows = case_rows(case)
        density = ScaleMixtureKernel().fit(Dataset(rows, foliax.Naturals(1)), key=KEY).density
        drawn = density.sample(200, key=KEY)
        # Densities without local coordinates still return float32: log-normal counts do.
        if isinstance(density, LocalizedDensity):
            assert drawn.dtype == np.float64
        assert np.isfinite(drawn).all()
        assert (drawn == np.floor(drawn)).all()
        assert (drawn >= 0).all()
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
