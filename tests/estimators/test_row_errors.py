"""Errors about a row name the user's row, through shuffles, splits, folds and dropped rows."""

import re

import jax
import numpy as np
import pandas as pd
import pytest

import foliax
from foliax.density import Dataset, LogProb
from foliax.estimators import LocalKernel, ScaleMixtureKernel, Stacking
from foliax.estimators.auto.members import score_held_out
from foliax.estimators.coordinates import find_coordinates
from foliax.estimators.kernel import bandwidths, local, scale_mixture
from foliax.estimators.kernel.density import KernelDensity
from foliax.evaluation.comparison import score_joint
from foliax.evaluation.metrics import sample_and_evaluate
from foliax.io.training_data import collect_training_data
from foliax.manifolds import OffManifoldError
from foliax.manifolds.far_values import FarValueError, explain_by_far_value, find_far_value
from foliax.manifolds.row_errors import NamedRowError, RowError, RowNames, name_rows
from foliax.report import assess
from foliax.tables import Schema
from foliax.training.rows import to_device

from ..cli.running import run

KEY = jax.random.key(0)
N, PLANTED, VALUE = 240, 137, 2.5
FAR = f"Row {PLANTED} has density 0 under every component"
NAN = f"Row {PLANTED} has a log density of NaN"


def planted_rows(size=1):
    """Rows between −2 and 2, except one."""
    rows = np.random.default_rng(0).uniform(-2, 2, (N, size))
    rows[PLANTED] = VALUE
    return rows


def is_planted(rows):
    return np.asarray(rows)[:, 0] == VALUE


@pytest.fixture
def no_density(monkeypatch):
    """Let every kernel vanish at the planted row."""

    def vanish(function):
        def scores(parts, rows):
            found = np.array(function(parts, rows))
            found[is_planted(getattr(rows, "rows", rows))] = -np.inf
            return found

        return scores

    for module in (scale_mixture, bandwidths):
        monkeypatch.setattr(module, "leave_one_out", vanish(bandwidths.leave_one_out))
    for module in (scale_mixture, local):
        monkeypatch.setattr(module, "evaluate_parts", vanish(module.evaluate_parts))


@pytest.fixture
def nan_density(monkeypatch):
    """Let log densities of kernels be NaN at the planted row."""
    evaluate = KernelDensity.log_prob_rows

    def log_prob_rows(self, rows, row_ids, **how):
        value, error = evaluate(self, rows, row_ids, **how)
        return LogProb(np.where(is_planted(rows), np.nan, value), error)

    monkeypatch.setattr(KernelDensity, "log_prob_rows", log_prob_rows)


@pytest.mark.parametrize(
    ("estimator", "size", "blocks"),
    [
        (ScaleMixtureKernel(), 1, None),
        (ScaleMixtureKernel(), 1, 12),
        (ScaleMixtureKernel(), 2, 12),
        (ScaleMixtureKernel(max_rows=100), 1, None),  # which happens to hold the row out
        (LocalKernel(folds=2, neighbours=(12,), widths=(0.9,)), 1, None),
        (LocalKernel(folds=2, neighbours=(12,), widths=(0.9,)), 1, 12),
    ],
)
@pytest.mark.usefixtures("no_density")
def test_a_row_without_density(estimator, size, blocks):
    data = Dataset(planted_rows(size), foliax.Euclidean(size), blocks=blocks)
    with pytest.raises(FloatingPointError, match=f"^{FAR}"):
        estimator.fit(data, key=KEY)


@pytest.mark.usefixtures("no_density")
def test_a_row_of_a_split_of_a_split():
    data = Dataset(planted_rows(), foliax.Euclidean(1))
    for seed in range(4):
        kept, held = data.split(0.5, key=jax.random.key(seed))
        part = kept if is_planted(kept.rows).any() else held
        with pytest.raises(FloatingPointError, match=f"^{FAR}"):
            ScaleMixtureKernel().fit(part, key=KEY)


