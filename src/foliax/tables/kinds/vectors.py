"""Unit vectors: direction, axis, frame."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Float

from ...manifolds import AbstractManifold, ProjectiveSpace, Sphere, Stiefel
from .base import (
    Check,
    Kind,
    Measure,
    Points,
    Shown,
    Values,
    one_of,
    option,
    power,
    times_uniform,
    whole,
)

TOLERANCE = 0.01
"""Unit up to this is unit rounded to two decimals, and is normalised; more is an error."""


def _norms(values: Values) -> np.ndarray:
    return np.linalg.norm(values, axis=1)


def unit_checks(values: Values) -> Iterator[Check]:
    """Rows must be vectors of length 1."""
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


def normalised(values: Values) -> Values:
    """Rows of length 1; zero rows stay."""
    norms = _norms(values)
    return values / np.where(norms == 0, 1.0, norms)[:, None]


def _area(d: int, manifold: AbstractManifold) -> Measure:
    named = {1: "radian", 2: "steradian"}
    return Measure(power(named[d], 1), 0.0) if d in named else times_uniform(manifold)


def direction_axes(columns: Sequence[str]) -> tuple[Shown, ...]:
    """A vector's angles, in the plane and in space; past that its components."""
    if len(columns) == 2:
        return (Shown("angle from {} to {}".format(*columns)),)
    if len(columns) == 3:
        x, y, z = columns
        return Shown(f"elevation towards {z}"), Shown(f"azimuth from {x} to {y}")
    return tuple(Shown(column) for column in columns)


@dataclass(frozen=True, kw_only=True)
class DirectionKind(Kind):
    """The components of a unit vector, S^{d}; per radian or steradian, × uniform past S²."""

    name: ClassVar[str] = "direction"
    bound: ClassVar[bool] = True

    def widths(self) -> str | None:
        return None if self.width >= 2 else "at least two columns, a vector's components"

    def manifold(self) -> AbstractManifold:
        return Sphere(self.width - 1)

    def checks(self, values: Values) -> Iterator[Check]:
        yield from unit_checks(values)

    def encode(self, values: Values) -> Points:
        return normalised(values)

    def decode(self, points: Points) -> Values:
        return points

    def measure(self, columns: Sequence[str]) -> Measure:
        return _area(self.width - 1, self.manifold())

    def axes(self, name: str, columns: Sequence[str]) -> tuple[Shown, ...]:
        return direction_axes(columns)

    def mend(self, values: Values) -> Values:
        return normalised(values)


@functools.cache
def axes(d: int) -> AbstractManifold:
    """RP^d; its group is checked once."""
    return ProjectiveSpace(d)


read_hemisphere = one_of("upper", "lower")


def hemisphere_of(heights: np.ndarray) -> str | None:
    """The hemisphere that all the user's axes are given in, where it is one."""
    if (heights >= 0).all():
        return "upper"
    return "lower" if (heights <= 0).all() else None


def into_hemisphere(points: Points, hemisphere: str | None) -> Points:
    """The ends of the axes that are in the hemisphere of the last component."""
    if hemisphere is None:
        return points
    sign = 1.0 if hemisphere == "upper" else -1.0
    return np.where(sign * points[:, -1:] < 0, -points, points)


@dataclass(frozen=True, kw_only=True)
class AxisKind(Kind):
    """The components of a unit vector that is the same as its opposite, x ≡ −x: RP^d.

    `hemisphere`: the sign that the last component has in the output.
    """

    name: ClassVar[str] = "axis"
    bound: ClassVar[bool] = True
    hemisphere: str | None = option(read_hemisphere, default=None)

    def widths(self) -> str | None:
        return None if self.width >= 2 else "at least two columns, a vector's components"

    def manifold(self) -> AbstractManifold:
        return axes(self.width - 1)

    def checks(self, values: Values) -> Iterator[Check]:
        yield from unit_checks(values)

    def encode(self, values: Values) -> Points:
        return normalised(values)

    def decode(self, points: Points) -> Values:
        return into_hemisphere(points, self.hemisphere)

    def measure(self, columns: Sequence[str]) -> Measure:
        return _area(self.width - 1, self.manifold())

    def axes(self, name: str, columns: Sequence[str]) -> tuple[Shown, ...]:
        return direction_axes(columns)

    def mend(self, values: Values) -> Values:
        return normalised(values)

    def settle(self, values: Values) -> Kind:
        seen = self.hemisphere or hemisphere_of(values[:, -1])
        return dataclasses.replace(self, hemisphere=seen)


Matrices = Float[np.ndarray, "rows n p"]


def gaps(matrices: Matrices) -> np.ndarray:
    """How far each matrix's columns are from orthonormal: the largest entry of |MᵀM − Id|."""
    products = np.swapaxes(matrices, 1, 2) @ matrices
    return np.abs(products - np.eye(matrices.shape[2])).max((1, 2))


def polar(matrices: Matrices) -> Matrices:
    """The nearest matrices with orthonormal columns."""
    u, _, vh = np.linalg.svd(matrices, full_matrices=False)
    return u @ vh


def singular(matrices: Matrices) -> np.ndarray:
    """Which matrices have no nearest orthonormal one, because their rank is not full."""
    return np.linalg.svd(matrices, compute_uv=False)[:, -1] < 1e-9


def orthonormal_checks(matrices: Matrices) -> Iterator[Check]:
    """Columns must be orthonormal, up to rounding to two decimals."""
    none = singular(matrices)
    yield Check(none, lambda row: "the matrix is singular: it stands for no frame. Drop the row.")
    yield Check(
        ~none & (gaps(matrices) > 2 * TOLERANCE),
        lambda row: (
            "the columns of the matrix are not orthonormal: MᵀM is off the identity by "
            f"{gaps(row.reshape(1, *matrices.shape[1:]))[0]:.3g}. Is it row by row? The nearest "
            "such matrix is its polar factor (project)."
        ),
    )


@dataclass(frozen=True, kw_only=True)
class FrameKind(Kind):
    """n × p matrices with orthonormal columns, row by row: the Stiefel manifold; × uniform."""

    name: ClassVar[str] = "frame"
    bound: ClassVar[bool] = True
    n: int = option(whole)
    p: int = option(whole)

    def __post_init__(self):
        if self.p > self.n:
            raise ValueError(f"needs p ≤ n, got n={self.n} and p={self.p}.")

    def widths(self) -> str | None:
        if self.width == self.n * self.p:
            return None
        return f"n × p = {self.n * self.p} columns, row by row"

    def _matrices(self, values: Values) -> Matrices:
        return values.reshape(-1, self.n, self.p)

    def manifold(self) -> AbstractManifold:
        return Stiefel(self.n, self.p)

    def checks(self, values: Values) -> Iterator[Check]:
        yield from orthonormal_checks(self._matrices(values))

    def encode(self, values: Values) -> Points:
        return polar(self._matrices(values)).reshape(-1, self.width)

    def decode(self, points: Points) -> Values:
        return points

    def measure(self, columns: Sequence[str]) -> Measure:
        return times_uniform(self.manifold())

    def mend(self, values: Values) -> Values:
        return np.where(singular(self._matrices(values))[:, None], values, self.encode(values))
