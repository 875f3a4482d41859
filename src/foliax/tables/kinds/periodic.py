"""What kinds of repeating values share: units, the start of a turn, checks."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from .base import Check, Suspicion
from .options import one_of


class Unit(NamedTuple):
    """A unit of repeating values: its period, where a turn starts, and the word for one of it."""

    period: float
    start: float
    one: str


UNITS = {
    "degrees": Unit(360.0, 0.0, "degree"),
    "radians": Unit(2 * math.pi, 0.0, "radian"),
    "hours": Unit(24.0, 0.0, "hour"),
    "day_of_year": Unit(365.25, 1.0, "day"),
    "months": Unit(12.0, 1.0, "month"),
}
FULL_TURN = {unit: UNITS[unit].period for unit in ("degrees", "radians")}
"""A full turn in each unit of angles."""

angle_unit = one_of("degrees", "radians")


def infer_cut(values: np.ndarray, period: float, start: float) -> float:
    """Infer where the user's turn starts: the first usual place whose turn contains all values.

    The places are `start`, 0, −period/2, a multiple of a quarter turn, and the smallest value. If
    the values span more than a turn, the result is `start`.
    """
    low, high = float(values.min()), float(values.max())
    quarter = math.floor(low / (period / 4)) * (period / 4)
    for cut in (start, 0.0, -period / 2, quarter, low):
        if cut <= low and high <= cut + period:
            return cut
    return start


def turn_check(values: np.ndarray, period: float, low: float, unit: str | None) -> Check:
    """Refuse values more than a turn away from the turn's start: their unit is probably wrong."""
    hint = "Is it in degrees? " if unit == "radians" else ""
    return Check(
        np.abs(values) > (period + abs(low)) * (1 + 1e-9),
        lambda v: (
            f"{v:.9g} is more than a full turn of {period:.6g}. {hint}"
            "State the unit or the period, or wrap it (project)."
        ),
    )


def unit_suspicions(values: np.ndarray, unit: str | None) -> Iterator[Suspicion]:
    """Look for degrees that are probably radians, and the reverse."""
    least, most = float(values.min()), float(values.max())
    turn = 2 * math.pi * (1 + 1e-6)
    if unit == "degrees" and max(-least, most) <= turn and math.pi < most - least <= turn:
        yield Suspicion(
            f"declared in degrees, but all values are within one turn of radians "
            f"({least:.3g} to {most:.3g})",
            "In degrees, the data would be a spot a few degrees wide, and the density a spike. "
            "If they are radians, write unit=radians.",
        )
    if unit == "radians" and (np.abs(values) > turn).mean() > 0.05:
        yield Suspicion(
            f"declared in radians, but values run from {least:.3g} to {most:.3g}",
            "Degrees that are wrapped as radians scatter almost uniformly, and the structure is "
            "lost. If they are degrees, write unit=degrees.",
        )
