"""Values so far from the rest of their column that single precision cannot hold both."""

from __future__ import annotations

import itertools
import math

import numpy as np

from .base import AbstractManifold
from .local import AbstractCoordinates, SideBySide, Unchanged
from .row_errors import NamedRowError, RowError

MIN_DEVIATIONS = 1e6
"""Spreads from the median from which on float32 cannot tell the other values apart."""

MAX_DISTANCE = float(np.sqrt(np.finfo(np.float32).max))
"""Distance in the coordinates of the fit above which its square overflows float32."""


class FarValueError(FloatingPointError):
    """A fit that failed on rows with a value far from all others.

    Args:
        coordinate: Index of the coordinate within a flat point.
        reason: What is wrong and how to fix it.
        rows: Positions of the rows with this value.
        distance: From the median, in the coordinates of the fit.
    """

    def __init__(self, coordinate: int, reason: str, rows: np.ndarray, distance: float):
        self.coordinate, self.reason, self.rows = coordinate, reason, rows
        self.harms_other_rows = distance > MAX_DISTANCE
        super().__init__(f"Coordinate {coordinate} of the points: {reason}")


def explain_by_far_value(
    error: FloatingPointError, manifold: AbstractManifold, rows: np.ndarray, numbers: np.ndarray
) -> FloatingPointError:
    """Find a far value that explains why a fit failed.

    Args:
        error: What the fit failed with.
        manifold: What the rows lie on.
        rows: Points that were fitted.
        numbers: The numbers of the rows in what the user passed.

    Returns:
        The error that names the far value. The given one if no value is far, or if it names another
        row, unless the value is so far that it makes the densities of other rows NaN.
    """
    far = find_far_value(manifold, rows)
    if far is None:
        return error
    if far.harms_other_rows:
        return far
    if isinstance(error, NamedRowError) and error.number not in numbers[far.rows]:
        return error
    if isinstance(error, RowError) and error.row not in far.rows:
        return error
    return far


def find_far_value(manifold: AbstractManifold, rows: np.ndarray) -> FarValueError | None:
    """Find the unbounded coordinate with the value farthest from the others.

    Distances are those in the coordinates of the fit, such as logarithms of positive numbers.

    Args:
        manifold: What the rows lie on.
        rows: Points.

    Returns:
        The error that names it; None if no value is far.
    """
    rows = rows.astype(np.float64)
    local = manifold.local_coordinates(rows) or Unchanged(manifold)
    distance = _distances(local, rows)
    spread = np.quantile(distance, 0.68, axis=0)
    # Half of the values may be equal, as counts are.
    far = np.where(spread > 0, distance.max(0) / np.where(spread > 0, spread, 1), 0)
    coordinate = int(np.argmax(far))
    if far[coordinate] < MIN_DEVIATIONS:
        return None
    values = rows[:, coordinate]
    worst = values[np.argmax(distance[:, coordinate])]
    which = np.flatnonzero(values == worst)
    what = "1 value is" if len(which) == 1 else f"{len(which)} values are"
    return FarValueError(
        coordinate,
        f"{what} {worst:.9g}, and the median is {np.median(values):.6g}: single precision cannot "
        "hold both. If such a value stands for a missing one, remove its rows; otherwise correct "
        "it.",
        which,
        float(distance[which[0], coordinate]),
    )


def _distances(local: AbstractCoordinates, rows: np.ndarray) -> np.ndarray:
    """Distances from the median in local coordinates; 0 for coordinates without far values.

    These are bounded ones, and those whose chart resolves what float32 merges.
    """
    parts, sizes = (local,), (rows.shape[1],)
    if isinstance(local, SideBySide):
        parts, sizes = local.parts, local.sizes
    distance = np.zeros(rows.shape)
    ends = np.cumsum([0, *sizes])
    for part, start, stop in zip(parts, ends[:-1], ends[1:], strict=True):
        encoded = part.encode(rows[:, start:stop])[0]
        if encoded.shape[1] != stop - start:
            continue  # an embedded point, which is bounded
        inner = np.cumsum([0, *(factor.size for factor in part.working.factors)])
        for factor, (a, b) in zip(part.working.factors, itertools.pairwise(inner), strict=True):
            own = encoded[:, a:b]
            if math.isfinite(factor.log_total_volume()) or factor.tolerates_merging(own):
                continue
            distance[:, start + a : start + b] = np.abs(own - np.median(own, axis=0))
    return distance
