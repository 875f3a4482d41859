"""The commands beside the way from fit to plot."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from foliax.io import model_file

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
    ["fit", "score", "sample", "check", "schema", "plot", "compare", "info", "demo"],
)
def test_every_command_has_help(name):
    assert "Usage" in run(name, "--help").output


def test_fit_goes_on_with_the_proposal(folder):
    data = pd.read_csv(folder / "q.csv")[["stations"]]
    data.to_csv(folder / "n.csv", index=False)
    result = run("fit", folder / "n.csv", "--yes", "-m", "kernel")
    assert "count(stations)" in result.output
    assert (folder / "n.foliax").is_file()


def test_a_model_file_without_rows(folder):
    """And so none are held out, though there are 240."""
    path, data = folder / "bare.foliax", folder / "many.csv"
    pd.read_csv(QUAKES).iloc[:240].to_csv(data, index=False)
    result = run("fit", data, "-s", SPHERE, "-m", "kernel", "-o", path, "--no-rows")
    assert "keeps no rows: 0 of 240 were held out" in result.output
    assert model_file.load(path).evidence is None


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


def test_quiet_says_nothing(folder):
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


def test_compare_says_no_where_a_baseline_wins(folder, monkeypatch):
    from foliax.evaluation import comparison

    steady = np.linspace(0, 0.1, 20)
    worse = [comparison.Entry("kernel", steady - 1), comparison.Entry("uniform", 2 * steady)]
    monkeypatch.setattr(comparison, "contest", lambda *args, **kwargs: worse)
    found = run_json("compare", folder / "q.csv", "-s", SPHERE, code=1)
    assert found["models"][1]["lead"] < 0
