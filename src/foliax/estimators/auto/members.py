"""Fitted candidates, and what each must gain to be kept."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, PRNGKeyArray

from ...density import AbstractDensity, Dataset
from ..base import AbstractEstimator, FitResult

SCORE_TOLERANCE = 0.1
"""Standard error of a held-out row's log density, in nats, that is good enough to compare by."""
SCORE_ROUNDS = 2
"""How often a held-out row may be refined."""
MIN_GAIN_NATS = 0.001
"""Gain on held-out rows that pays for a member, since every member slows evaluation."""
GAIN_UNIT_SECONDS = 30.0
"""A member must gain `MIN_GAIN_NATS` for each time as long that evaluating all rows takes."""
MAX_GAIN_NATS = 0.1
"""A gain that always keeps a member."""
REFIT_MARGIN = 1.3
"""Seconds of a refit on all rows, over those of the fit without the held-out ones."""


class Member(NamedTuple):
    """A candidate that was fitted, and its log densities of the held-out rows."""

    name: str
    estimator: AbstractEstimator
    result: FitResult
    scores: Float[np.ndarray, " h"]
    seconds: float = 0.0
    """Seconds to evaluate as many rows as were given."""

    @property
    def required_gain(self) -> float:
        """Nats that the member must gain on held-out rows."""
        return min(MAX_GAIN_NATS, MIN_GAIN_NATS * max(1.0, self.seconds / GAIN_UNIT_SECONDS))

    def refit_seconds(self, n: int, split_here: bool) -> float:
        """Seconds to expect of a refit on all n rows; 0 where there is none.

        `split_here`: whether the held-out rows were taken from the given ones.
        """
        refits = split_here and self.estimator.uses_all_rows(n)
        return REFIT_MARGIN * self.result.record.seconds if refits else 0.0


def score_held_out(
    density: AbstractDensity, held_out: Dataset | None, key: PRNGKeyArray
) -> Float[np.ndarray, " h"]:
    """Log densities of the held-out rows, by few nodes for each."""
    if held_out is None:
        return np.zeros(0)
    how = {"tol": SCORE_TOLERANCE, "condition": held_out.condition, "key": key}
    coarse = density.with_budget("coarse")
    return coarse.evaluate(held_out.rows, **how, max_rounds=SCORE_ROUNDS).value
