"""What kinds of unit vectors share: checks, normalization, hemispheres, labels."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence

import numpy as np

from ...manifolds import AbstractManifold, ProjectiveSpace
from .base import AxisLabel, Check, Measure, Points, Values
from .labels import per_power, relative_to_uniform
from .options import one_of

TOLERANCE = 0.01
"""Largest accepted deviation of a length from 1: that of components rounded to two decimals."""

hemisphere_name = one_of("upper", "lower")


def _norms(values: Values) -> np.ndarray:
    return np.linalg.norm(values, axis=1)


def unit_checks(values: Values) -> Iterator[Check]:
    """Check that rows are vectors of length 1."""
    norms = _norms(values)
    yield Check(norms == 0, lambda row: "all are 0: a zero vector has no direction. Drop the row.")
    yield Check(
        (norms != 0) & (np.abs(norms - 1) > TOLERANCE),
        lambda row: (
            f"({_list(row)}) has length {np.linalg.norm(row):.6g}, not 1. Divide it by its length "
            "first (project), or check which columns are its components."
        ),
    )


def _list(row: np.ndarray) -> str:
    return ", ".join(f"{v:.6g}" for v in row)


def normalize(values: Values) -> Values:
    """Scale rows to length 1; zero rows stay zero."""
    norms = _norms(values)
    return values / np.where(norms == 0, 1.0, norms)[:, None]


def expected_components(width: int) -> str | None:
    """Describe the columns of a vector; None if there are enough."""
    return None if width >= 2 else "at least two columns, a vector's components"


def area_measure(d: int, manifold: AbstractManifold) -> Measure:
    """Return the measure on a sphere S^d or its quotient: per radian, steradian, or × uniform."""
    names = {1: "radian", 2: "steradian"}
    return Measure(per_power(names[d], 1), 0.0) if d in names else relative_to_uniform(manifold)


def vector_axes(columns: Sequence[str]) -> tuple[AxisLabel, ...]:
    """Label a vector's angles in two or three dimensions, its components in more."""
    if len(columns) == 2:
        return (AxisLabel("angle from {} to {}".format(*columns)),)
    if len(columns) == 3:
        x, y, z = columns
        return AxisLabel(f"elevation towards {z}"), AxisLabel(f"azimuth from {x} to {y}")
    return tuple(AxisLabel(column) for column in columns)


@functools.cache
def projective_space(d: int) -> AbstractManifold:
    """Return RP^d; cached, because a quotient checks its group."""
    return ProjectiveSpace(d)


def infer_hemisphere(heights: np.ndarray) -> str | None:
    """Return the hemisphere that contains all heights; None if they are on both sides."""
    if (heights >= 0).all():
        return "upper"
    return "lower" if (heights <= 0).all() else None


def flip_into_hemisphere(points: Points, hemisphere: str | None) -> Points:
    """Flip axes so that their last component has the hemisphere's sign."""
    if hemisphere is None:
        return points
    sign = 1.0 if hemisphere == "upper" else -1.0
    return np.where(sign * points[:, -1:] < 0, -points, points)
