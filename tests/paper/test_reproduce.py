import copy
import dataclasses
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from foliax import registry
from foliax.cli.app import app
from foliax.density import Dataset
from foliax.estimators import DequantizedFlow
from foliax.estimators.dequantized_flow import START_ROWS
from foliax.estimators.spline_flow import SplineFlow
from foliax.evaluation import Estimate
from foliax.paper import recipes, results, run, tables, trial
from foliax.paper.published import OWN_LIMITS, PAPER
from foliax.training import Training, count_parameters

ROWS = {row.name: row for row in recipes.rows()}
STORED = Path(__file__).parents[2] / "results"


def tiny(row):
    """Shorten a row, so that a trial takes seconds."""
    training = Training(steps=4, batch_size=8, eval_every=2)
    return dataclasses.replace(
        row,
        estimator=dataclasses.replace(row.estimator, training=training),
        points=64,
        rows=row.rows and 100,
    )


def test_every_row_of_the_paper_is_there_once_and_ours_beside_it():
    found = [(row.table, row.density, row.method) for row in recipes.rows()]
    ours = [(*place, recipes.OWN) for place in OWN_LIMITS]
    assert sorted(found) == sorted([*PAPER, *ours])
    assert len(ROWS) == len(found) == 39


def test_the_papers_numbers():
    """Compare with cells of the printed tables."""
    assert PAPER["table1", "S²", "Möbius"].kl_qp == Estimate(0.0595, 0.0025)
    assert PAPER["table1", "S²", "Möbius"].kl_pq is None
    assert PAPER["table2", "S³", "Deq. RealNVP (I.S.)"].covariance == Estimate(0.0003, 0.0)
    assert PAPER["table4", "SO(3)", "I.S. - QR"].ess == Estimate(94.3256, 2.8099)


FEW = ("table1-s2-foliax", "table3-unimodal-modulus")


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name in FEW else pytest.mark.slow) for name in ROWS]
)
def test_no_row_has_more_parameters_than_the_papers(name):
    import jax

    row = ROWS[name]
    target, key = row.target(0), jax.random.key(0)
    if isinstance(row.estimator, DequantizedFlow | SplineFlow):
        data = Dataset(trial.sampler(target)(key, 200), target.manifold)
        density = trial.with_dequantization(row.estimator, row).build(data, key=key)
    else:
        density = row.estimator.build(target.manifold, key=key)
    assert count_parameters(density) <= row.limits[1]


def test_our_rows_see_no_more_draws_than_the_papers():
    for row in recipes.rows():
        if row.method == recipes.OWN and row.table != "table4":
            most = 1_000_000 if row.table == "table3" else 2_000_000
            training = row.estimator.training
            draws = row.rows or training.steps * training.batch_size + START_ROWS
            assert draws <= most


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("table1-s2-deq-realnvp-i-s", marks=pytest.mark.slow),
        pytest.param("table1-s2-man-ode", marks=pytest.mark.slow),
        pytest.param("table3-correlated-modulus", marks=pytest.mark.slow),
        pytest.param("table3-unimodal-mobius", marks=pytest.mark.slow),
        "table3-unimodal-foliax",
        pytest.param("table4-procrustes-foliax", marks=pytest.mark.slow),
    ],
)
def test_a_trial_is_stored_found_and_shown(name, tmp_path):
    row = tiny(ROWS[name])
    assert results.Results(tmp_path).find(row, 3) is None
    found = trial.measure(row, 3, *trial.fit(row, 3))
    results.save(tmp_path, row, 3, found)
    assert results.Results(tmp_path).find(row, 3) == json.loads(json.dumps(found))
    draws = {
        "table1-s2-man-ode": 32,
        "table3-unimodal-mobius": 0,
        "table3-unimodal-foliax": 100,
        "table4-procrustes-foliax": 100,
    }
    assert found["draws"] == draws.get(name, 32 + START_ROWS)
    assert (trial.RAW_ANGLES in " ".join(found["metrics"])) == (row.table == "table3")
    (line,) = tables.lines(tmp_path, [row], 10)
    kl = found["metrics"]["KL(q‖p)"]
    assert line.mean("KL(q‖p)") == kl
    missed = any(text.startswith("KL(q‖p)") for text in line.missed_limits())
    assert missed == (kl.value > row.limits[0])
    assert f"{kl.value:.5f} ± {kl.error:.5f}" in tables.markdown([line])
    # A trial with other settings does not count as stored.
    other = dataclasses.replace(
        row,
        estimator=dataclasses.replace(
            row.estimator, training=Training(steps=5, batch_size=8, eval_every=2)
        ),
    )
    assert results.Results(tmp_path).find(other, 3) is None


