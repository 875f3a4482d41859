"""Bad input: exit code 2, one clear error, no traceback, no file written."""

import os
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from foliax.cli.console import handle_errors

from .running import QUAKES, run

GOOD = "lat,lon,n,w\n" + "".join(f"{10 + i},{20 + 2 * i},{i},{i}\n" for i in range(12))
SPHERE = "sphere(lat=lat, lon=lon)"


def with_row(row: str) -> str:
    return GOOD + row + "\n"


FIT = {
    "no file": (None, ["-s", SPHERE], "There is no file"),
    "empty file": ("", ["-s", SPHERE], "is empty"),
    "no rows": ("lat,lon\n", ["-s", SPHERE], "has no rows"),
    "no header": ("1,2\n3,4\n", ["-s", SPHERE], "numbers instead of names"),
    "semicolons": ("lat;lon\n1;2\n", ["-s", SPHERE], "semicolons"),
    "two names": ("lat,lat\n1,2\n", ["-s", SPHERE], "two columns are called"),
    "more fields": ("lat,lon\n1,2,3\n", ["-s", SPHERE], "more fields"),
    "latitude": (with_row("95,20,1,1"), ["-s", SPHERE], "latitude is 95"),
    "longitude": (with_row("5,2000,1,1"), ["-s", SPHERE], "more than a full turn"),
    "text": (with_row("north,20,1,1"), ["-s", SPHERE], "'north' is not a number"),
    "decimal comma": (with_row('"5,1",20,1,1'), ["-s", SPHERE], "decimal point"),
    "missing": (with_row(",20,1,1"), ["-s", SPHERE], "missing"),
    "infinite": (with_row("inf,20,1,1"), ["-s", SPHERE], "not a finite number"),
    "line named": (with_row("95,20,1,1"), ["-s", SPHERE], "line 14"),
    "half a count": (with_row("5,20,1.5,1"), ["-s", "count(n)"], "1.5"),
    "negative count": (with_row("5,20,-1,1"), ["-s", "count(n)"], "-1"),
    "zero": (GOOD, ["-s", "positive(n)"], "0"),
    "outside": (GOOD, ["-s", "interval(n, low=0, high=5)"], "5"),
    "off the grid": (with_row("5,20,0.25,1"), ["-s", "rounded(n, step=0.1)"], "0.25"),
    "not unit": (GOOD, ["-s", "direction(lat, lon)"], "length"),
    "not orthonormal": (GOOD, ["-s", "frame(lat, lon, n, w, n=2, p=2)"], "singular"),
    "unknown column": (GOOD, ["-s", "sphere(lat=lat, lon=lng)"], "no column 'lng'"),
    "unknown kind": (GOOD, ["-s", "spere(lat=lat, lon=lon)"], "Did you mean 'sphere'"),
    "unknown option": (GOOD, ["-s", "circle(n, unt=hours)"], "no option 'unt'"),
    "no unit": (GOOD, ["-s", "circle(n)"], "needs a unit"),
    "by name": (GOOD, ["-s", "sphere(lat, lon)"], "by name"),
    "no bracket": (GOOD, ["-s", "count(n"], "expected"),
    "empty schema": (GOOD, ["-s", ""], "expected"),
    "twice": (GOOD, ["-s", "a: count(n); b: count(n)"], "twice"),
    "yaml": (GOOD, ["-s", "schema.yaml"], "not YAML"),
    "no schema file": (GOOD, ["-s", "none.toml"], "no schema file"),
    "category": (GOOD, ["-s", "category(n)"], "not yet supported"),
    "no consent": (GOOD, [], "--yes"),
    "model": (GOOD, ["-s", SPHERE, "-m", "krnel"], "model is one of"),
    "weights": (GOOD, ["-s", SPHERE, "--weights", "v"], "The weights: The table has no column 'v'"),
    "huge weight": (with_row("5,20,1,1e300"), ["-s", SPHERE, "--weights", "w"], "Row 13 (line 14)"),
    "weight after a dropped row": (
        GOOD.replace("11,22", "99,22") + "\n\n5,20,1,x\n",
        ["-s", SPHERE, "--weights", "w", "--drop-invalid"],
        "Error: Row 13 (line 16), column w: the weight is 'x'",
    ),
    "far integer": (
        GOOD.replace("11,22", ",22") + "\n\n5,20,1000000000,1\n",
        ["-s", "integer(n); real(lat)", "--drop-invalid"],
        "Error: Row 13 (line 16), column n: 1e+09 is too far from the other rows",
    ),
    "overflow": (
        GOOD.replace("11,22", ",22") + "\n\n5,1e300,1,1\n",
        ["-s", "a: real(lat, lon); n: count(n)", "--drop-invalid", "-m", "kernel"],
        "Error: Row 13 (line 16), columns lat, lon: 5, 1e+300 is too far from the other rows",
    ),
    "blank line": (
        "n\n1\n\n3\n",
        ["-s", "count(n)"],
        "Row 2 (line 3), column n: the value is missing",
    ),
    "negative weight": (with_row("5,20,1,-1"), ["-s", SPHERE, "--weights", "w"], "non-negative"),
    "mixture of counts": (GOOD, ["-s", "count(n)", "-m", "mixture"], "does not serve"),
    "one row": ("lat,lon\n1,2\n", ["-s", SPHERE, "-m", "kernel"], "at least 2 distinct rows"),
    "equal rows": (
        "lat,lon\n1,2\n1,2\n",
        ["-s", SPHERE, "-m", "kernel"],
        "Column lat: every value",
    ),
    "constant": (
        "a,c\n1,7.5\n2,7.5\n3,7.5\n4,\n",
        ["-s", "a: real(a); c: positive(c)", "--drop-invalid"],
        "Error: Column c: every value is 7.5. A continuous density becomes infinitely high there. "
        "Leave the column out, or declare a constant number as rounded(…, step=…).",
    ),
    "one point": ("h\n0\n360\n0\n", ["-s", "circle(h, unit=degrees)"], "all rows are the same"),
    "large integer": (
        f"n\n3\n{2**53 + 1}\n",
        ["-s", "integer(n)"],
        f"Row 2 (line 3), column n: {2**53 + 1} is not within ±2^53 ({2**53})",
    ),
    "beyond float64": (
        with_row("1e400,20,1,1"),
        ["-s", SPHERE],
        "column lat: 1e400 is not a finite number",
    ),
    "nothing left": ("lat,lon\n99,2\n", ["-s", SPHERE, "--drop-invalid"], "None of the 1 rows"),
    "time limit": (GOOD, ["-s", SPHERE, "--time-limit", "-1"], "--time-limit"),
    "unit of time": (GOOD, ["-s", SPHERE, "--time-limit", "2d"], "'2d' is not a positive duration"),
    "seed": (GOOD, ["-s", SPHERE, "--seed", "x"], "--seed"),
    "negative seed": (GOOD, ["-s", SPHERE, "--seed", "-1"], "--seed"),
    "huge seed": (GOOD, ["-s", SPHERE, "--seed", str(2**64)], "--seed"),
    "long seed": (GOOD, ["-s", SPHERE, "--seed", str(2**32)], "--seed"),
    "real seed": (GOOD, ["-s", SPHERE, "--seed", "1e30"], "--seed"),
    "steps": (GOOD, ["-s", SPHERE, "--steps", str(2**64)], "--steps"),
    "folder": (GOOD, ["-s", SPHERE, "-o", "none/m.foliax"], "there is no folder"),
    "ending": (GOOD, ["-s", SPHERE, "-o", "m.txt"], "must end with"),
    "option": (GOOD, ["-s", SPHERE, "--fast"], "No such option"),
}


