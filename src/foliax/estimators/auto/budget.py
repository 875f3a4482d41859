"""Measure how long a candidate takes to evaluate."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from jaxtyping import PRNGKeyArray

from ...density import AbstractDensity, coarse, evaluate
from ..base import AbstractSpec, Fitted
from .members import A_WHILE, Held, Member

FIRST_TRIAL = 512
"""Rows of the first trial that tells how long a member takes."""
PATIENCE = 15.0
"""Seconds that each later one may last."""


def scored(
    name: str, spec: AbstractSpec, fitted: Fitted, held: Held, n: int, key: PRNGKeyArray
) -> Member:
    """The candidate as a member, with the time that it takes to evaluate n rows."""
    began = time.monotonic()
    scores = held.scores(fitted, key)
    first = time.monotonic() - began
    seconds = 0.0 if held.rows is None else seconds_for(n, fitted.density, held.rows, first)
    return Member(name, spec, fitted, scores, seconds)


def seconds_for(n: int, density: AbstractDensity, rows: Any, first: float) -> float:
    """What evaluating n rows takes, given that some took `first` seconds.

    They may have gone to compiling, or to what is done once for many rows. So where it seems long
    it is tried again, unless it took longer than compiling ever does, and with ever more copies of
    the rows, as long as no such trial is long.
    """
    rate, size = first / max(1, len(rows)), min(n, len(rows), FIRST_TRIAL)
    again = first <= 4 * PATIENCE
    while rate * n > A_WHILE and (again or (size <= n and rate * size <= PATIENCE)):
        again, began = False, time.monotonic()
        evaluate(coarse(density), np.resize(rows, (size, *rows.shape[1:])), tol=np.inf)
        rate = min(rate, (time.monotonic() - began) / size)
        size *= 4
    return rate * n
