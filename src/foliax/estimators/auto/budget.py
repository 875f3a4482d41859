"""The work that a run may spend, by the cost model, and the clock that stops a run far over."""

from __future__ import annotations

import dataclasses
import time

from ...training import Callback
from ...training.history import CUT_SHORT

WORK_UNITS_PER_SECOND = 1.0
"""Work units of a second: a machine like the calibrated one keeps to the time limit."""


@dataclasses.dataclass
class Budget:
    """Work units, spent by the cost model and not by a clock, so that equal runs spend the same.

    Args:
        limit: Work units of the whole run.
        spent: Work units spent so far.
    """

    limit: float
    spent: float = 0.0

    @staticmethod
    def from_seconds(time_limit: float) -> Budget:
        """The budget of a time limit, in seconds."""
        return Budget(WORK_UNITS_PER_SECOND * time_limit)

    @property
    def left(self) -> float:
        """Work units that are left."""
        return self.limit - self.spent

    def spend(self, work: float) -> None:
        """Subtract work units."""
        self.spent += work


class Deadline(Callback):
    """Stops a fit that is far over its time limit, with what it has reached.

    Args:
        seconds: Seconds from now on, after which it stops.
    """

    def __init__(self, seconds: float):
        self.seconds = seconds
        self.end = time.monotonic() + seconds

    def reason_to_stop(self) -> str:
        return CUT_SHORT if time.monotonic() > self.end else ""
