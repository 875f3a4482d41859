"""The kind `direction`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from ...manifolds import AbstractManifold, Sphere
from .base import AxisLabel, Check, Kind, Measure, Points, Values, column_kind
from .unit_vectors import area_measure, expected_components, normalize, unit_checks, vector_axes


@column_kind("direction", order=40)
@dataclass(frozen=True, kw_only=True)
class DirectionKind(Kind):
    """The components of a unit vector, S^d; per radian or steradian, × uniform for d > 2."""

    constrained: ClassVar[bool] = True

    def expected_columns(self) -> str | None:
        return expected_components(self.width)

    def manifold(self) -> AbstractManifold:
        return Sphere(self.width - 1)

    def checks(self, values: Values) -> Iterator[Check]:
        yield from unit_checks(values)

    def encode(self, values: Values) -> Points:
        return normalize(values)

    def decode(self, points: Points) -> Values:
        return points

    def measure(self, columns: Sequence[str]) -> Measure:
        return area_measure(self.width - 1, self.manifold())

    def axes(self, name: str, columns: Sequence[str]) -> tuple[AxisLabel, ...]:
        return vector_axes(columns)

    def project(self, values: Values) -> Values:
        return normalize(values)
