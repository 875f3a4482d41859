"""Find the step to which recorded values are rounded."""

from __future__ import annotations

import numpy as np

_STEPS = [mantissa * 10.0**exponent for exponent in range(4, -7, -1) for mantissa in (5, 2, 1)]


def is_on_grid(values: np.ndarray, step: float) -> bool:
    """Whether all values are multiples of the step, up to the rounding of floats."""
    steps = values / step
    slack = 1e-6 + 8 * np.finfo(float).eps * np.abs(steps)
    return bool((np.abs(steps - np.round(steps)) <= slack).all())


def find_step(values: np.ndarray) -> float | None:
    """Find the largest usual step (1, 2 or 5 times a power of ten) that divides all values.

    Returns:
        The step, or None if fewer than a third of the values repeat: then rounding is harmless.
    """
    distinct = np.unique(values)
    if len(values) < 20 or len(distinct) < 3 or 1.5 * len(distinct) > len(values):
        return None
    return next((step for step in _STEPS if is_on_grid(distinct, step)), None)