@pytest.mark.usefixtures("nan_density")
def test_a_held_out_row_whose_log_density_is_nan():
    data = Dataset(planted_rows(), foliax.Euclidean(1))
    order = np.random.default_rng(1).permutation(N)
    order = np.roll(order, -int(np.argmax(order == PLANTED)) + 20)
    held, kept = data.take(order[:40]), data.take(order[40:])
    with pytest.raises(FloatingPointError, match=f"^{NAN}"):
        Stacking((ScaleMixtureKernel(),)).fit(kept, key=KEY, validation=held)
    with pytest.raises(FloatingPointError, match=f"^{NAN}"):
        score_joint(Schema.parse("real(x)"), ScaleMixtureKernel(), kept, held, KEY)
    density = ScaleMixtureKernel().fit(kept, key=KEY).density
    with pytest.raises(FloatingPointError, match=f"^{NAN}"):
        score_held_out(density, held, KEY)
    with pytest.raises(RowError, match=r"^Row 20 has a log density of NaN, at the point \[2.5\]"):
        density.evaluate(held.rows)


def test_rows_that_float32_cannot_hold():
    rows = planted_rows()
    part = Dataset(rows, foliax.Euclidean(1)).take(np.arange(100, N))
    broken = part.replace(rows=np.where(is_planted(part.rows)[:, None], np.inf, part.rows))
    with pytest.raises(ValueError, match=f"^Row {PLANTED} is not finite"):
        to_device(broken)
    rows[PLANTED] = 1e300
    part = Dataset(rows, foliax.Euclidean(1)).take(np.arange(100, N))
    with pytest.raises(OffManifoldError, match=f"^Row {PLANTED}: .* is too large for float32"):
        find_coordinates(part)


def test_only_the_innermost_context_names_a_row():
    inner, outer = RowNames(np.array([5, 6])), RowNames(np.arange(2))
    with (
        pytest.raises(FloatingPointError, match=r"^Row 6 is odd"),
        name_rows(outer),
        name_rows(inner),
    ):
        raise RowError(1, "is odd")


@pytest.mark.usefixtures("no_density")
def test_an_estimator_names_rows_beyond_those_of_weight_zero():
    weights = np.ones(N)
    weights[:PLANTED:2] = 0
    model = foliax.DensityEstimator(model="kernel", manifold=foliax.Euclidean(1))
    with pytest.raises(FloatingPointError, match=f"^{FAR}"):
        model.fit(planted_rows(), sample_weight=weights)
    frame = pd.DataFrame({"x": planted_rows()[:, 0]})
    model = foliax.DensityEstimator(schema="real(x)", model="kernel")
    with pytest.raises(FloatingPointError, match=f"^Row {PLANTED + 1} has density 0"):
        model.fit(frame, sample_weight=weights)


def write_table(path):
    """Write the rows with blank lines and invalid rows; return the name of the planted one."""
    rows, lines, random = planted_rows()[:, 0], ["x,y"], np.random.default_rng(2)
    number = 0
    for row, value in enumerate(rows):
        lines += [""] * int(random.integers(2))
        if random.uniform() < 0.1:
            lines.append("north,1")
            number += 1
        lines.append(f"{float(value)!r},1")
        number += 1
        if row == PLANTED:
            name = f"Row {number} (line {len(lines)})"
    path.write_text("\n".join(lines) + "\n")
    return name


HOW = ("-s", "real(x)", "--drop-invalid", "-m", "kernel")


@pytest.mark.usefixtures("no_density")
@pytest.mark.parametrize("seed", range(3))
def test_fit_names_the_row_and_the_line(tmp_path, seed):
    name = write_table(tmp_path / "a.csv")
    how = (*HOW, "--held-out", 0.01, "--seed", seed)
    found = run("fit", tmp_path / "a.csv", *how, code=2)
    assert f"Error: {name} has density 0 under every component" in found.output


@pytest.mark.usefixtures("no_density")
def test_compare_names_the_row_and_the_line(tmp_path):
    name = write_table(tmp_path / "a.csv")
    how = ("-s", "real(x)", "--drop-invalid", "--models", "kernel", "--held-out", 0.01)
    found = run("compare", tmp_path / "a.csv", *how, code=2)
    assert f"{name} has density 0 under every component" in found.output


def test_score_names_the_row_and_the_line(tmp_path, request):
    name = write_table(tmp_path / "a.csv")
    run("fit", tmp_path / "a.csv", *HOW)
    request.getfixturevalue("nan_density")
    found = run("score", tmp_path / "a.foliax", tmp_path / "a.csv", "--drop-invalid", code=2)
    assert f"Error: {name} has a log density of NaN" in found.output


