"""Rounding: the step on which recorded values lie."""

from __future__ import annotations

import numpy as np

_STEPS = [mantissa * 10.0**exponent for exponent in range(4, -7, -1) for mantissa in (5, 2, 1)]


def on_grid(values: np.ndarray, step: float) -> bool:
    """Whether all values are multiples of the step, up to the rounding of floats."""
    steps = values / step
    slack = 1e-6 + 8 * np.finfo(float).eps * np.abs(steps)
    return bool((np.abs(steps - np.round(steps)) <= slack).all())


def grid_step(values: np.ndarray) -> float | None:
    """The largest usual step (1, 2 or 5 times a power of ten) whose multiples all the values are.

    None where fewer than a third of them repeat: then rounding does no harm.
    """
    distinct = np.unique(values)
    if len(values) < 20 or len(distinct) < 3 or 1.5 * len(distinct) > len(values):
        return None
    return next((step for step in _STEPS if on_grid(distinct, step)), None)
