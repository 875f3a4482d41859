"""An axis of a picture: its name, its unit and its range."""

from __future__ import annotations

import dataclasses
import math

import numpy as np

from ..escaping import escape_control_characters
from ..manifolds.conversions import period_from_angles
from ..tables.periods import TURNS, Turn

Unit = str | Turn


@dataclasses.dataclass(frozen=True)
class Axis:
    """One coordinate of a picture: its name, its unit and its range.

    Attributes:
        name: what the coordinate is called, often a column's name.
        unit: symbol of the unit; "" for none.
        low: least value that the axis can show; None for no bound.
        high: largest value that the axis can show; None for no bound.
        turn: the unit of an angle, which points hold in radians; None for other numbers.
        wraps: whether the angle is periodic; a longitude is, a latitude is not.
        step: spacing of discrete values offset + k · step; None for a continuum.
        offset: one of the discrete values.
        positive: whether all values are positive, so that a logarithmic axis is possible.
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
        """Name and unit for matplotlib, "depth (km)"."""
        has_unit = self.unit not in ("", self.name)
        return literal(f"{self.name} ({self.unit})" if has_unit else self.name)

    def to_unit(self, values: np.ndarray) -> np.ndarray:
        """Convert values to the axis' unit; angles come in radians."""
        if self.turn is None:
            return np.asarray(values, float)
        if self.wraps:
            return period_from_angles(values, self.turn.period, low=self.turn.start)
        return np.asarray(values, float) / (2 * math.pi) * self.turn.period

    def with_name(self, name: str) -> Axis:
        """The same axis under another name."""
        return dataclasses.replace(self, name=name)

    def with_unit(self, unit: Unit) -> Axis:
        """The same axis in another unit.

        Args:
            unit: any word for a number; for an angle a name in `TURNS` or a `Turn`.

        Returns:
            A new axis; the range of an angle is converted.

        Raises:
            ValueError: the unit does not suit the axis.
        """
        if self.turn is None:
            if isinstance(unit, Turn):
                raise ValueError(
                    f"{self.name} is not an angle: its unit must be a word, not {unit}."
                )
            return dataclasses.replace(self, unit=unit)
        turn = unit if isinstance(unit, Turn) else TURNS.get(unit)
        if turn is None:
            raise ValueError(
                f"{self.name} is an angle: its unit is {', '.join(TURNS)}, or a "
                f"Turn(symbol, period, start); not '{unit}'."
            )
        if self.wraps:
            return angle_axis(self.name, turn)
        return bounded_angle_axis(self.name, turn, share=(self.high or 0.0) / self.turn.period)


def angle_axis(name: str, turn: Turn = TURNS["degrees"]) -> Axis:
    """A periodic axis over one turn."""
    return Axis(name, turn.symbol, turn.start, turn.start + turn.period, turn, wraps=True)


def bounded_angle_axis(name: str, turn: Turn = TURNS["degrees"], share: float = 0.25) -> Axis:
    """An angle between −`share` and `share` of a turn; a latitude has a quarter."""
    return Axis(name, turn.symbol, -share * turn.period, share * turn.period, turn)


def literal(text: str) -> str:
    """Text that matplotlib shows as it is: it would read "$…$" as a formula.

    Control characters are shown as escapes: fonts have no glyphs for them, and SVG forbids them.
    """
    return escape_control_characters(text, keep="\n").replace("$", r"\$")
