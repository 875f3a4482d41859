"""What kinds of whole numbers and steps share: the label, a check, a suspicion."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from .base import Check, Measure, Suspicion, Values


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


def resolution_suspicions(steps: Values) -> Iterator[Suspicion]:
    """Look for cells so far from their median that single precision cannot resolve them."""
    apart = np.abs(steps - np.median(steps)).max()
    if apart > 2**23:
        yield Suspicion(
            f"values are up to {apart:.3g} steps from their median",
            "Beyond 8388608 steps single precision cannot tell neighbouring values apart, and "
            "foliax refuses the rows. Declare the column as count or a continuous kind.",
        )
