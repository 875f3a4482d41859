"""Check that single precision keeps the values of each column apart."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
from jaxtyping import Float

from .base import AbstractManifold
from .local import AbstractCoordinates, Rows, SideBySide

MIN_CHECKED_VALUES = 20
"""Distinct values a column must exceed before its resolution is checked."""
MAX_MERGED_FRACTION = 0.3
"""Fraction of distinct values that may become equal in float32; a quarter of 1e7 values does."""
MIN_GROUP_FRACTION = 0.01
"""Fraction of the distinct values whose spread must be resolved wherever they lie together."""
MIN_GROUP_SPACINGS = 16.0
"""The least range of such a group, in the spacings of float32 numbers there."""


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
        ResolutionError: More than `MAX_MERGED_FRACTION` of a column's values become equal, or
            `MIN_GROUP_FRACTION` of them span fewer than `MIN_GROUP_SPACINGS` float32 numbers. The
            latter is for flat coordinates only: others change little where points turn around.
    """
    for coordinate, column, is_flat in columns_to_check(coordinates, rows):
        found = np.unique(column)
        if len(found) > MIN_CHECKED_VALUES and (reason := describe_merging(found, is_flat)):
            raise ResolutionError(coordinate, reason)


def describe_merging(values: Float[np.ndarray, " k"], is_flat: bool = True) -> str:
    """Say how float32 merges values that lie in narrow groups far apart; "" if it does not.

    Args:
        values: The distinct values of a column in float64, ascending. Those that float32 cannot
            hold are left out.
        is_flat: Whether groups must also be resolved, not only most values.
    """
    with np.errstate(over="ignore"):
        single = values.astype(np.float32)
    values, single = values[np.isfinite(single)], single[np.isfinite(single)]
    resolved = len(np.unique(single))
    size = max(MIN_CHECKED_VALUES, int(MIN_GROUP_FRACTION * len(values)))
    spans = values[size:] - values[:-size]
    spacings = np.spacing(np.abs(single)).astype(float)
    needed = MIN_GROUP_SPACINGS * np.maximum(spacings[size:], spacings[:-size])
    if resolved < (1 - MAX_MERGED_FRACTION) * len(values):
        what = f"single precision resolves {resolved} of {len(values)} distinct values"
    elif is_flat and (spans < needed).any():
        steps = MIN_GROUP_SPACINGS * (spans / needed).min()
        what = f"single precision has {steps:.2g} steps for a group of {size + 1} distinct values"
    else:
        return ""
    return (
        f"{what}, as they lie in groups that are much narrower than the distance between them. Fit "
        "the groups separately, or round the values and declare the column as rounded."
    )


def columns_to_check(
    coordinates: AbstractCoordinates, rows: Rows
) -> Iterator[tuple[int, Float[np.ndarray, " n"], bool]]:
    """Yield the columns in which merging values would cost accuracy.

    Args:
        coordinates: The coordinates in which the rows are cast.
        rows: Points in float64.

    Yields:
        The coordinate of the points, the numbers that are cast, and whether they are flat.
    """
    parts, sizes = (coordinates,), (rows.shape[1],)
    if isinstance(coordinates, SideBySide):
        parts, sizes = coordinates.parts, coordinates.sizes
    starts = np.cumsum([0, *sizes[:-1]])
    for part, start, values in zip(parts, starts, np.split(rows, starts[1:], axis=1), strict=True):
        encoded = part.encode(values)[0]
        for number, is_flat in _numbers_to_check(part.working, encoded):
            yield int(start) + min(number, values.shape[1] - 1), encoded[:, number], is_flat


def _numbers_to_check(manifold: AbstractManifold, rows: Rows) -> list[tuple[int, bool]]:
    """List coordinates for which merging values would cost accuracy, and whether they are flat."""
    ends = np.cumsum([0, *(factor.size for factor in manifold.factors)])
    spans = list(itertools.pairwise(ends))
    pairs = zip(manifold.factors, spans, strict=True)
    return [
        (i, factor.size == factor.dim)
        for factor, (a, b) in pairs
        if not factor.tolerates_merging(rows[:, a:b])
        for i in range(a, b)
    ]
