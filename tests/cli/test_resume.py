"""Run folders: an interrupted or killed fit resumes to the same bits."""

import fcntl
import os
import signal

import jax
import numpy as np
import pandas as pd
import pytest

from foliax import DequantizedFlow, Training, io
from foliax.cli import console
from foliax.estimators import ScaleMixtureKernel, auto
from foliax.estimators.auto import validation
from foliax.estimators.auto.policy import Candidate
from foliax.estimators.auto.selection import build_stack
from foliax.flows import RealNVP

from .running import QUAKES, run

SPHERE = "sphere(lat=lat, lon=long)"
TINY = DequantizedFlow(RealNVP(1, 4), training=Training(steps=20, batch_size=8, eval_every=5))


class Killed(Exception):
    """Stands for SIGKILL: nothing of the command handles it."""


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "q.csv"
    pd.read_csv(QUAKES).iloc[:260].to_csv(path, index=False)
    return path


@pytest.fixture(autouse=True)
def _small(monkeypatch):
    monkeypatch.setattr("foliax.estimators.dequantized_flow.FLOW", TINY)
    monkeypatch.setenv("FOLIAX_SAVE_SECONDS", "0")


def fit(table, name, model="flow", *more, code=0):
    words = ("fit", table, "-s", SPHERE, "-m", model, "-o", table.with_name(name), *more)
    return run(*words, code=code).output.replace("\n", " ")


def same_bits(a, b) -> bool:
    """Whether two model files hold the same density and blocks of steps."""
    a, b = io.load(a), io.load(b)
    x, y = jax.tree.leaves(a.density), jax.tree.leaves(b.density)
    assert a.record is not None
    assert b.record is not None
    return (
        jax.tree.structure(a.density) == jax.tree.structure(b.density)
        and all(
            np.asarray(p).tobytes() == np.asarray(q).tobytes() for p, q in zip(x, y, strict=True)
        )
        and [block[:5] for block in a.record.history] == [block[:5] for block in b.record.history]
    )


def after(count, action):
    """Return a function that acts when it is called for the `count`-th time."""
    calls = iter(range(1, 1000))
    return lambda *_, **__: action() if next(calls) == count else None


def kill():
    raise Killed


def test_an_interrupted_flow_resumes_to_the_same_bits(table, tmp_path, monkeypatch):
    fit(table, "whole.foliax")
    folder = tmp_path / "a.foliax.run"
    monkeypatch.setattr("sys.argv", ["foliax", "fit", "my q.csv"])
    with monkeypatch.context() as patch:
        interrupt = after(2, lambda: os.kill(os.getpid(), signal.SIGINT))
        patch.setattr(console, "end_if_asked", interrupt)
        text = fit(table, "a.foliax", code=130)
    assert "Continue: foliax fit 'my q.csv' --resume" in text
    assert len(list(folder.glob("*.checkpoint"))) == 1
    reached = tmp_path / "a.interrupted.foliax"
    assert reached.exists()
    assert "Resuming" in fit(table, "a.foliax", "flow", "--resume")
    assert same_bits(tmp_path / "whole.foliax", tmp_path / "a.foliax")
    assert not folder.exists()
    assert not reached.exists()


@pytest.mark.parametrize("which", ["no model", "complete", "another seed"])
def test_a_resumed_fit_removes_no_other_file(which, table, tmp_path):
    other = tmp_path / "a.interrupted.foliax"
    fit(table, "a.foliax", "kernel", *(("--seed", 1) if which == "another seed" else ()))
    if which == "no model":
        other.write_text("mine")
    else:
        (tmp_path / "a.foliax").rename(other)
    if which == "another seed":
        model = io.load(other)
        assert model.record is not None
        model.record.stopped = "interrupted"
        io.save(other, model.density, record=model.record, extra=model.extra)
    before = other.read_bytes()
    fit(table, "a.foliax", "kernel", "--resume")
    assert other.read_bytes() == before


@pytest.mark.slow
def test_a_killed_auto_does_not_fit_its_candidates_again(table, tmp_path, monkeypatch):
    few = [Candidate(str(n), ScaleMixtureKernel(max_rows=n), is_kernel=True) for n in (400, 100)]
    monkeypatch.setattr(auto.Policy, "candidates", lambda *_: few)
    fit(table, "whole.foliax", "auto")
    score, die = validation.score_held_out, after(2, kill)
    monkeypatch.setattr(validation, "score_held_out", lambda *a: die() or score(*a))
    with pytest.raises(Killed):
        fit(table, "a.foliax", "auto")
    folder = tmp_path / "a.foliax.run"
    assert [path.name for path in folder.glob("*.part")] == ["400.part"]

    fits, kernel_fit = [], ScaleMixtureKernel.fit
    note = lambda self, *a, **b: (fits.append(self.max_rows), kernel_fit(self, *a, **b))[1]  # noqa: E731
    monkeypatch.setattr(ScaleMixtureKernel, "fit", note)
    die_at_end = after(1, kill)
    monkeypatch.setattr(auto.estimator, "build_stack", lambda *a: die_at_end() or build_stack(*a))
    with pytest.raises(Killed):
        fit(table, "a.foliax", "auto", "--resume")
    assert fits[0] == 100
    assert len(list(folder.glob("*.part"))) == 1 + len(fits) >= 3  # with a refit on all rows
    fits.clear()
    fit(table, "a.foliax", "auto", "--resume")
    assert not fits
    assert same_bits(tmp_path / "whole.foliax", tmp_path / "a.foliax")
    assert not folder.exists()


