"""Tables and JSON that commands write, and outputs that cannot be written."""

import datetime
import decimal
import json
import sys

import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest

from foliax import io
from foliax.cli import streams
from foliax.cli.json_output import to_json
from foliax.estimators import KernelDensity
from foliax.estimators.kernel.background import Background
from foliax.tables import Schema, read_table

from .running import run, run_json

LABEL = "log density per degree"
ROWS = f"""id,n,zone,{LABEL},when
007,1,NA,1.50,2020-01-01
010,2,,x,
003,5,"a,b",3,2020-01-03
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A table, and a model of the uniform density, which needs no fit."""
    path = tmp_path_factory.mktemp("outputs")
    (path / "data.csv").write_text(ROWS)
    schema = Schema.parse("circle(n, unit=degrees)")
    circle = schema.manifold()
    uniform = KernelDensity(circle, (Background(circle),), (jnp.zeros(1),))
    io.save(path / "m.foliax", uniform, schema=schema)
    return path


def test_score_keeps_the_columns_of_the_user(folder):
    result = run("score", folder / "m.foliax", folder / "data.csv")
    assert f"The table has a column '{LABEL}': the new one is '{LABEL}_2'." in result.stderr
    lines = result.stdout.splitlines()
    for before, after in zip(ROWS.splitlines(), lines, strict=True):
        assert after.startswith(before + ",")
    assert lines[0].split(",")[5:] == [f"{LABEL}_2", "standard error", "density × uniform"]
    run("score", folder / "m.foliax", folder / "data.csv", "-o", folder / "scored.csv")
    assert (folder / "scored.csv").read_text() == result.stdout
    run("score", folder / "m.foliax", folder / "data.csv", "-o", folder / "scored.npz")
    assert read_table(folder / "scored.npz")["zone"].tolist() == ["NA", "", "a,b"]


def test_json_has_blanks_and_times(folder):
    found = run_json("score", folder / "m.foliax", folder / "data.csv")
    assert found["columns"][LABEL] == f"{LABEL}_2"
    first, second, _ = found["rows"]
    assert (first["id"], first["n"], first["zone"]) == ("007", 1, "NA")
    assert (second["zone"], second["when"]) == (None, None)
    frame = pd.DataFrame({"n": [1, 2], "t": pd.to_datetime(["2020-01-01", None])})
    frame["blob"] = [b"a\xff", None]
    frame.to_parquet(folder / "t.parquet")
    rows = run_json("score", folder / "m.foliax", folder / "t.parquet")["rows"]
    assert [row["t"] for row in rows] == ["2020-01-01T00:00:00", None]
    assert [row["blob"] for row in rows] == ["a\\xff", None]


def test_json_of_every_value():
    values = {
        "blanks": [np.nan, float("inf"), None, pd.NA, pd.NaT, np.float32("nan")],
        "times": [pd.Timestamp("2020-01-01T12:00Z"), datetime.date(2020, 1, 1)],
        "numpy": [np.int64(3), np.float32(0.5), np.bool_(True), np.array([1.0, np.nan])],
        "wide": [np.longdouble(0.5), np.array([np.longdouble(2)])],
        "others": [b"a", decimal.Decimal("1.10"), {1}, (1, 2), np.datetime64("2020-01-01", "ns")],
        1: "\x1b\u202e\U000e0001",
    }
    text = to_json(values)
    assert text.isprintable()
    assert json.loads(text) == {
        "blanks": [None] * 6,
        "times": ["2020-01-01T12:00:00+00:00", "2020-01-01"],
        "numpy": [3, 0.5, True, [1.0, None]],
        "wide": [0.5, [2.0]],
        "others": ["a", "1.10", [1], [1, 2], "2020-01-01T00:00:00"],
        "1": "\x1b\u202e\U000e0001",
    }


def test_a_terminal_gets_no_escape_sequences(folder, monkeypatch):
    data = folder / "escape.csv"
    data.write_text("n,\x1b[31mred\n1,\x1b[2J\n2,b\n")
    words = ("score", folder / "m.foliax", data)
    assert "\x1b[31mred" in run(*words).stdout
    monkeypatch.setattr("foliax.cli.tables.is_terminal", lambda: True)
    text = run(*words).stdout
    assert "\x1b" not in text
    assert r"n,\x1b[31mred" in text
    text = run("check", data, "-s", "circle(n, unit=degrees)").output + run("schema", data).output
    assert "\x1b" not in text


def test_the_output_is_checked_before_the_work(folder, monkeypatch):
    def fail(*_, **__):
        raise AssertionError("The work began.")

    monkeypatch.setattr("foliax.io.load_with_schema", fail)
    monkeypatch.setattr("foliax.cli.tables.read_table", fail)
    before = sorted(folder.iterdir())

    def check(words, output, message):
        result = run(*words, "-o", folder / output, code=2)
        assert message in result.output
        assert result.output.count("\n") == 1

    sample = ("sample", "m.foliax")
    check(sample, "x" * 300 + ".csv", "its name is too long")
    check(sample, "data.csv/a.csv", "data.csv is not a folder")
    check(sample, "none/a.npz", "there is no folder")
    check(("score", "m.foliax", "data.csv"), "none/a.csv", "there is no folder")
    check(("report", "m.foliax"), "none/a.html", "there is no folder")
    check(("plot", "m.foliax"), "none/a.png", "there is no folder")
    check(("fit", "data.csv"), "none/a.foliax", "there is no folder")
    for command in ("demo", "reproduce"):
        result = run(command, "-o", folder / "data.csv", code=2)
        assert "cannot be created: File exists" in result.output
    assert sorted(folder.iterdir()) == before


def test_closed_stdin_is_no_consent(folder, monkeypatch):
    monkeypatch.setattr(sys, "stdin", None)
    assert not streams.can_ask()