def check_refused(result, message: str) -> None:
    text = " ".join(result.output.replace("│", " ").split())
    assert message in text
    assert "Traceback" not in text
    if "Usage" not in text and "Schema, character" not in text:
        assert result.stderr.splitlines()[-1].startswith("Error: ")


@pytest.mark.parametrize("name", FIT)
def test_fit_refuses(name, tmp_path, monkeypatch):
    content, words, message = FIT[name]
    monkeypatch.chdir(tmp_path)
    if content is not None:
        (tmp_path / "data.csv").write_text(content)
    before = sorted(tmp_path.iterdir())
    check_refused(run("fit", "data.csv", *words, code=2), message)
    assert sorted(tmp_path.iterdir()) == before


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("model")
    (path / "data.csv").write_text(GOOD)
    run("fit", path / "data.csv", "-s", "count(n)", "-m", "kernel", "-o", path / "m.foliax")
    whole = (path / "m.foliax").read_bytes()
    (path / "cut.foliax").write_bytes(whole[: len(whole) // 2])
    (path / "text.foliax").write_text("no model")
    (path / "other.csv").write_text("x\n1\n")
    (path / "far.csv").write_text(GOOD.replace("11,22,1,", "11,22,,") + "\n5,20,1000000000,1\n")
    return path


OTHERS = {
    "score without a model": (["score", "none.foliax", "data.csv"], "There is no model file"),
    "score by a cut model": (["score", "cut.foliax", "data.csv"], "cut.foliax"),
    "score by a text": (["score", "text.foliax", "data.csv"], "text.foliax"),
    "score no data": (["score", "m.foliax", "none.csv"], "There is no file"),
    "score other columns": (["score", "m.foliax", "other.csv"], "no column 'n'"),
    "score into a picture": (["score", "m.foliax", "data.csv", "-o", "s.png"], "must end with"),
    "per km2 of counts": (["score", "m.foliax", "data.csv", "--per", "km2"], "the schema has none"),
    "per mile": (["score", "m.foliax", "data.csv", "--per", "mile"], "--per is km2"),
    "no samples": (["sample", "m.foliax", "-n", "0"], "--number"),
    "negative samples": (["sample", "m.foliax", "-n", "-5"], "--number"),
    "too many samples": (["sample", "m.foliax", "-n", str(2**64)], "--number"),
    "real samples": (["sample", "m.foliax", "-n", "1e30"], "--number"),
    "endless tolerance": (["score", "m.foliax", "data.csv", "--tol", "inf"], "--tol"),
    "sample into a folder": (["sample", "m.foliax", "-o", "."], "is a folder"),
    "plot into a table": (["plot", "m.foliax", "-o", "p.csv"], "must end with"),
    "plot an unknown view": (["plot", "m.foliax", "--view", "globe", "-o", "p.png"], "globe"),
    "compare an unknown model": (["compare", "data.csv", "--models", "best"], "model is one of"),
    "compare far rows": (
        ["compare", "far.csv", "-s", "integer(n)", "--models", "kernel", "--drop-invalid"],
        "Row 13 (line 15), column n: 1e+09 is too far from the other rows",
    ),
    "check no file": (["check", "none.csv"], "There is no file"),
    "schema of text": (["schema", "m.foliax"], "ending"),
    "info of a text": (["info", "text.foliax"], "text.foliax"),
    "no such command": (["fitt"], "No such command"),
}


@pytest.mark.parametrize("name", OTHERS)
def test_the_others_refuse(name, model, monkeypatch):
    words, message = OTHERS[name]
    monkeypatch.chdir(model)
    before = sorted(model.iterdir())
    check_refused(run(*words, code=2), message)
    assert sorted(model.iterdir()) == before


def test_errors_are_json_for_programs(tmp_path):
    result = run("fit", tmp_path / "none.csv", "--json", code=2)
    assert '"error": "There is no file' in result.stdout


def test_an_error_is_one_line(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = run("fit", "two\nlines.csv", code=2)
    assert result.stderr == "Error: There is no file two\\nlines.csv.\n"
    (tmp_path / "a.csv").write_text('"two\nlines",y\nx,2\ny,3\n')
    result = run("fit", "a.csv", "-s", 'real("two\nlines")', code=2)
    assert result.stderr.count("\n") == 1


def test_a_long_error_is_cut_in_the_middle(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text(GOOD)
    for schema in (f"real({'x' * 5000})", f"{'x' * 5000}(n)"):
        error = run("check", path, "-s", schema, code=2).stderr
        assert len(error) < 1300
        assert "xxx … xxx" in error


def test_names_that_are_not_utf8(tmp_path):
    name = os.fsdecode(os.fsencode(tmp_path / "a") + b"\xff.csv")
    Path(name).write_text(GOOD)
    result = run("schema", name, "-o", name.replace(".csv", ".json"))
    assert "n: count(n)" in result.stdout
    assert run("check", name, "-s", name.replace(".csv", ".json"), "--json").exit_code == 0
    assert "no column '\\udcff'" in run("check", name, "-s", "real(\udcff)", code=2).stderr


def test_warnings_of_libraries_do_not_reach_the_user(recwarn):
    @handle_errors
    def command():
        warnings.warn("deprecated", stacklevel=1)

    with warnings.catch_warnings():
        warnings.resetwarnings()
        warnings.simplefilter("always")
        command()
        assert len(recwarn) == 0
        warnings.warn("seen", stacklevel=1)
    assert len(recwarn) == 1


def test_check_fails_for_invalid_rows(tmp_path):
    rows = pd.read_csv(QUAKES).iloc[:60].assign(lat=np.linspace(0, 95, 60))
    rows.to_csv(tmp_path / "data.csv", index=False)
    result = run("check", tmp_path / "data.csv", "-s", "sphere(lat=lat, lon=long)", code=1)
    assert "rows are invalid" in result.output
