"""Units of what repeats: angles, hours of the day, days of the year."""

from __future__ import annotations

import math
from typing import NamedTuple


class Turn(NamedTuple):
    """A unit of what repeats: its symbol, how many make a turn, where the axis begins."""

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
