"""Values so far from the rest of their column that single precision cannot hold both."""

from __future__ import annotations

import math

import numpy as np

from .base import AbstractManifold

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
    """Find the unbounded coordinate with the value farthest from the others.

    Args:
        manifold: What the rows lie on.
        rows: Points in float64.

    Returns:
        The error that names it; None if no value is far.
    """
    bounded = [math.isfinite(f.log_total_volume()) for f in manifold.factors]
    mask = np.repeat(bounded, [f.size for f in manifold.factors])
    median = np.median(rows, axis=0)
    distance = np.abs(rows - median)
    spread = np.quantile(distance, 0.68, axis=0)
    # Half of the values may be equal, as counts are.
    far = np.where(mask | (spread == 0), 0, distance.max(0) / np.where(spread > 0, spread, 1))
    coordinate = int(np.argmax(far))
    if far[coordinate] < MIN_DEVIATIONS:
        return None
    worst = rows[np.argmax(distance[:, coordinate]), coordinate]
    count = int((rows[:, coordinate] == worst).sum())
    which = "1 value is" if count == 1 else f"{count} values are"
    return FarValueError(
        coordinate,
        f"{which} {worst:.9g}, and the median is {median[coordinate]:.6g}: single precision cannot "
        "hold both. If such a value stands for a missing one, remove its rows; otherwise correct "
        "it.",
    )
