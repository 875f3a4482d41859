"""Every command beyond the sequence of fit, score, sample and plot."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from foliax import io
from foliax.cli import app
from foliax.cli.reproduce import PARTS
from foliax.escaping import escape_control_characters
from foliax.paper import recipes

from .running import QUAKES, run, run_json

SPHERE = "sphere(lat=lat, lon=long)"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("quakes")
    pd.read_csv(QUAKES).iloc[:40].to_csv(path / "q.csv", index=False)
    run("fit", path / "q.csv", "-s", SPHERE, "-m", "kernel")
    return path


def test_help_needs_no_jax():
    code = (
        "import sys, foliax.cli.app; print(sorted({'jax', 'pandas', 'sklearn'} & set(sys.modules)))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


@pytest.mark.parametrize(
    "name",
    [command.callback.__name__ for command in app.registered_commands],
)
def test_every_command_has_help(name):
    assert "Usage" in run(name, "--help").output


def test_fit_accepts_the_proposal(folder):
    data = pd.read_csv(folder / "q.csv")[["stations"]]
    data.to_csv(folder / "n.csv", index=False)
    result = run("fit", folder / "n.csv", "--yes", "-m", "kernel")
    assert "count(stations)" in result.output
    assert (folder / "n.foliax").is_file()


def test_a_model_file_without_rows(folder):
    """Without kept rows no row is held out, although there are more than 200."""
    path, data = folder / "bare.foliax", folder / "many.csv"
    pd.read_csv(QUAKES).iloc[:240].to_csv(data, index=False)
    result = run("fit", data, "-s", SPHERE, "-m", "kernel", "-o", path, "--no-rows")
    assert "keeps no rows: 0 of 240 were held out" in result.output
    assert io.load(path).training_data is None


def test_invalid_rows_are_dropped_and_counted(folder):
    data = pd.read_csv(folder / "q.csv")
    data.loc[3, "lat"] = 95.0
    data.to_csv(folder / "bad.csv", index=False)
    run("score", folder / "q.foliax", folder / "bad.csv", code=2)
    result = run("score", folder / "q.foliax", folder / "bad.csv", "--drop-invalid")
    assert "Dropped 1 of 40 rows" in result.output
    found = run_json("score", folder / "q.foliax", folder / "bad.csv", "--drop-invalid")
    assert found["dropped"] == 1
    assert len(found["rows"]) == 39


def test_per_square_kilometre(folder):
    plain = run_json("score", folder / "q.foliax", folder / "q.csv")
    per = run_json("score", folder / "q.foliax", folder / "q.csv", "--per", "km2")
    assert per["measure"] == "per km²"
    gap = plain["mean log density"] - per["mean log density"]
    assert gap == pytest.approx(2 * np.log(6371.0088))


def test_a_seed_decides_the_samples(folder):
    one, again, other = (
        run("sample", folder / "q.foliax", "-n", 3, "--seed", seed).stdout for seed in (1, 1, 2)
    )
    assert one == again != other
    assert one.splitlines()[0] == "lat,long"


def test_info_schema_and_check(folder):
    assert run_json("info", folder / "q.foliax")["rows"] == 40
    assert "sphere(lat=lat, lon=long" in run_json("schema", folder / "q.csv")["schema"]
    run("schema", folder / "q.csv", "-o", folder / "s.json")
    assert run_json("check", folder / "q.csv", "-s", folder / "s.json")["ok"]


@pytest.fixture
def hostile(folder):
    """A model file whose strings try to control the terminal and to override fields."""
    model, schema = io.load_with_schema(folder / "q.foliax")
    path = folder / "hostile.foliax"
    extra = {"schema": "fake", "measure": "fake", "a\x1b[2J": "b\nmeasure: fake\x9b31m\u202e"}
    io.save(path, model.density, record=model.record, schema=schema, extra=extra)
    return path


def test_info_prints_no_escape_sequences(hostile):
    for output in (run("info", hostile).stdout, run("info", hostile, "--json").stdout):
        assert not set("\x1b\x9b\u202e\r") & set(output)
    text = run("info", hostile).stdout
    assert r"  a\x1b[2J: b\nmeasure: fake\x9b31m\u202e" in text.splitlines()


def test_extra_fields_override_no_others(hostile):
    found = run_json("info", hostile)
    assert found["measure"] == "per steradian"
    assert found["schema"] != "fake"
    assert found["extra"]["measure"] == "fake"
    lines = run("info", hostile).stdout.splitlines()
    assert [line for line in lines if line.startswith("measure:")] == ["measure: per steradian"]
    assert "  measure: fake" in lines


def test_errors_print_no_escape_sequences(tmp_path):
    result = run("info", tmp_path / "a\x1b[2J.foliax", code=2)
    assert "\x1b" not in result.output
    assert r"a\x1b[2J.foliax" in result.output


def test_control_characters_are_escaped():
    assert escape_control_characters("é\ta\n\x1b[0m\udc80") == "é\ta\n\\x1b[0m\\udc80"
    assert escape_control_characters("a\nb", keep="") == r"a\nb"


def test_score_reads_its_input_once(folder, monkeypatch):
    read = []
    read_bytes = Path.read_bytes

    def read_and_count(path):
        read.append(path)
        return read_bytes(path)

    monkeypatch.setattr(Path, "read_bytes", read_and_count)
    run("score", folder / "q.foliax", folder / "q.csv", "--drop-invalid")
    assert read == [folder / "q.csv"]


def test_the_parts_of_the_help_are_complete():
    assert set(PARTS[:-1]) == {row.table for row in recipes.rows()}


def test_quiet_prints_nothing(folder):
    words = ("fit", folder / "q.csv", "-s", SPHERE, "-m", "kernel", "-q", "-o", folder / "b.foliax")
    assert run(*words).output == ""


def test_compare_pairs_the_rows(folder):
    found = run_json(
        "compare", folder / "q.csv", "-s", SPHERE, "--models", "kernel,mixture,uniform"
    )
    assert [row["model"] for row in found["models"]] == ["kernel", "mixture", "uniform"]
    uniform = found["models"][2]
    assert uniform["mean"] == pytest.approx(-np.log(4 * np.pi))
    assert uniform["lead"] > 3 * uniform["standard error"]


def test_compare_fails_if_a_baseline_wins(folder, monkeypatch):
    from foliax.evaluation import comparison

    steady = np.linspace(0, 0.1, 20)
    worse = [comparison.Entry("kernel", steady - 1), comparison.Entry("uniform", 2 * steady)]
    monkeypatch.setattr(comparison, "compare_estimators", lambda *args, **kwargs: worse)
    found = run_json("compare", folder / "q.csv", "-s", SPHERE, code=1)
    assert found["models"][1]["lead"] < 0
