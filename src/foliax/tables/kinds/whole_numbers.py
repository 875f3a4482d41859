"""What kinds of whole numbers and steps share: the label, a check, a suspicion."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from .base import Check, Measure, Suspicion, Values

MAX_WHOLE_NUMBER = 2**53
"""Below it, float64 holds every whole number. It reads 2^53 + 1 as 2^53."""


def probability_measure(columns: Sequence[str]) -> Measure:
    """Return the measure of discrete columns, whose density is a probability."""
    return Measure(" · ".join(f"probability of {column}" for column in columns), 0.0)


def whole_number_check(values: Values) -> Check:
    """Check that values are whole numbers."""
    return Check(
        values != np.round(values),
        lambda v: (
            f"{v:.9g} is not a whole number. Round it first (project), or declare the column as "
            "real, positive or rounded(…, step=…)."
        ),
    )


def exact_steps_check(values: Values, step: float = 1.0, offset: float = 0.0) -> Check:
    """Check that float64 tells values that are a step apart from each other.

    Args:
        values: The values.
        step: The distance of neighbouring values.
        offset: A value that counts as zero steps.

    Returns:
        A check of single values.
    """
    what = "whole numbers" if step == 1 else f"multiples of {step:.9g}"
    limit = MAX_WHOLE_NUMBER * step
    shown = f"2^53 ({MAX_WHOLE_NUMBER})" if step == 1 else f"2^53 steps ({limit:.9g})"
    return Check(
        np.maximum(np.abs(values), np.abs(values - offset)) >= limit,
        lambda v: (
            f"{_all_digits(v)} is not within ±{shown}: beyond it, float64 cannot tell {what} "
            "apart. Subtract an offset from the column before it is read."
        ),
    )


def _all_digits(value: float | int) -> str:
    """Every digit of a whole number that has at most 20; otherwise what a float64 holds."""
    is_short = value == int(value) and abs(value) < 1e20
    return str(int(value)) if is_short else f"{value:.17g}"


def resolution_suspicions(steps: Values) -> Iterator[Suspicion]:
    """Look for cells so far from their median that single precision cannot resolve them."""
    apart = np.abs(steps - np.median(steps)).max()
    if apart > 2**23:
        yield Suspicion(
            f"values are up to {apart:.3g} steps from their median",
            "Beyond 8388608 steps single precision cannot tell neighbouring values apart, and "
            "foliax refuses the rows. Declare the column as count or a continuous kind.",
        )
