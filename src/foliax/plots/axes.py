"""An axis of a picture: its name, its unit and its range."""

from __future__ import annotations

import dataclasses
import math

import numpy as np

from ..manifolds.conversions import period_from_angles
from ..tables.periods import TURNS, Turn

Unit = str | Turn


@dataclasses.dataclass(frozen=True)
class Axis:
    """One coordinate: how it is called and where it runs.

    `turn`: an angle in radians is shown in this unit; `wraps`: it is periodic (a latitude is not).
    `step`: values are multiples of it from `offset` on. `positive`: a logarithmic axis is possible.
    """

    name: str
    unit: str = ""
    low: float | None = None
    high: float | None = None
    turn: Turn | None = None
    wraps: bool = False
    step: float | None = None
    offset: float = 0.0
    positive: bool = False

    @property
    def label(self) -> str:
        """Name and unit, "depth (km)"."""
        return f"{self.name} ({self.unit})" if self.unit not in ("", self.name) else self.name

    def shown(self, values: np.ndarray) -> np.ndarray:
        """Values in the axis' unit; angles come in radians."""
        if self.turn is None:
            return np.asarray(values, float)
        if self.wraps:
            return period_from_angles(values, self.turn.period, low=self.turn.start)
        return np.asarray(values, float) / (2 * math.pi) * self.turn.period

    def named(self, name: str) -> Axis:
        """The same axis under another name."""
        return dataclasses.replace(self, name=name)

    def measured(self, unit: Unit) -> Axis:
        """The same axis in another unit."""
        if self.turn is None:
            if isinstance(unit, Turn):
                raise ValueError(f"{self.name} is no angle: its unit is a word, not {unit}.")
            return dataclasses.replace(self, unit=unit)
        turn = unit if isinstance(unit, Turn) else TURNS.get(unit)
        if turn is None:
            raise ValueError(
                f"{self.name} is an angle: its unit is {', '.join(TURNS)}, or a "
                f"Turn(symbol, period, start); not '{unit}'."
            )
        if self.wraps:
            return angle(self.name, turn)
        return fraction(self.name, turn, of=(self.high or 0.0) / self.turn.period)


def angle(name: str, turn: Turn = TURNS["degrees"]) -> Axis:
    """A periodic axis."""
    return Axis(name, turn.symbol, turn.start, turn.start + turn.period, turn, wraps=True)


def fraction(name: str, turn: Turn = TURNS["degrees"], of: float = 0.25) -> Axis:
    """An angle that runs from −`of` to `of` of a turn, as latitudes do."""
    return Axis(name, turn.symbol, -of * turn.period, of * turn.period, turn)
