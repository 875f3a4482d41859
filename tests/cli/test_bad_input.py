"""Bad input: exit code 2, one clear error, no traceback, no file written."""

import numpy as np
import pandas as pd
import pytest

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
    "weights": (GOOD, ["-s", SPHERE, "--weights", "v"], "no column 'v' for weights"),
    "negative weight": (with_row("5,20,1,-1"), ["-s", SPHERE, "--weights", "w"], "non-negative"),
    "mixture of counts": (GOOD, ["-s", "count(n)", "-m", "mixture"], "does not serve"),
    "one row": ("lat,lon\n1,2\n", ["-s", SPHERE, "-m", "kernel"], "at least 2 distinct rows"),
    "equal rows": ("lat,lon\n1,2\n1,2\n", ["-s", SPHERE, "-m", "kernel"], "at least 2 distinct"),
    "nothing left": ("lat,lon\n99,2\n", ["-s", SPHERE, "--drop-invalid"], "None of the 1 rows"),
    "time limit": (GOOD, ["-s", SPHERE, "--time-limit", "-1"], "--time-limit"),
    "unit of time": (GOOD, ["-s", SPHERE, "--time-limit", "2d"], "'2d' is not a positive duration"),
    "seed": (GOOD, ["-s", SPHERE, "--seed", "x"], "--seed"),
    "folder": (GOOD, ["-s", SPHERE, "-o", "none/m.foliax"], "there is no folder"),
    "ending": (GOOD, ["-s", SPHERE, "-o", "m.txt"], "must end with"),
    "option": (GOOD, ["-s", SPHERE, "--fast"], "No such option"),
}


def check_refused(result, message: str) -> None:
    text = " ".join(result.output.replace("│", " ").split())
    assert message in text
    assert "Traceback" not in text


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
    "sample into a folder": (["sample", "m.foliax", "-o", "."], "is a folder"),
    "plot into a table": (["plot", "m.foliax", "-o", "p.csv"], "must end with"),
    "plot an unknown view": (["plot", "m.foliax", "--view", "globe", "-o", "p.png"], "globe"),
    "compare an unknown model": (["compare", "data.csv", "--models", "best"], "model is one of"),
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


def test_check_fails_for_invalid_rows(tmp_path):
    rows = pd.read_csv(QUAKES).iloc[:60].assign(lat=np.linspace(0, 95, 60))
    rows.to_csv(tmp_path / "data.csv", index=False)
    result = run("check", tmp_path / "data.csv", "-s", "sphere(lat=lat, lon=long)", code=1)
    assert "rows are invalid" in result.output
