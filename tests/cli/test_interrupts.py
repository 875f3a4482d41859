"""Signals during a fit: the old model file stays, and the exit code names the signal."""

import contextlib
import os
import signal

import pandas as pd
import pytest

from foliax import DequantizedFlow, Training, io
from foliax.cli import console
from foliax.estimators import ScaleMixtureKernel, dequantized_flow
from foliax.flows import RealNVP

from .running import QUAKES, run

SPHERE = "sphere(lat=lat, lon=long)"
TINY = DequantizedFlow(RealNVP(1, 4), training=Training(steps=20, batch_size=8, eval_every=5))
SIGNALS = pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "q.csv"
    pd.read_csv(QUAKES).iloc[:60].to_csv(path, index=False)
    return path


@pytest.fixture
def output(tmp_path):
    path = tmp_path / "good.foliax"
    path.write_bytes(b"a good model")
    return path


def fit_flow(table, output, number, monkeypatch):
    monkeypatch.setattr("foliax.estimators.dequantized_flow.FLOW", TINY)
    how = ("-s", SPHERE, "-m", "flow", "--steps", 20, "-o", output)
    return run("fit", table, *how, code=128 + number).output


@SIGNALS
def test_an_interrupted_fit_saves_its_progress_beside_the_old_model(
    table, output, number, monkeypatch
):
    monkeypatch.setattr(console, "end_if_asked", lambda: os.kill(os.getpid(), number))
    output_text = fit_flow(table, output, number, monkeypatch)
    assert output.read_bytes() == b"a good model"
    assert f"{output} was not changed" in output_text.replace("\n", "")
    reached = io.load(output.with_suffix(".interrupted.foliax")).record
    assert reached is not None
    assert reached.stopped == "interrupted"
    assert [block.step for block in reached.history] == [5]


def test_a_signal_that_python_dropped_still_ends_the_fit(table, output, monkeypatch):
    """Python drops the exception of a handler that runs inside a garbage collector callback."""
    place = dequantized_flow.ambient_points

    def lose_a_signal_and_place(*args, **named):
        with contextlib.suppress(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGTERM)
        return place(*args, **named)

    monkeypatch.setattr(dequantized_flow, "ambient_points", lose_a_signal_and_place)
    fit_flow(table, output, signal.SIGTERM, monkeypatch)
    assert output.read_bytes() == b"a good model"


@SIGNALS
def test_an_interrupt_before_a_fit_saves_nothing(table, output, number, monkeypatch):
    interrupt = lambda *_, **named: os.kill(os.getpid(), number)  # noqa: E731
    monkeypatch.setattr(ScaleMixtureKernel, "fit", interrupt)
    result = run("fit", table, "-s", SPHERE, "-m", "kernel", "-o", output, code=128 + number)
    assert "No output was changed" in result.output
    assert output.read_bytes() == b"a good model"
    assert sorted(path.name for path in output.parent.iterdir()) == ["good.foliax", "q.csv"]
