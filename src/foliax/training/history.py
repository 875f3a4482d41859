"""How a training went: what progress bars show, and what reports and model files keep."""

from __future__ import annotations

import dataclasses
import math
from typing import NamedTuple

from ..registry import storable

INTERRUPTED = "interrupted"
"""`Record.stopped` of a fit that the user ended; it holds what was reached by then."""
CUT_SHORT = "cut short"
"""`Record.stopped` of a fit that the clock ended, far over its time limit.

Another run of the same command may then give another result.
"""


@storable("record.Block")
class Block(NamedTuple):
    """What is reported after every block of steps."""

    step: int
    steps: int
    loss: float
    validation: float
    best_validation: float
    seconds: float


@storable("record.Record")
@dataclasses.dataclass
class Record:
    """The whole training."""

    parameters: int
    history: list[Block] = dataclasses.field(default_factory=list)
    events: list[str] = dataclasses.field(default_factory=list)
    stopped: str = ""
    seconds: float = 0.0
    best_step: int = 0
    best_validation: float = math.nan
    mass: tuple[float, float] | None = None
    """Total mass of the density and its standard error, where it was measured."""
    work: float = 0.0
    """Work units of the fit, counted in steps and rows; 0 where the estimator counts none."""
    warnings: list[str] = dataclasses.field(default_factory=list)
    """The events that say that the density is wrong somewhere. They fail `foliax fit --strict`."""

    def warn(self, text: str) -> None:
        """Add an event that is a warning too."""
        self.events.append(text)
        self.warnings.append(text)

    @staticmethod
    def from_json(known: dict) -> Record:
        """The record that `dataclasses.asdict` gave, after a passage through JSON."""
        return Record(**{**known, "history": [Block(*entry) for entry in known["history"]]})