def test_all_stored_trials_have_the_settings_of_their_rows():
    stored = results.Results(STORED)
    valid = [stored.find(row, number) for row in recipes.rows() for number in range(10)]
    assert len(valid) == 390
    assert None not in valid
    assert run.missing_trials(STORED, list(ROWS), 10, quick=False) == []


@pytest.mark.parametrize("table", tables.TITLES)
def test_a_stored_table_is_written_as_it_was(table):
    """A new trial then changes only its own lines."""
    path = results.path_of(STORED, table)
    assert results.as_text(results.read(path)) == path.read_text(encoding="utf-8")


def changed(row, **training):
    spec = dataclasses.replace(
        row.estimator, training=dataclasses.replace(row.estimator.training, **training)
    )
    return dataclasses.replace(row, estimator=spec)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("table1-s2-mobius", lambda row: changed(row, learning_rate=6e-3)),
        ("table1-s2-foliax", lambda row: changed(row, lr_backoff=0.5)),
        ("table1-s2-foliax", lambda row: dataclasses.replace(row, points=9_999)),
        ("table4-so-3-foliax", lambda row: dataclasses.replace(row, rows=84_801)),
        ("table4-so-3-foliax", lambda row: dataclasses.replace(row, dequantization=recipes.SO3[0])),
        (
            "table4-procrustes-foliax",
            lambda row: dataclasses.replace(row, target=lambda seed: row.target(seed + 1)),
        ),
    ],
)
def test_a_trial_of_other_settings_does_not_count(name, change):
    stored = results.Results(STORED)
    assert stored.find(ROWS[name], 0) is not None
    assert stored.find(change(ROWS[name]), 0) is None


def rewritten(trial, old, new):
    return json.loads(json.dumps(trial).replace(f'"{old}":', f'"{new}":'))


def test_a_trial_counts_when_a_class_or_a_field_gets_another_name(monkeypatch):
    row = ROWS["table1-s2-foliax"]
    entry = registry.find("fit.Training")
    trial = results.Results(STORED).find(row, 0)
    older = rewritten(trial, "rate", "speed")
    older = json.loads(json.dumps(older).replace("fit.Training", "old.Training"))
    assert older["spec"] != trial["spec"]
    assert not results.has_settings(older, row, 0)
    known = registry._by_identifier | {
        "old.Training": entry._replace(
            renamed_fields={**entry.renamed_fields, "speed": "learning_rate"}
        )
    }
    monkeypatch.setattr(registry, "_by_identifier", known)
    assert results.has_settings(older, row, 0)
    assert not results.has_settings(older, changed(row, learning_rate=6e-3), 0)


@pytest.mark.parametrize(
    "damage",
    [
        lambda trial: None,
        lambda trial: {},
        lambda trial: {**trial, "spec": "MobiusFlow(centres=12)"},
        lambda trial: {**trial, "spec": {"class": "os.system", "fields": {}}},
        lambda trial: {
            **trial,
            "dequantization": {"class": "manifolds.Sphere", "fields": {"d": 0}},
        },
        lambda trial: {**trial, "target": {"class": "manifolds.Sphere", "fields": {}}},
    ],
)
def test_a_trial_that_cannot_be_read_does_not_count(damage):
    row = ROWS["table1-s2-mobius"]
    trial = results.Results(STORED).find(row, 1)
    assert results.has_settings(trial, row, 1)
    assert not results.has_settings(damage(trial), row, 1)


@pytest.mark.parametrize(("change", "counts"), [(1e-15, True), (1e-6, False)])
def test_a_target_of_another_processor_counts_and_another_target_does_not(change, counts):
    row = ROWS["table4-procrustes-foliax"]
    trial = copy.deepcopy(results.Results(STORED).find(row, 1))
    first = trial["target"]["fields"]["attraction"][0]
    first[0] *= 1 + change
    assert results.has_settings(trial, row, 1) is counts


@pytest.mark.parametrize("text", ["{", "[]", '{"row": 3}'])
def test_a_damaged_file_is_named(tmp_path, text):
    (tmp_path / "table1.json").write_text(text)
    with pytest.raises(ValueError, match=r"table1.json .*Restore it or delete it"):
        results.Results(tmp_path).find(ROWS["table1-s2-mobius"], 0)