def test_reports_count_held_out_rows_and_samples(request, monkeypatch):
    schema, frame = Schema.parse("real(x)"), pd.DataFrame({"x": planted_rows()[:, 0]})
    order = np.delete(np.arange(N), PLANTED)
    held, kept = np.insert(order[:30], 6, PLANTED), order[30:]
    data = collect_training_data(frame, None, schema, kept, held)
    density = (
        ScaleMixtureKernel().fit(Dataset(planted_rows(), foliax.Euclidean(1)), key=KEY).density
    )
    request.getfixturevalue("nan_density")
    with pytest.raises(FloatingPointError, match=r"^Held-out row 7 has a log density of NaN"):
        assess(density, schema, data, key=KEY)
    monkeypatch.setattr(
        KernelDensity,
        "log_prob_rows",
        lambda self, rows, *a, **b: LogProb(rows[:, 0] * np.nan, rows[:, 0]),
    )
    with pytest.raises(FloatingPointError, match=r"^Sample 1 has a log density of NaN"):
        sample_and_evaluate(density, 8, key=KEY)


@pytest.mark.filterwarnings("ignore:divide by zero")
@pytest.mark.parametrize("value", [1e20, 9.96921e36])
def test_a_fit_that_fails_because_of_a_far_value_names_its_column(value, tmp_path):
    frame = pd.DataFrame({"x": 15 + 5 * np.random.default_rng(0).normal(size=300)})
    frame.loc[3:8, "x"] = value
    message = f"Column x: 6 values are {value:.9g}, and the median is 1"
    with pytest.raises(ValueError, match=re.escape(message)):
        foliax.DensityEstimator(schema="real(x)", model="kernel").fit(frame)
    with pytest.raises(FarValueError, match="Coordinate 0 of the points: 6 values are"):
        foliax.DensityEstimator(model="kernel").fit(frame.to_numpy())
    frame.to_csv(tmp_path / "a.csv", index=False)
    words = ("-s", "real(x)", "-m", "kernel", "--held-out", 0)
    found = run("fit", tmp_path / "a.csv", *words, code=2)
    warning, error = found.stderr.splitlines()
    assert warning.startswith("Warning: Column x: 6 of 300 values are")
    assert "which often stands for a missing value" in warning
    assert error.startswith(f"Error: {message}")


def test_values_are_far_in_the_coordinates_of_the_fit():
    """Log-normal values span many decades, which the logarithms of the fit resolve."""
    random = np.random.default_rng(0)
    decades = np.exp(5 * random.normal(size=(2000, 1)))
    rows = np.concatenate([decades, np.floor(decades), random.normal(size=(2000, 1))], axis=1)
    manifold = foliax.Product(foliax.PositiveReals(1), foliax.Naturals(1), foliax.Euclidean(1))
    for factor, column in zip(manifold.factors, rows.T, strict=True):
        assert find_far_value(factor, column[:, None]) is None
    assert find_far_value(manifold, rows) is None
    rows[7, 2] = 1e20
    found = find_far_value(manifold, rows)
    assert found is not None
    assert found.coordinate == 2
    assert found.reason.startswith("1 value is 1e+20")


def test_a_far_value_explains_no_error_about_another_row():
    rows, numbers = np.random.default_rng(0).normal(size=(300, 1)), np.arange(300)[::-1]
    rows[7] = 1e10
    line = foliax.Euclidean(1)
    for error, is_explained in (
        (FloatingPointError("x"), True),
        (RowError(7, "x"), True),
        (RowError(8, "x"), False),
        (NamedRowError(292, "x"), True),
        (NamedRowError(7, "x"), False),
    ):
        found = explain_by_far_value(error, line, rows, numbers)
        assert isinstance(found, FarValueError) == is_explained
        assert is_explained or found is error
    rows[7] = 1e30  # whose square overflows, so that sums over all rows are NaN
    assert isinstance(explain_by_far_value(RowError(8, "x"), line, rows, numbers), FarValueError)


@pytest.mark.usefixtures("no_density")
def test_a_row_beside_a_far_value_is_still_named():
    rows = np.concatenate([planted_rows(), planted_rows()], axis=1)
    rows[3, 1] = 1e8
    with pytest.raises(FloatingPointError, match=f"^{FAR}"):
        ScaleMixtureKernel().fit(Dataset(rows, foliax.Euclidean(2)), key=KEY)
