"""Where an axis begins and ends, so that a few far values do not squeeze the others."""

from __future__ import annotations

import dataclasses

import numpy as np

from .axes import Axis

TAIL = 0.002
DECADES = 2.0
"""Positive values that span more than this get a logarithmic axis."""


@dataclasses.dataclass(frozen=True)
class Range:
    """From low to high, by differences or by ratios."""

    low: float
    high: float
    logarithmic: bool = False

    @property
    def length(self) -> float:
        """In the unit, or in decades."""
        return float(np.log10(self.high / self.low)) if self.logarithmic else self.high - self.low

    def spaced(self, n: int) -> np.ndarray:
        """n values from end to end."""
        spaced = np.geomspace if self.logarithmic else np.linspace
        return spaced(self.low, self.high, n)

    def per_decade(self, values: np.ndarray) -> np.ndarray | float:
        """What makes a density per unit one per decade, on a logarithmic axis."""
        return values * np.log(10) if self.logarithmic else 1.0


def inner_range(axis: Axis, samples: np.ndarray, data: np.ndarray | None) -> Range:
    """The range of both but for the farthest 0.2 %, widened a little, within the axis' own.

    All of the data where that is at most a third more.
    """
    if axis.low is not None and axis.high is not None:
        return Range(axis.low, axis.high)
    sets = [samples] if data is None or not len(data) else [samples, data]
    low = min(float(np.quantile(values, TAIL)) for values in sets)
    high = max(float(np.quantile(values, 1 - TAIL)) for values in sets)
    ends = min(low, float(sets[-1].min())), max(high, float(sets[-1].max()))
    if data is not None and ends[1] - ends[0] <= 4 / 3 * (high - low):
        low, high = ends
    if axis.step is not None:
        return _within(axis, low, high)
    if axis.positive and high > low * 10**DECADES:
        stretch = (high / low) ** 0.03
        return Range(float(low / stretch), float(high * stretch), logarithmic=True)
    margin = 0.03 * (high - low) or 0.5 * abs(high) or 1.0
    found = _within(axis, low - margin, high + margin)
    return Range(max(found.low, 0.0), found.high) if axis.positive else found


def _within(axis: Axis, low: float, high: float) -> Range:
    least = -np.inf if axis.low is None else axis.low
    most = np.inf if axis.high is None else axis.high
    return Range(float(max(low, least)), float(min(high, most)))
