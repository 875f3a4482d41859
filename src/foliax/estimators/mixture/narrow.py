"""A warning about components whose width is that of the largest concentration."""

from __future__ import annotations

import math

from .base import AbstractFamily
from .em import Mixture

MIN_SHARE = 0.01
"""The share of the rows below which such components are no warning: they hardly change a score."""


def describe_narrow_components(family: AbstractFamily, mixture: Mixture) -> str:
    """Say how many components are as narrow as allowed, and what to do; "" if none matter.

    Args:
        family: The components' family.
        mixture: What EM found.

    Returns:
        The warning.
    """
    narrow = family.are_narrowest(mixture.parameters)
    share = float(mixture.weights[:-1][narrow].sum())
    if share < MIN_SHARE:
        return ""
    count, k, spread = int(narrow.sum()), len(narrow), family.least_spread
    verb = "is" if count == 1 else "are"
    return (
        f"{count} of {k} components {verb} as narrow as the largest concentration, "
        f"{family.max_concentration:.2g}, allows: a spread of {spread:.2g} radians "
        f"({math.degrees(spread):.2g} degrees). {'It holds' if count == 1 else 'They hold'} "
        f"{100 * share:.3g} % of the rows, which are closer together, and their log densities are "
        "too low. Fit these rows alone with --model kernel, which keeps their digits. If rows "
        "repeat, remove the copies or give them weights."
    )
