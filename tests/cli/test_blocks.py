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


def test_labels_that_make_no_blocks_are_an_error(track):
    result = run("fit", track, "-s", SCHEMA, "--blocks", "speed", code=2)
    assert "labels no blocks" in result.output
