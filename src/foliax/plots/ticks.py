"""Ticks of an axis that repeats: round shares of a turn, written as the user writes them."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from matplotlib.ticker import MaxNLocator

from .axes import Axis
from .ranges import Range

STEPS = {
    "°": (1, 2, 5, 10, 15, 20, 30, 45, 60, 90, 180),
    "h": (0.5, 1, 2, 3, 4, 6, 12),
    "month": (1, 2, 3, 6),
    "rad": tuple(math.pi * share for share in (1 / 12, 1 / 6, 1 / 4, 1 / 3, 1 / 2, 1)),
}


class Ticks(NamedTuple):
    """Where ticks are, and what is written at them."""

    places: np.ndarray
    labels: list[str]


def ticks(axis: Axis, span: Range, most: int) -> Ticks:
    """At most `most` + 1 ticks within a range of the axis."""
    symbol = axis.turn.symbol if axis.turn else ""
    fitting = [step for step in STEPS.get(symbol, ()) if span.length / step <= most]
    if fitting and span.length > STEPS[symbol][0] * 2:
        step = fitting[0]
        first, last = math.ceil(span.low / step - 1e-9), math.floor(span.high / step + 1e-9)
        places = step * np.arange(first, last + 1, dtype=float)
    else:
        locator = MaxNLocator(most, steps=[1, 2, 2.5, 5, 10])
        found = np.asarray(locator.tick_values(span.low, span.high))
        places = found[(found >= span.low) & (found <= span.high)]
    return Ticks(places, [written(axis, float(value)) for value in places])


def written(axis: Axis, value: float) -> str:
    """A value of the axis, within the user's turn, whose end is written as such."""
    turn = axis.turn
    if turn is None or not axis.wraps:
        return _number(value, turn.symbol if turn else "")
    within = value - turn.start
    over = within % turn.period if not 0 <= within <= turn.period * (1 + 1e-9) else within
    return _number(turn.start + over, turn.symbol)


def _number(value: float, symbol: str) -> str:
    share = Fraction(value / math.pi).limit_denominator(12)
    if symbol == "rad" and abs(float(share) * math.pi - value) < 1e-9:
        return _of_pi(share)
    return f"{round(value, 9) + 0.0:.6g}".replace("-", "−")


def _of_pi(share: Fraction) -> str:
    """−π/2, 0, 3π/4."""
    if not share:
        return "0"
    times = "" if abs(share.numerator) == 1 else str(abs(share.numerator))
    over = "" if share.denominator == 1 else f"/{share.denominator}"
    return f"{'−' if share < 0 else ''}{times}π{over}"
