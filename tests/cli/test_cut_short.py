"""A fit that the clock stops, far over its time limit: saved, with a warning and code 3."""

import dataclasses
import time

import pandas as pd
import pytest

from foliax import io
from foliax.estimators import AbstractEstimator, ScaleMixtureKernel
from foliax.estimators.auto import Policy
from foliax.estimators.auto.policy import Candidate
from foliax.training.history import CUT_SHORT

from .running import QUAKES, run

SPHERE = "sphere(lat=lat, lon=long)"
KERNEL = ScaleMixtureKernel(smallest=1.0, largest=1e4, ratio=10.0)


@dataclasses.dataclass(frozen=True)
class Sleeping(AbstractEstimator):
    """A kernel that takes an hour by a clock that it moves."""

    clock: list

    def _fit(self, data, *, key, validation=None, callbacks=()):
        self.clock[0] += 3600.0
        return KERNEL.fit(data, key=key)


@pytest.mark.parametrize("option", ["--quiet", "--json"])
def test_the_model_is_saved_and_the_exit_code_is_3(option, tmp_path, monkeypatch):
    clock = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    candidates = [Candidate("slow", Sleeping(clock)), Candidate("kernel", KERNEL, is_kernel=True)]
    monkeypatch.setattr(Policy, "candidates", lambda *_: candidates)
    data, output = tmp_path / "q.csv", tmp_path / "q.foliax"
    pd.read_csv(QUAKES).iloc[:240].to_csv(data, index=False)
    result = run("fit", data, "-s", SPHERE, "-o", output, option, code=3)
    assert "Warning: The fit was cut short after 3600 s" in result.stderr
    record = io.load(output).record
    assert record is not None
    assert record.stopped == CUT_SHORT
    assert any("far over its time limit" in event for event in record.events)


def test_the_help_names_the_exit_codes():
    assert "3 cut short" in " ".join(run("fit", "--help").output.split())
