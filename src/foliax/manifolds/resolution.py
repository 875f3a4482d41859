"""Check that single precision keeps the values of each column apart."""

from __future__ import annotations

import itertools

import numpy as np

from .base import AbstractManifold
from .local import AbstractCoordinates, Rows, SideBySide

MIN_CHECKED_VALUES = 20
"""Distinct values a column must exceed before its resolution is checked."""
MAX_MERGED_FRACTION = 0.3
"""Fraction of distinct values that may become equal in float32; a quarter of 1e7 values does."""


class ResolutionError(ValueError):
    """Values that differ by less than single precision resolves.

    Args:
        coordinate: Index of the coordinate within a flat point.
        reason: What is wrong and how to fix it.
    """

    def __init__(self, coordinate: int, reason: str):
        self.coordinate, self.reason = coordinate, reason
        super().__init__(f"Coordinate {coordinate} of the points: {reason}")


def check_resolution(coordinates: AbstractCoordinates, rows: Rows) -> None:
    """Check that a cast to float32 keeps the values of each column distinct.

    Args:
        coordinates: The coordinates in which the rows are cast.
        rows: Points in float64.

    Raises:
        ResolutionError: More than `MAX_MERGED_FRACTION` of a column's values become equal.
    """
    parts, sizes = (coordinates,), (rows.shape[1],)
    if isinstance(coordinates, SideBySide):
        parts, sizes = coordinates.parts, coordinates.sizes
    starts = np.cumsum([0, *sizes[:-1]])
    columns = np.split(rows, starts[1:], axis=1)
    for part, start, values in zip(parts, starts, columns, strict=True):
        encoded = part.encode(values)[0]
        for number in _columns_to_check(part.working, encoded):
            column = encoded[:, number]
            exact = len(np.unique(column))
            with np.errstate(over="ignore"):
                resolved = len(np.unique(column.astype(np.float32)))
            if exact > MIN_CHECKED_VALUES and resolved < (1 - MAX_MERGED_FRACTION) * exact:
                raise ResolutionError(
                    int(start) + min(number, values.shape[1] - 1),
                    f"single precision resolves {resolved} of {exact} distinct values, as they "
                    "lie in groups that are much narrower than the distance between them. Fit the "
                    "groups separately, or round the values and declare the column as rounded.",
                )


def _columns_to_check(manifold: AbstractManifold, rows: Rows) -> list[int]:
    """List the coordinates of the factors for which merging values would cost accuracy."""
    ends = np.cumsum([0, *(factor.size for factor in manifold.factors)])
    spans = list(itertools.pairwise(ends))
    pairs = zip(manifold.factors, spans, strict=True)
    return [i for f, (a, b) in pairs if not f.tolerates_merging(rows[:, a:b]) for i in range(a, b)]