@pytest.fixture
def unfinished(table, tmp_path, monkeypatch):
    """The run folder of a kernel fit that was killed, with one file of progress."""
    folder = tmp_path / "a.foliax.run"
    with monkeypatch.context() as patch:
        patch.setattr(ScaleMixtureKernel, "fit", keep_and_die)
        with pytest.raises(Killed):
            fit(table, "a.foliax", "kernel")
    assert sorted(path.name for path in folder.iterdir()) == ["lock", "run.json", "x.checkpoint"]
    return folder


def keep_and_die(self, data, *, key, callbacks):
    callbacks[0].folder.put("x.checkpoint", lambda path: path.write_bytes(b""), at_once=True)
    raise Killed


@pytest.mark.parametrize(
    ("more", "told"),
    [
        (("--seed", 1), "seed is 1, was 0"),
        (("--held-out", 0.2), "held-out fraction is 0.2, was 0.1"),
        (("-m", "auto"), "model is auto, was kernel"),
        (("--weights", "mag"), "weights is 260 rows with digest"),
        (("-s", "w: sphere(lat=lat, lon=long)"), "schema is"),
    ],
)
def test_another_run_is_not_resumed(table, unfinished, more, told):
    text = fit(table, "a.foliax", "kernel", *more, "--resume", code=2)
    assert "a.foliax.run is of another run" in text
    assert told in text
    assert (unfinished / "x.checkpoint").exists()


def test_other_rows_are_not_resumed(table, unfinished):
    pd.read_csv(QUAKES).iloc[:259].to_csv(table, index=False)
    assert "table is 259 rows" in fit(table, "a.foliax", "kernel", "--resume", code=2)


def test_a_fit_without_resume_starts_over_and_says_so(table, unfinished):
    (unfinished / "mine.txt").write_text("A user's file.")
    assert "This run starts over; with --resume" in fit(table, "a.foliax", "kernel")
    assert [path.name for path in unfinished.iterdir()] == ["mine.txt"]


def test_there_may_be_nothing_to_resume(table, tmp_path):
    assert "no earlier run" in fit(table, "a.foliax", "kernel", "--resume")
    (tmp_path / "a.foliax.run").mkdir()
    assert "nothing to resume" in fit(table, "a.foliax", "kernel", "--resume")
    assert not (tmp_path / "a.foliax.run").exists()


def test_a_folder_in_use_is_left_alone(table, unfinished):
    with (unfinished / "lock").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert "Another process is fitting" in fit(table, "a.foliax", "kernel", "--resume", code=2)
        assert "keeps no progress" in fit(table, "a.foliax", "kernel")
    assert (unfinished / "x.checkpoint").exists()


def test_a_fit_goes_on_where_progress_cannot_be_kept(table, tmp_path):
    (tmp_path / "a.foliax.run").write_text("A user's file.")
    text = fit(table, "a.foliax", "flow")
    assert text.count("Progress cannot be kept, and the fit goes on") == 1
    assert (tmp_path / "a.foliax.run").read_text() == "A user's file."
    assert io.load(tmp_path / "a.foliax").record


def test_progress_stays_where_the_model_cannot_be_written(table, tmp_path, monkeypatch):
    def full(*_, **__):
        raise OSError("no space is left on the disk.")

    with monkeypatch.context() as patch:
        patch.setattr("foliax.io.model_file.save", full)
        assert "The fit is kept. Continue: foliax" in fit(table, "a.foliax", "flow", code=2)
    assert not (tmp_path / "a.foliax").exists()
    fit(table, "a.foliax", "flow", "--resume")
    assert not (tmp_path / "a.foliax.run").exists()


def test_nothing_is_saved_before_half_a_minute(table, tmp_path, monkeypatch):
    monkeypatch.delenv("FOLIAX_SAVE_SECONDS")
    seen = []
    look = lambda: seen.append((tmp_path / "a.foliax.run").exists())  # noqa: E731
    monkeypatch.setattr(console, "end_if_asked", look)
    fit(table, "a.foliax", "flow")
    assert seen == [False, False, False, True]  # a training that ended is saved at once
