"""The assessment tells a good fit from a bad one."""

import dataclasses

import jax
import numpy as np
import pandas as pd
import pytest

from foliax.density import Dataset, evaluate
from foliax.estimators import DirectionalMixture, ScaleMixtureKernel
from foliax.evaluation import mean_and_error
from foliax.evaluation.comparison import INDEPENDENT, UNIFORM
from foliax.io.training_data import TrainingData, collect_training_data, split_rows
from foliax.manifolds import Naturals
from foliax.report import assess
from foliax.report.assess import measure_coverage
from foliax.tables import Schema

SCHEMA = Schema.parse("a: torsions(phi, psi, unit=degrees)")
KEY = jax.random.key(0)


def table(n=600, spread=8.0):
    """Two angles, the second near the first."""
    rng = np.random.default_rng(0)
    phi = rng.normal(20, 25, n)
    psi = phi + rng.normal(0, spread, n)
    return pd.DataFrame({"phi": phi, "psi": psi})


@pytest.fixture(scope="module")
def evidence():
    frame = table()
    return collect_training_data(frame, None, SCHEMA, *split_rows(len(frame), 0.25, KEY))


@pytest.fixture(scope="module")
def density(evidence):
    train = SCHEMA.encode(evidence.train.frame)
    return DirectionalMixture(1).fit(Dataset(train, SCHEMA.manifold()), key=KEY).density


def test_evidence_round_trips_through_json(evidence):
    again = TrainingData.from_json(evidence.to_json())
    pd.testing.assert_frame_equal(
        again.test.frame, evidence.test.frame.reset_index(drop=True), check_exact=True
    )
    assert again.train.total == 450
    assert again.findings == evidence.findings


def test_rows_are_either_fitted_or_held_out():
    train, test = split_rows(1000, 0.1, KEY)
    assert len(test) == 100
    assert sorted([*train, *test]) == list(range(1000))
    train, test = split_rows(150, 0.1, KEY)
    assert (len(train), len(test)) == (150, 0)


def test_weights_and_many_rows():
    frame, weights = table(8000), np.arange(8000.0)
    found = collect_training_data(frame, weights, SCHEMA, *split_rows(8000, 0.5, KEY))
    assert (len(found.train.frame), found.train.total) == (4000, 4000)
    assert (len(found.test.frame), found.test.total) == (2000, 4000)
    assert (weights[found.test.frame.index] == found.test.weights).all()


@pytest.mark.slow
def test_a_joint_density_beats_the_simple_ones(density, evidence):
    found = assess(density, SCHEMA, evidence, key=KEY)
    assert found is not None
    means = {entry.name: entry.scores.mean() for entry in found.entries}
    own = means.pop("this model")
    assert own == pytest.approx(found.scores.mean())
    assert set(means) == {"kernel", INDEPENDENT, UNIFORM}
    # The angles' correlation is worth log(√(25² + 8²)/8) = 1.2 nats.
    assert own - means[INDEPENDENT] == pytest.approx(1.2, abs=0.3)
    assert means[UNIFORM] == pytest.approx(-2 * np.log(360))
    assert found.coverage.p_value > 0.01


def test_nothing_held_out(density, evidence):
    none = dataclasses.replace(
        evidence, test=dataclasses.replace(evidence.test, frame=evidence.test.frame.iloc[:0])
    )
    assert assess(density, SCHEMA, none, key=KEY) is None


def test_an_overconfident_model_is_found(density):
    """Rows twice as far from the ridge as the model's samples."""
    k1, k2 = jax.random.split(KEY)
    values = evaluate(density, SCHEMA.encode(table(spread=16.0)), key=KEY).value
    found = measure_coverage(density, values, None, k1, k2)
    level = np.array([0.5, 0.9])
    assert (found.inside(level) < found.band(level)[0]).all()
    assert found.p_value < 1e-6


def test_ties_are_broken_at_random():
    """Counts have few distinct log densities; ranks are uniform nevertheless."""
    rows = np.random.default_rng(0).poisson(1.0, 800)[:, None]
    fitted = ScaleMixtureKernel().fit(Dataset(rows[:400], Naturals(1)), key=KEY).density
    values = evaluate(fitted, rows[400:], key=KEY).value
    found = measure_coverage(fitted, values, None, *jax.random.split(KEY))
    level = np.linspace(0.05, 0.95, 19)
    # Kolmogorov's 1 % bound for 400 ranks.
    assert np.abs(found.inside(level) - level).max() < 1.63 / np.sqrt(400)
    assert len(np.unique(found.ranks)) == 400


def test_weights_count_in_coverage_and_scores(density):
    """Rows off the ridge have weight 0; without weights the test would find a misfit."""
    good, bad = SCHEMA.encode(table(200)), SCHEMA.encode(table(200, spread=40.0))
    values = evaluate(density, np.concatenate([good, bad]), key=KEY).value
    weights = np.repeat([2.0, 0.0], 200)
    k1, k2 = jax.random.split(KEY)
    assert measure_coverage(density, values, None, k1, k2).p_value < 1e-6
    found = measure_coverage(density, values, weights, k1, k2)
    assert found.p_value > 0.01
    assert found.effective_rows == pytest.approx(200)
    value, error = mean_and_error(values, weights)
    assert (value, error) == pytest.approx(mean_and_error(values[:200]), rel=0.01)
