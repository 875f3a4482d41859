"""Rows, held-out rows and fitted candidates."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, PRNGKeyArray

from ...density import coarse, evaluate
from ..base import AbstractSpec, Fitted

CLOSE = 0.1
"""Error of a held-out row's log density, for which nothing more is done."""

WORTH = 0.001
"""Nats that a member must gain on held-out rows, since every member slows evaluation."""
A_WHILE = 30.0
"""Seconds; a member must gain `WORTH` for each time as long that evaluating all rows takes."""
WORTH_ANY_TIME = 0.1
"""Nats that are enough, however long it takes."""


class Weighted(NamedTuple):
    """Rows and their weights, if they have any."""

    rows: Any
    weights: Any


class Held(NamedTuple):
    """Held-out rows, if any, and their weights."""

    rows: Any
    weights: Any
    own: bool = False
    """Whether they were taken from the rows, and not given by the caller."""

    def scores(self, fitted: Fitted, key: PRNGKeyArray) -> Float[np.ndarray, " h"]:
        """Log densities; a NaN is an error."""
        if self.rows is None:
            return np.zeros(0)
        return evaluate(coarse(fitted.density), self.rows, tol=CLOSE, key=key, max_rounds=2).value


class Member(NamedTuple):
    """A candidate that was fitted, and its log densities of the held-out rows."""

    name: str
    spec: AbstractSpec
    fitted: Fitted
    scores: Float[np.ndarray, " h"]
    seconds: float = 0.0
    """That it takes to evaluate as many rows as there are."""

    @property
    def worth(self) -> float:
        """Nats that it must gain."""
        return min(WORTH_ANY_TIME, WORTH * max(1.0, self.seconds / A_WHILE))

    def again(self, n: int, held: Held) -> float:
        """The seconds to expect of making it anew of all n rows; 0 where it is not to be."""
        worth_it = held.own and self.spec.makes_use_of(n)
        return 1.3 * self.fitted.record.seconds if worth_it else 0.0
