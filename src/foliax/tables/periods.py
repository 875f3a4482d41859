"""Units of values that repeat: angles, hours of the day, days of the year."""

from __future__ import annotations

import math
from typing import NamedTuple


class Turn(NamedTuple):
    """A unit of values that repeat.

    Attributes:
        symbol: Symbol of the unit on an axis.
        period: Length of a full turn in this unit.
        start: Where an axis starts.
    """

    symbol: str
    period: float
    start: float


TURNS = {
    "degrees": Turn("°", 360.0, -180.0),
    "radians": Turn("rad", 2 * math.pi, -math.pi),
    "hours": Turn("h", 24.0, 0.0),
    "day_of_year": Turn("day of year", 365.25, 1.0),
    "months": Turn("month", 12.0, 1.0),
}
"""Units by the name that schemas use."""
