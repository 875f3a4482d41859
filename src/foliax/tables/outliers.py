"""Values very far from the rest of their column, and those that stand for missing values."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from .factor import Factor
from .finding import Finding

MAX_DEVIATIONS = 10
"""Robust standard deviations from the median beyond which a value is an outlier."""
FILL_VALUES = (
    *(sign * (10.0**digits - 1) for digits in (3, 4, 5, 6) for sign in (-1, 1)),
    *(-32768.0, -32767.0, 32767.0, -2147483648.0, -2147483647.0, 2147483647.0),
    *(sign * size for size in (1e15, 1e20, 1e30, 1e35, 1e36) for sign in (-1, 1)),
    *(9.969209968386869e36, 3.4028234663852886e38, -3.4028234663852886e38),
)
"""Values that programs write for missing ones: -9999, limits of integers and floats, netCDF's."""
RELATIVE_TOLERANCE = 1e-5
"""Relative difference up to which a value is a fill value: text has six digits of it or more."""
SURELY_FILL = 1e15
"""Size from which one value is enough; -9999 or 99999 alone may be real."""
CONSEQUENCE = "They stretch the scale on which the density is fitted and can dominate its loss."


def find_outliers(factor: Factor, values: np.ndarray) -> Iterator[Finding]:
    """Find fill values, and others more than `MAX_DEVIATIONS` robust deviations from the median.

    Args:
        factor: What the columns are.
        values: Their finite numbers.
    """
    yield from find_fill_values(factor, values)
    for column in _far_columns(factor, values):
        far = column.far & ~column.fill
        if far.any():
            worst = column.values[np.argmax(np.where(far, column.deviations, 0))]
            yield Finding(
                "warning",
                (column.name,),
                f"{far.sum()} of {len(far)} values are very far from the rest, up to {worst:.6g} "
                f"(median {np.median(column.values):.6g})",
                f"{CONSEQUENCE} {column.advice}",
            )


def find_fill_values(factor: Factor, values: np.ndarray) -> Iterator[Finding]:
    """Find values far from the rest that programs write for missing ones, such as -9999 or 1e20.

    Args:
        factor: What the columns are.
        values: Their finite numbers.
    """
    for column in _far_columns(factor, values):
        for value in np.unique(column.values[column.fill]):
            yield Finding(
                "warning",
                (column.name,),
                f"{(column.values == value).sum()} of {len(column.values)} values are "
                f"{value:.9g}, which often stands for a missing value (median "
                f"{np.median(column.values):.6g})",
                f"{CONSEQUENCE} If they mean missing, remove these rows.",
            )


class _FarColumn(NamedTuple):
    """A column, which of its values are far from the rest, and which of these are fill values."""

    name: str
    values: np.ndarray
    deviations: np.ndarray
    far: np.ndarray
    fill: np.ndarray
    advice: str


def _far_columns(factor: Factor, values: np.ndarray) -> Iterator[_FarColumn]:
    """Yield the columns that have values far from the rest."""
    coordinates = factor.kind.outlier_coordinates(values)
    if coordinates is None:
        return
    for name, original, line in zip(factor.columns, values.T, coordinates.T, strict=True):
        used = np.isfinite(line)
        deviations = np.zeros(len(line))
        deviations[used] = _deviations(line[used])
        far = deviations > MAX_DEVIATIONS
        if far.any():
            fill = np.zeros(len(far), bool)
            fill[far] = _are_fill_values(original[far])
            yield _FarColumn(name, original, deviations, far, fill, _advise(original, line))


def _advise(original: np.ndarray, line: np.ndarray) -> str:
    """What to do about outliers; logarithms help only where they are not used already."""
    if (original > 0).all() and np.array_equal(original, line):
        return "Check them; if they are real, declare positive(…)."
    return "Check them, and remove those that are wrong."


def _are_fill_values(values: np.ndarray) -> np.ndarray:
    """Which values are fill values, and repeat or are too large to be anything else."""
    distinct, which, counts = np.unique(values, return_inverse=True, return_counts=True)
    fill = np.array(FILL_VALUES)
    reach = RELATIVE_TOLERANCE * np.abs(fill)
    starts = np.searchsorted(distinct, fill - reach, side="left")
    ends = np.searchsorted(distinct, fill + reach, side="right")
    near = np.zeros(len(distinct), bool)
    for start, end in zip(starts, ends, strict=True):
        near[start:end] = True
    return (near & ((counts > 1) | (np.abs(distinct) >= SURELY_FILL)))[which.reshape(-1)]


def _deviations(line: np.ndarray) -> np.ndarray:
    """Divide distances from the median by 1.4826 × the median distance on the same side.

    Each side has its own scale, so that skewed data, such as magnitudes, have no outliers.
    """
    centred = line - np.median(line)
    scales = [np.median(np.abs(side)) for side in (centred[centred <= 0], centred[centred >= 0])]
    scale = 1.4826 * np.where(centred > 0, scales[1], scales[0])
    return np.abs(centred) / np.where(scale > 0, scale, np.inf)
