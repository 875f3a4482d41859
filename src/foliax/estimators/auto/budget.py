"""Measure how long a candidate takes to evaluate."""

from __future__ import annotations

import time

import numpy as np
from jaxtyping import PRNGKeyArray

from ...density import AbstractDensity, Dataset
from ..base import FitResult
from .members import GAIN_UNIT_SECONDS, Member, score_held_out
from .policy import Candidate

FIRST_TRIAL_ROWS = 512
"""Rows of the first timed trial."""
MAX_TRIAL_SECONDS = 15.0
"""Seconds that each later trial may last."""
MAX_COMPILE_SECONDS = 60.0
"""Seconds that compiling may take: what took longer was evaluation."""


def score_candidate(
    candidate: Candidate, result: FitResult, held_out: Dataset | None, n: int, key: PRNGKeyArray
) -> Member:
    """Score a fitted candidate on held-out rows, and time how long n rows would take."""
    began = time.monotonic()
    scores = score_held_out(result.density, held_out, key)
    first = time.monotonic() - began
    seconds = 0.0
    if held_out is not None:
        seconds = estimate_seconds(n, result.density, held_out, first)
    return Member(candidate.name, candidate.estimator, result, scores, seconds)


def estimate_seconds(n: int, density: AbstractDensity, held_out: Dataset, first: float) -> float:
    """Estimate how long n rows take, given that the held-out rows took `first` seconds.

    Those may have gone to compiling, or to what is done once for many rows. So where it seems long
    it is timed again, unless it took longer than compiling ever does, with ever more copies of the
    rows while no trial is long.
    """
    rows = held_out.rows
    rate, size = first / max(1, len(rows)), min(n, len(rows), FIRST_TRIAL_ROWS)
    again = first <= MAX_COMPILE_SECONDS
    coarse = density.with_budget("coarse")
    while rate * n > GAIN_UNIT_SECONDS and (
        again or (size <= n and rate * size <= MAX_TRIAL_SECONDS)
    ):
        again, began = False, time.monotonic()
        copies = held_out.take(np.resize(np.arange(len(rows)), size))
        coarse.evaluate(copies.rows, condition=copies.condition, tol=np.inf)
        rate = min(rate, (time.monotonic() - began) / size)
        size *= 4
    return rate * n
