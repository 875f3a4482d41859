"""scikit-learn's face, by scikit-learn's own checks."""

import pickle

import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from foliax.dequantizers import HeavyTailed
from foliax.estimators import DequantizedFlow, ScaleMixtureKernel
from foliax.flows import GaussianMixture
from foliax.io import model_file
from foliax.manifolds import Circle, OffManifoldError, Sphere
from foliax.sklearn import DensityEstimator
from foliax.training import Training

from .small import SPEC

RANDOM = np.random.default_rng(0)
ANGLES = RANDOM.vonmises(0.0, 4.0, (40, 1))
PLACES = pd.DataFrame({"lat": RANDOM.normal(-20, 5, 40), "lon": RANDOM.normal(180, 5, 40)})
SCHEMA = "sphere(lat=lat, lon=lon)"
# A flow of little training, beside the default, for the checks are of the estimator.
QUICK = DequantizedFlow(
    GaussianMixture(1),
    HeavyTailed(2),
    training=Training(steps=2, eval_every=2, batch_size=8),
    validation_fraction=0.0,
)
EXPECTED_TO_FAIL = {
    "check_methods_subset_invariance": "float32: batches of other sizes differ by 2e-7",
}


@pytest.mark.slow
@parametrize_with_checks(
    [DensityEstimator(), DensityEstimator(model=QUICK)],
    expected_failed_checks=lambda estimator: EXPECTED_TO_FAIL,
)
def test_scikit_learns_checks(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def circle():
    return DensityEstimator(Circle(), model="kernel").fit(ANGLES)


@pytest.fixture(scope="module")
def places():
    return DensityEstimator(schema=SCHEMA, model="kernel").fit(PLACES)


def test_log_densities_integrate_to_one(circle):
    grid = np.linspace(-np.pi, np.pi, 400, endpoint=False)[:, None]
    value, error = circle.log_prob(grid, return_std=True)
    assert np.exp(value).mean() * 2 * np.pi == pytest.approx(1, abs=1e-3)
    assert (error == 0).all()
    assert circle.score(grid) == pytest.approx(value.mean())


def test_samples_and_typicality(circle):
    drawn = circle.sample(500, random_state=1)
    assert drawn.shape == (500, 1)
    typical = circle.typicality(drawn, n_samples=500)
    # Uniform under the model: its mean is 1/2 within 4 standard errors of two samples of 500.
    assert abs(typical.mean() - 0.5) < 4 * np.sqrt(2 / 12 / 500)
    assert circle.typicality(np.array([[0.0]]))[0] > 0.8


def test_modes_are_where_the_density_is_high(circle):
    modes = circle.modes(n_samples=400)
    best = circle.score_samples(np.linspace(-3, 3, 300)[:, None]).max()
    assert circle.score_samples(modes[:1])[0] > best - 0.01


def test_tables_come_and_go_in_the_users_units(places):
    assert places.measure_.label == "per steradian"
    assert list(places.feature_names_in_) == ["lat", "lon"]
    drawn = places.sample(20, random_state=0)
    assert list(drawn.columns) == ["lat", "lon"]
    # Longitudes past 180 stay so; a hundredth of the draws are uniform.
    assert drawn["lon"].between(0, 360).all()
    assert drawn["lon"].between(90, 270).mean() >= 0.9
    np.testing.assert_allclose(
        places.score_samples(PLACES), places.score_samples(PLACES.to_numpy()), rtol=1e-6
    )
    assert list(places.modes(n_samples=200).columns) == ["lat", "lon"]


def test_plot_writes_a_file(circle, tmp_path):
    circle.plot(ANGLES, path=tmp_path / "circle.png")
    assert (tmp_path / "circle.png").stat().st_size > 1000


@pytest.mark.parametrize("model", ["kernel", pytest.param(SPEC, marks=pytest.mark.slow)])
def test_pickles_keep_the_density(model):
    fitted = DensityEstimator(Circle(), model=model).fit(ANGLES)
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(fitted.score_samples(ANGLES), again.score_samples(ANGLES))


def test_clones_are_unfitted(circle):
    with pytest.raises(NotFittedError):
        clone(circle).score_samples(ANGLES)


def test_off_the_manifold_is_an_error_unless_projected():
    rows = RANDOM.normal(size=(30, 3))
    with pytest.raises(OffManifoldError, match="Row 0"):
        DensityEstimator(Sphere(2), model="kernel").fit(rows)
    fitted = DensityEstimator(Sphere(2), model="kernel", project=True).fit(rows)
    assert np.isfinite(fitted.score_samples(rows)).all()


def test_manifold_and_schema_exclude_each_other():
    with pytest.raises(ValueError, match="not both"):
        DensityEstimator(Sphere(2), SCHEMA).fit(PLACES)


def test_weights_move_the_density(circle):
    near = DensityEstimator(Circle(), model="kernel").fit(
        ANGLES, sample_weight=(ANGLES[:, 0] > 0).astype(float)
    )
    assert near.score_samples([[-0.5]])[0] < circle.score_samples([[-0.5]])[0]


def test_groups_and_blocks_are_left_out_as_a_whole(circle):
    """With every row in two groups of copies, leave-one-row-out would see each row again."""
    rows = np.concatenate([ANGLES, ANGLES + 1e-4])
    groups = np.tile(np.arange(len(ANGLES)), 2)
    spec = ScaleMixtureKernel(largest=1e6)
    alone = DensityEstimator(Circle(), model=spec).fit(rows)
    grouped = DensityEstimator(Circle(), model=spec).fit(rows, groups=groups)
    assert grouped.record_.best_validation > alone.record_.best_validation + 1
    order = np.argsort(groups, kind="stable")
    in_blocks = DensityEstimator(Circle(), model=spec, blocks=len(ANGLES)).fit(rows[order])
    assert in_blocks.record_.best_validation == pytest.approx(grouped.record_.best_validation)
    weights = np.ones(len(rows))
    weights[0] = 0
    DensityEstimator(Circle(), model=spec).fit(rows, sample_weight=weights, groups=groups)
    with pytest.raises(ValueError, match="block labels of shape"):
        DensityEstimator(Circle(), model=spec).fit(rows, groups=groups[1:])


def test_grid_search_cross_validation_and_pipelines():
    kernels = [ScaleMixtureKernel(largest=k) for k in (1.0, 1e4)]
    search = GridSearchCV(DensityEstimator(Circle()), {"model": kernels}, cv=2).fit(ANGLES)
    assert search.best_params_["model"] == kernels[1]
    assert np.isfinite(cross_val_score(search.best_estimator_, ANGLES, cv=2)).all()
    piped = make_pipeline(StandardScaler(), DensityEstimator(model=QUICK)).fit(ANGLES)
    assert np.isfinite(piped.score(ANGLES))


def test_points_may_be_jax_arrays(circle):
    assert np.isfinite(circle.score_samples(np.asarray(jnp.zeros((2, 1))))).all()


def test_a_model_file_is_the_estimator_again(places, circle, tmp_path):
    places.save(tmp_path / "places.foliax", PLACES, PLACES.iloc[:10])
    again = DensityEstimator.load(tmp_path / "places.foliax")
    np.testing.assert_array_equal(again.log_prob(PLACES), places.log_prob(PLACES))
    assert again.measure_ == places.measure_
    assert list(again.sample(3).columns) == ["lat", "lon"]
    with pytest.raises(ValueError, match="lat"):
        again.log_prob(PLACES.rename(columns={"lat": "latitude"}))
    data = model_file.load(tmp_path / "places.foliax").training_data
    assert data is not None
    assert (data.train.total, data.test.total) == (40, 10)
    circle.save(tmp_path / "circle.foliax")
    bare = DensityEstimator.load(tmp_path / "circle.foliax")
    np.testing.assert_array_equal(bare.log_prob(ANGLES), circle.log_prob(ANGLES))
    assert clone(bare).manifold == Circle()


def test_rows_go_into_a_file_only_by_their_columns(circle, tmp_path):
    with pytest.raises(ValueError, match="fit with a schema"):
        circle.save(tmp_path / "circle.foliax", ANGLES)
    assert not (tmp_path / "circle.foliax").exists()


def test_a_constant_column_is_refused():
    table = pd.DataFrame({"a": np.random.default_rng(0).normal(size=50), "c": 7.5})
    estimator = DensityEstimator(schema="real(a); positive(c)", model="kernel")
    with pytest.raises(ValueError, match=r"Column c: every value is 7\.5\. .* Leave the column"):
        estimator.fit(table)
    table.loc[0, "c"] = 8.0
    weights = np.ones(50)
    weights[0] = 0
    with pytest.raises(ValueError, match=r"Column c: every value is 7\.5"):
        estimator.fit(table, sample_weight=weights)
