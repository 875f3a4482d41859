"""`--blocks`: commands split a table by blocks, and say so where nobody asked."""

import numpy as np
import pytest

from foliax import io
from foliax.evaluation import comparison

from ..tables.test_correlated import TRACK
from .running import run, run_json

SCHEMA = "sphere(lat=lat, lon=lon)"


@pytest.fixture(scope="module")
def track(tmp_path_factory):
    """Positions in 16 blocks of 25 rows."""
    file = tmp_path_factory.mktemp("track") / "track.csv"
    TRACK.assign(part=np.arange(len(TRACK)) // 25).to_csv(file, index=False)
    return file


def test_check_warns_without_blocks_only(track):
    (finding,) = run_json("check", track, "-s", SCHEMA)["findings"]
    assert "--blocks" in finding["consequence"]
    assert run_json("check", track, "-s", SCHEMA, "--blocks", 10)["findings"] == []


def test_a_column_of_blocks_is_no_part_of_a_proposed_schema(track):
    assert (
        "day" in run_json("check", track)["schema"] or "part" in run_json("check", track)["schema"]
    )
    assert "part" not in run_json("check", track, "--blocks", "part")["schema"]


@pytest.mark.slow
def test_fit_holds_out_whole_blocks(track, tmp_path):
    model = tmp_path / "track.foliax"
    found = run_json("fit", track, "-s", SCHEMA, "-m", "kernel", "--blocks", "part", "-o", model)
    assert found["held out"] == 75
    data = io.load_with_schema(model)[0].training_data
    assert data is not None
    train, test = data.train.blocks, data.test.blocks
    assert set(train) | set(test) == set(range(16))
    assert not set(train) & set(test)
    assert len(set(test)) == 3
    assert [
        f.message.startswith("blocks have about 25 consecutive rows") for f in data.findings
    ] == [True]
    report = run_json("report", model, "-o", tmp_path / "track.html")
    assert report["held out"] == 75
    # Three blocks tell less than 75 independent rows.
    assert report["standard error"] > 0.1


def test_compare_holds_out_whole_blocks(track, monkeypatch):
    seen = {}

    def compare(schema, train, test, names, settings, **others):
        seen["blocks"] = (set(train.blocks), set(test.blocks))
        scores = np.random.default_rng(0).normal(size=len(test))
        return [comparison.Entry("kernel", scores, test.weights, blocks=test.blocks)]

    monkeypatch.setattr(comparison, "compare_estimators", compare)
    run("compare", track, "-s", SCHEMA, "--models", "kernel", "--blocks", "part")
    assert not seen["blocks"][0] & seen["blocks"][1]


def test_one_row_in_each_block_is_no_help(track):
    """It declared the rows independent, and hid the warning."""
    (finding,) = run_json("check", track, "-s", SCHEMA, "--blocks", len(TRACK))["findings"]
    assert "consecutive rows are far nearer" in finding["message"]
    for command in ("fit", "compare"):
        result = run(command, track, "-s", SCHEMA, "--blocks", len(TRACK), code=2)
        assert "blocks of one row do nothing" in result.output


@pytest.mark.parametrize("model", ["kernel", "mixture", "auto"])
def test_a_split_that_leaves_one_block_is_an_error_that_says_so(track, model):
    result = run("fit", track, "-s", SCHEMA, "-m", model, "--blocks", 2, code=2)
    assert "The rows have 2 blocks, and 1 of them is held out" in result.output
    assert "Make more blocks with --blocks, or fit all rows with --held-out 0" in result.output
    result = run("compare", track, "-s", SCHEMA, "--models", model, "--blocks", 2, code=2)
    assert f"{model} cannot be fitted: The rows have 2 blocks, and 1 of them" in result.output
    assert "Make more blocks with --blocks." in result.output


def test_compare_skips_only_models_that_need_more_blocks(track):
    how = ("-s", SCHEMA, "--blocks", 2, "--held-out", 0.2)
    uniform, kernel = run_json("compare", track, *how, "--models", "uniform,kernel")["models"]
    assert np.isfinite(uniform["mean"])
    assert kernel["skipped"].startswith("The rows have 2 blocks, and 1 of them is held out")


def test_a_share_that_blocks_change_is_told(track, tmp_path):
    how = ("-s", SCHEMA, "-m", "kernel", "--held-out", 0.2, "-o", tmp_path / "track.foliax")
    events = run_json("fit", track, *how, "--blocks", 3)["events"]
    assert any(event.startswith("1 of 3 blocks is held out, 34% of the rows") for event in events)
    events = run_json("fit", track, *how, "--blocks", 20)["events"]
    assert not any("held out," in event for event in events)


def test_labels_that_make_no_blocks_are_an_error(track):
    result = run("fit", track, "-s", SCHEMA, "--blocks", "speed", code=2)
    assert "labels no blocks" in result.output
