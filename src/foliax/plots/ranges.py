"""Where an axis begins and ends, so that a few far values do not squeeze the others."""

from __future__ import annotations

import dataclasses
import math

import numpy as np

from .axes import Axis

TAIL = 0.002
DECADES = 2.0
"""Positive values that span more than this get a logarithmic axis."""
WHOLE = 0.6
"""Angles that take more than this share of a turn are shown on the whole of it."""
MARGIN = 0.03


@dataclasses.dataclass(frozen=True)
class Range:
    """From low to high, by differences or by ratios; `period`: of values that repeat."""

    low: float
    high: float
    logarithmic: bool = False
    period: float | None = None

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

    def placed(self, values: np.ndarray) -> np.ndarray:
        """Values where the range shows them: those that repeat, within a turn about its middle."""
        if self.period is None:
            return values
        least = (self.low + self.high - self.period) / 2
        return least + np.mod(values - least, self.period)


def inner_range(axis: Axis, samples: np.ndarray, data: np.ndarray | None) -> Range:
    """The range of both but for the farthest 0.2 %, widened a little, within the axis' own.

    All of the data where that is at most a third more. Angles that fill most of the axis' own
    range have all of it.
    """
    sets = [samples] if data is None or not len(data) else [samples, data]
    if axis.low is not None and axis.high is not None:
        whole = Range(axis.low, axis.high, period=axis.turn.period if axis.turn else None)
        if axis.turn is None:
            return whole
        found = _arc(whole, sets) if axis.wraps else _part(whole, sets)
        return found if found.length < WHOLE * whole.length else whole
    low, high = _ends(sets)
    if axis.step is not None:
        return _within(axis, low, high)
    if axis.positive and high > low * 10**DECADES:
        stretch = (high / low) ** MARGIN
        return Range(float(low / stretch), float(high * stretch), logarithmic=True)
    margin = MARGIN * (high - low) or 0.5 * abs(high) or 1.0
    found = _within(axis, low - margin, high + margin)
    return Range(max(found.low, 0.0), found.high) if axis.positive else found


def _ends(sets: list[np.ndarray]) -> tuple[float, float]:
    low = min(float(np.quantile(values, TAIL)) for values in sets)
    high = max(float(np.quantile(values, 1 - TAIL)) for values in sets)
    least, most = min(low, float(sets[-1].min())), max(high, float(sets[-1].max()))
    if len(sets) > 1 and most - least <= 4 / 3 * (high - low):
        return least, most
    return low, high


def _part(whole: Range, sets: list[np.ndarray]) -> Range:
    """Of an angle that does not repeat, such as a latitude."""
    low, high = _ends(sets)
    margin = MARGIN * (high - low) or 0.01 * whole.length
    return Range(max(low - margin, whole.low), min(high + margin, whole.high))


def _arc(whole: Range, sets: list[np.ndarray]) -> Range:
    """The arc that holds the shortest arcs of all sets; it begins within the axis' turn."""
    period = whole.length
    low, length = shortest_arc(sets[0], period)
    high = low + length
    for values in sets[1:]:
        start, length = shortest_arc(values, period)
        middle = (low + high) / 2
        start += period * round((middle - start - length / 2) / period)
        low, high = min(low, start), max(high, start + length)
    margin = MARGIN * (high - low) or 0.01 * period
    low, high = low - margin, high + margin
    turns = math.floor((low - whole.low) / period)
    return Range(low - turns * period, high - turns * period, period=period)


def shortest_arc(values: np.ndarray, period: float) -> tuple[float, float]:
    """Start and length of the shortest arc with all but 0.2 % of values that repeat."""
    found = np.sort(np.mod(values, period))
    held = max(1, math.ceil((1 - TAIL) * len(found)))
    ends = np.concatenate([found, found + period])[held - 1 : held - 1 + len(found)]
    first = int(np.argmin(ends - found))
    return float(found[first]), float(ends[first] - found[first])


def _within(axis: Axis, low: float, high: float) -> Range:
    least = -np.inf if axis.low is None else axis.low
    most = np.inf if axis.high is None else axis.high
    return Range(float(max(low, least)), float(min(high, most)))
