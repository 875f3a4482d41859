"""Fitted candidates, and what each must gain to be kept."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, PRNGKeyArray

from ...density import AbstractDensity, Dataset
from ...manifolds.row_errors import name_rows
from ...training import Record
from ..base import FitResult
from .policy import Candidate

SCORE_TOLERANCE = 0.1
"""Standard error of a held-out row's log density, in nats, that is good enough to compare by."""
SCORE_ROUNDS = 2
"""How often a held-out row may be refined."""
MIN_GAIN_NATS = 0.001
"""Gain on held-out rows that pays for a member, since every member slows evaluation."""
GAIN_WORK_UNITS = 30.0
"""Work units of evaluating all rows for which a member must gain `MIN_GAIN_NATS` each time."""
MAX_GAIN_NATS = 0.1
"""A gain that always keeps a member."""


class Member(NamedTuple):
    """A candidate that was fitted, and its log densities of the held-out rows."""

    candidate: Candidate
    result: FitResult
    scores: Float[np.ndarray, " h"]
    evaluation_work: float = 0.0
    """Work units to evaluate as many rows as were given."""

    @property
    def name(self) -> str:
        """The candidate's name."""
        return self.candidate.name

    @property
    def required_gain(self) -> float:
        """Nats that the member must gain on held-out rows."""
        times = max(1.0, self.evaluation_work / GAIN_WORK_UNITS)
        return min(MAX_GAIN_NATS, MIN_GAIN_NATS * times)


def score_held_out(
    density: AbstractDensity, held_out: Dataset | None, key: PRNGKeyArray
) -> Float[np.ndarray, " h"]:
    """Log densities of the held-out rows, by few nodes for each."""
    if held_out is None:
        return np.zeros(0)
    how = {"tol": SCORE_TOLERANCE, "condition": held_out.condition, "key": key}
    coarse = density.with_budget("coarse")
    with name_rows(held_out.names):
        return coarse.evaluate(held_out.rows, **how, max_rounds=SCORE_ROUNDS).value


def credit_refits(
    members: Sequence[Member],
    refitted: Sequence[Member],
    weights: Float[np.ndarray, " k"],
    scored: Dataset,
    record: Record,
) -> None:
    """Add to the held-out log density what kernels gain by refits on all rows.

    Scores by folds are too low for a refit: each fold leaves out a fifth of the blocks. A kernel's
    own cross-validation leaves out one block at a time, or a tenth of the blocks. Where the log
    densities of member k rise by δ_k, those of the mixture rise by Σ_k π_k δ_k to first order,
    because EM makes π_k the mean responsibility. Members that are no kernels count as δ = 0.

    Args:
        members: The chosen members, as folds scored them.
        refitted: The same after the refits.
        weights: The members' weights π.
        scored: The rows of the scores; a run that was stopped scores only the first.
        record: Gets the new score, and an event.
    """
    gain = 0.0
    for before, after, weight in zip(members, refitted, weights, strict=True):
        if after.candidate.is_kernel and after.result is not before.result:
            rows = scored.take(np.arange(len(before.scores)))
            by_folds = np.average(before.scores, weights=rows.weights)
            gain -= float(weight * (after.result.record.best_validation + by_folds))
    if gain:
        record.best_validation -= gain
        record.events.append(
            f"held-out log density after the refits: {-record.best_validation:.4f}, since kernels "
            "of all rows leave out fewer blocks at a time."
        )