def test_trials_are_added_in_order_and_replaced(tmp_path):
    first, other = ROWS["table1-s2-mobius"], ROWS["table1-s2-foliax"]
    for row, number, kl in ((first, 10, 1), (first, 2, 2), (other, 0, 3), (first, 2, 4)):
        results.save(tmp_path, row, number, {"metrics": {"KL(q‖p)": [kl, 0]}})
    assert [path.name for path in tmp_path.iterdir()] == ["table1.json"]
    assert (
        (tmp_path / "table1.json").read_text(encoding="utf-8")
        == """{
 "table1-s2-foliax": {
  "0": {
   "metrics": {"KL(q‖p)": [3, 0]}
  }
 },
 "table1-s2-mobius": {
  "2": {
   "metrics": {"KL(q‖p)": [4, 0]}
  },
  "10": {
   "metrics": {"KL(q‖p)": [1, 0]}
  }
 }
}
"""
    )


@pytest.mark.slow
def test_the_same_trial_gives_the_same_numbers_and_another_does_not():
    row = tiny(ROWS["table3-unimodal-modulus"])
    first, again, other = (
        trial.measure(row, number, *trial.fit(row, number))["metrics"] for number in (0, 0, 1)
    )
    assert first == again != other


def test_means_over_trials():
    values = [0.1, 0.2, 0.6]
    trials = [{"metrics": {"KL(q‖p)": [v, 0.0]}} for v in values]
    line = tables.Line(ROWS["table1-s2-mobius"], trials)
    assert line.mean("KL(q‖p)").value == pytest.approx(0.3)
    assert line.mean("KL(q‖p)").error == pytest.approx(0.2645751 / 3**0.5)


@pytest.mark.parametrize(("error", "said"), [(0.00008, 0), (0.0003, 1)])
def test_monte_carlo_errors_that_are_too_large_are_named(error, said):
    """A tenth of 0.0010 is allowed."""
    metrics = {"KL(q‖p)": [0.001, error], "ESS": [0.999, 0.0]}
    trials = [{"metrics": metrics, "parameters": 10}] * 4
    line = tables.Line(ROWS["table4-so-3-foliax"], trials)
    assert len(line.missed_limits()) == said
    for text in line.missed_limits():
        assert "Monte Carlo error of KL(q‖p) 0.00030 > 0.00010" in text


@pytest.mark.slow
def test_trials_run_in_processes_and_resume(tmp_path, monkeypatch):
    """The command runs only missing trials (here of the shortest row, with --quick)."""
    monkeypatch.setenv("FOLIAX_CACHE", str(tmp_path / "cache"))
    arguments = ["reproduce", "table3", "--rows", "unimodal-mobius", "--quick", "--jobs", "1"]
    arguments += ["--output", str(tmp_path)]
    first = CliRunner().invoke(app, arguments)
    assert first.exit_code == 0, first.output
    assert "Running 1 of 1 trials" in first.stderr
    assert "| Unimodal | Möbius | 1 |" in first.stdout
    assert "they show that it runs, not how well" in first.stdout
    again = CliRunner().invoke(app, arguments)
    assert "Running 0 of 1 trials" in again.stderr
    page = tmp_path / "quick" / "tables.md"
    assert page.read_text() in again.stdout
    # With another row chosen, the page keeps all stored rows.
    monkeypatch.setattr(run, "run", lambda *arguments: {})
    other = CliRunner().invoke(app, [*arguments, "--rows", "multimodal-mobius"])
    assert "Unimodal" not in other.stdout
    assert "| Unimodal | Möbius | 1 |" in page.read_text()
    names = ["table3-unimodal-mobius"]
    assert run.missing_trials(tmp_path / "quick", names, 2, True) == [run.Job(names[0], 1, True)]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [(["table5"], "Unknown part 'table5'"), (["table1", "--rows", "glow"], "No row of table1")],
)
def test_bad_input_is_named(arguments, said):
    result = CliRunner().invoke(app, ["reproduce", *arguments])
    assert result.exit_code == 2
    assert said in result.stderr


@pytest.mark.slow
def test_an_interrupted_training_is_no_trial(monkeypatch):
    row = tiny(ROWS["table3-unimodal-modulus"])
    fit = DequantizedFlow.fit

    def stopped(*args, **options):
        fitted = fit(*args, **options)
        fitted.record.stopped = "interrupted"
        return fitted

    monkeypatch.setattr(DequantizedFlow, "fit", stopped)
    with pytest.raises(KeyboardInterrupt):
        trial.fit(row, 0)


def test_short_trials_have_no_tolerance_to_meet():
    for row in recipes.rows():
        assert row.tolerance == pytest.approx((0.4 * row.limits[0]) ** 0.5)
        assert row.quick().tolerance == float("inf")
