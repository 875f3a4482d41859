"""Ticks of an axis: round fractions of a turn for angles, round numbers otherwise."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from matplotlib.ticker import MaxNLocator

from .axes import Axis
from .ranges import Range

TICK_STEPS = {
    "°": (1, 2, 5, 10, 15, 20, 30, 45, 60, 90, 180),
    "h": (0.5, 1, 2, 3, 4, 6, 12),
    "month": (1, 2, 3, 6),
    "rad": tuple(math.pi * share for share in (1 / 12, 1 / 6, 1 / 4, 1 / 3, 1 / 2, 1)),
}
"""Spacings of ticks by the symbol of the unit, in that unit."""


class Ticks(NamedTuple):
    """Positions of ticks, and their labels."""

    positions: np.ndarray
    labels: list[str]


def make_ticks(axis: Axis, span: Range, limit: int) -> Ticks:
    """At most `limit` + 1 ticks within a range of the axis."""
    symbol = axis.turn.symbol if axis.turn else ""
    fitting = [step for step in TICK_STEPS.get(symbol, ()) if span.length / step <= limit]
    if fitting and span.length > TICK_STEPS[symbol][0] * 2:
        step = fitting[0]
        first, last = math.ceil(span.low / step - 1e-9), math.floor(span.high / step + 1e-9)
        positions = step * np.arange(first, last + 1, dtype=float)
    else:
        locator = MaxNLocator(limit, steps=[1, 2, 2.5, 5, 10])
        found = np.asarray(locator.tick_values(span.low, span.high))
        positions = found[(found >= span.low) & (found <= span.high)]
    return Ticks(positions, [format_value(axis, float(value)) for value in positions])


def format_value(axis: Axis, value: float) -> str:
    """A value of the axis, shifted into its turn; the end of the turn stays, "24" not "0"."""
    turn = axis.turn
    if turn is None or not axis.wraps:
        return _format_number(value, turn.symbol if turn else "")
    past_start = value - turn.start
    if not 0 <= past_start <= turn.period * (1 + 1e-9):
        past_start %= turn.period
    return _format_number(turn.start + past_start, turn.symbol)


def _format_number(value: float, symbol: str) -> str:
    share = Fraction(value / math.pi).limit_denominator(12)
    if symbol == "rad" and abs(float(share) * math.pi - value) < 1e-9:
        return _format_multiple_of_pi(share)
    return f"{round(value, 9) + 0.0:.6g}".replace("-", "−")


def _format_multiple_of_pi(share: Fraction) -> str:
    """−π/2, 0, 3π/4."""
    if not share:
        return "0"
    times = "" if abs(share.numerator) == 1 else str(abs(share.numerator))
    over = "" if share.denominator == 1 else f"/{share.denominator}"
    return f"{'−' if share < 0 else ''}{times}π{over}"
