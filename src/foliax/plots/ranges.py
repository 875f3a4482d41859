"""Where an axis starts and ends, so that a few outliers do not squeeze the other values."""

from __future__ import annotations

import dataclasses
import math

import numpy as np

from .axes import Axis

TAIL_SHARE = 0.002
"""Share of the values that an axis may cut off at each end."""
MIN_LOG_DECADES = 2.0
"""Positive values that span more decades than this get a logarithmic axis."""
MAX_ARC_SHARE = 0.6
"""Angles that fill more than this share of a turn are shown on the whole turn."""
MARGIN_SHARE = 0.03
"""Margin at each end, as a share of the range."""


@dataclasses.dataclass(frozen=True)
class Range:
    """The part of an axis that a picture shows.

    Attributes:
        low: first value.
        high: last value; that of an angle may lie past the end of the axis' turn.
        is_logarithmic: whether the axis is logarithmic.
        period: period of the values; None where they do not repeat.
    """

    low: float
    high: float
    is_logarithmic: bool = False
    period: float | None = None

    @property
    def length(self) -> float:
        """Length in the axis' unit, or in decades."""
        if self.is_logarithmic:
            return float(np.log10(self.high / self.low))
        return self.high - self.low

    def grid(self, n: int) -> np.ndarray:
        """n evenly spaced values from end to end, geometric on a logarithmic axis."""
        spaced = np.geomspace if self.is_logarithmic else np.linspace
        return spaced(self.low, self.high, n)

    def per_decade(self, values: np.ndarray) -> np.ndarray | float:
        """Factors that turn densities per unit into densities per decade on a log axis."""
        return values * np.log(10) if self.is_logarithmic else 1.0

    def wrap(self, values: np.ndarray) -> np.ndarray:
        """Shift periodic values to within half a period of the middle of the range."""
        if self.period is None:
            return values
        least = (self.low + self.high - self.period) / 2
        return least + np.mod(values - least, self.period)


def inner_range(axis: Axis, samples: np.ndarray, data: np.ndarray | None) -> Range:
    """The range of samples and data without their tails, plus a margin, within the axis' bounds.

    It holds all data if that makes it at most a third longer. Angles that fill most of a turn get
    the whole turn.
    """
    sets = [samples] if data is None or not len(data) else [samples, data]
    if axis.low is not None and axis.high is not None:
        whole = Range(axis.low, axis.high, period=axis.turn.period if axis.turn else None)
        if axis.turn is None:
            return whole
        found = _periodic_range(whole, sets) if axis.wraps else _bounded_range(whole, sets)
        return found if found.length < MAX_ARC_SHARE * whole.length else whole
    low, high = _ends(sets)
    if axis.step is not None:
        return _clip(axis, low, high)
    if axis.positive and high > low * 10**MIN_LOG_DECADES:
        stretch = (high / low) ** MARGIN_SHARE
        return Range(float(low / stretch), float(high * stretch), is_logarithmic=True)
    margin = MARGIN_SHARE * (high - low) or 0.5 * abs(high) or 1.0
    found = _clip(axis, low - margin, high + margin)
    return Range(max(found.low, 0.0), found.high) if axis.positive else found


def _ends(sets: list[np.ndarray]) -> tuple[float, float]:
    low = min(float(np.quantile(values, TAIL_SHARE)) for values in sets)
    high = max(float(np.quantile(values, 1 - TAIL_SHARE)) for values in sets)
    least, most = min(low, float(sets[-1].min())), max(high, float(sets[-1].max()))
    if len(sets) > 1 and most - least <= 4 / 3 * (high - low):
        return least, most
    return low, high


def _bounded_range(whole: Range, sets: list[np.ndarray]) -> Range:
    """The range of an angle that is not periodic, such as a latitude."""
    low, high = _ends(sets)
    margin = MARGIN_SHARE * (high - low) or 0.01 * whole.length
    return Range(max(low - margin, whole.low), min(high + margin, whole.high))


def _periodic_range(whole: Range, sets: list[np.ndarray]) -> Range:
    """An arc that holds the shortest arc of every set; it starts within the axis' turn."""
    period = whole.length
    low, length = shortest_arc(sets[0], period)
    high = low + length
    for values in sets[1:]:
        start, length = shortest_arc(values, period)
        middle = (low + high) / 2
        start += period * round((middle - start - length / 2) / period)
        low, high = min(low, start), max(high, start + length)
    margin = MARGIN_SHARE * (high - low) or 0.01 * period
    low, high = low - margin, high + margin
    turns = math.floor((low - whole.low) / period)
    return Range(low - turns * period, high - turns * period, period=period)


def shortest_arc(values: np.ndarray, period: float) -> tuple[float, float]:
    """Start and length of the shortest arc that holds all but 0.2 % of periodic values."""
    found = np.sort(np.mod(values, period))
    held = max(1, math.ceil((1 - TAIL_SHARE) * len(found)))
    ends = np.concatenate([found, found + period])[held - 1 : held - 1 + len(found)]
    first = int(np.argmin(ends - found))
    return float(found[first]), float(ends[first] - found[first])


def _clip(axis: Axis, low: float, high: float) -> Range:
    least = -np.inf if axis.low is None else axis.low
    most = np.inf if axis.high is None else axis.high
    return Range(float(max(low, least)), float(min(high, most)))
