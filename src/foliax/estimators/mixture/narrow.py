"""The largest concentration that rows justify, and a warning about components that reach it."""

from __future__ import annotations

import math

import numpy as np
from jaxtyping import Float
from scipy.spatial import KDTree

from .base import AbstractFamily
from .em import Mixture

MIN_SHARE = 0.01
"""The share of the rows below which such components are no warning: they hardly change a score."""


MAX_SPACING_ROWS = 2000
"""Rows whose nearest neighbours are looked up; in many dimensions a look-up visits all rows."""
SPACING_QUANTILE = 0.01
"""The share of the distinct rows whose nearest neighbours say how close together rows can be."""
LEAST_MAX_CONCENTRATION = 1e6
"""A concentration that is allowed for all rows: components of 0.001 radians, 6 km on the Earth."""


def concentration_of_spacing(features: Float[np.ndarray, "n f"]) -> float:
    """Find the concentration of components as narrow as the spacing of distinct rows.

    Copies of a row, as rounded values have, would otherwise draw ever sharper components.

    Args:
        features: Features of the rows, whose distances are those of the rows up to a factor of 2.

    Returns:
        1/d² for the distance d of features that 1 % of the distinct rows have from their nearest
        neighbours; at least 1e6.
    """
    distinct = np.unique(features, axis=0)
    if len(distinct) < 2:
        return LEAST_MAX_CONCENTRATION
    some = np.random.default_rng(0).permutation(len(distinct))[:MAX_SPACING_ROWS]
    nearest = KDTree(distinct).query(distinct[some], 2)[0][:, 1]
    return max(LEAST_MAX_CONCENTRATION, float(np.quantile(nearest, SPACING_QUANTILE)) ** -2)


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
