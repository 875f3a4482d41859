"""Warnings about the density: on stderr, in the JSON result, and as exit code under --strict."""

import numpy as np
import pandas as pd
import pytest

from .running import run, run_json


@pytest.fixture
def table(tmp_path):
    """A hundred equal rows among others: a component shrinks onto them as far as it may."""
    random = np.random.default_rng(0)
    lat, lon = random.uniform(-60, 60, 200), random.uniform(-170, 170, 200)
    lat[:100], lon[:100] = 10.0, 20.0
    path = tmp_path / "sites.csv"
    pd.DataFrame({"lat": lat, "lon": lon}).to_csv(path, index=False)
    return path


HOW = ("-s", "sphere(lat=lat, lon=lon)", "-m", "mixture", "--held-out", 0)


def test_a_component_of_equal_rows_is_a_warning(table):
    result = run("fit", table, *HOW, "--quiet")
    (line,) = result.stderr.splitlines()
    assert line.startswith("Warning: 1 of")
    assert "1e+06, allows: a spread of 0.001 radians (0.057 degrees)" in line
    assert "If rows repeat, remove the copies" in line


def test_strict_fits_fail_by_warnings_and_keep_the_model(table, tmp_path):
    model = tmp_path / "model.foliax"
    found = run_json("fit", table, *HOW, "--strict", "-o", model, code=1)
    (text,) = found["warnings"]
    assert text in found["events"]
    assert model.exists()
    assert text in run("info", model).stdout


def test_strict_fits_without_warnings_succeed(table):
    frame = pd.read_csv(table).iloc[100:]
    frame.to_csv(table, index=False)
    assert run_json("fit", table, *HOW, "--strict")["warnings"] == []
