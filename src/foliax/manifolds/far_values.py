"""Values so far from the rest of their column that single precision cannot hold both."""

from __future__ import annotations

import numpy as np

from .base import AbstractManifold
from .local import Unchanged
from .resolution import columns_to_check

MIN_DEVIATIONS = 1e6
"""Spreads from the median from which on float32 cannot tell the other values apart."""


class FarValueError(FloatingPointError):
    """A fit that failed on rows with a value far from all others.

    Args:
        coordinate: Index of the coordinate within a flat point.
        reason: What is wrong and how to fix it.
    """

    def __init__(self, coordinate: int, reason: str):
        self.coordinate, self.reason = coordinate, reason
        super().__init__(f"Coordinate {coordinate} of the points: {reason}")


def find_far_value(manifold: AbstractManifold, rows: np.ndarray) -> FarValueError | None:
    """Find the value farthest from the others, in the coordinates in which rows are fitted.

    Args:
        manifold: What the rows lie on.
        rows: Points in float64.

    Returns:
        The error that names it; None if no value is far.
    """
    coordinates = manifold.local_coordinates(rows) or Unchanged(manifold)
    most, worst = 0.0, (0, 0)
    for coordinate, column, is_flat in columns_to_check(coordinates, rows):
        distance = np.abs(column - np.median(column))
        spread = np.quantile(distance, 0.68)
        # Half of the values may be equal, as counts are.
        if is_flat and spread > 0 and distance.max() / spread > most:
            most, worst = distance.max() / spread, (coordinate, int(np.argmax(distance)))
    if most < MIN_DEVIATIONS:
        return None
    coordinate, row = worst
    values = rows[:, coordinate]
    count = int((values == values[row]).sum())
    which = "1 value is" if count == 1 else f"{count} values are"
    return FarValueError(
        coordinate,
        f"{which} {values[row]:.9g}, and the median is {np.median(values):.6g}: single precision "
        "cannot hold both. If such a value stands for a missing one, remove its rows; otherwise "
        "correct it.",
    )
