"""The kind `real`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ...manifolds import AbstractManifold, Euclidean
from .base import AxisLabel, Check, Kind, Measure, Points, Values, column_kind
from .labels import axis_labels, per_column
from .options import option, word


@column_kind("real", order=110)
@dataclass(frozen=True, kw_only=True)
class RealKind(Kind):
    """Real numbers, R^d; per unit of each column. `unit` is a label only ("km")."""

    unit: str | None = option(word, default=None)

    def manifold(self) -> AbstractManifold:
        return Euclidean(self.width)

    def checks(self, values: Values) -> Iterator[Check]:
        yield from ()

    def encode(self, values: Values) -> Points:
        return values

    def decode(self, points: Points) -> Values:
        return points

    def measure(self, columns: Sequence[str]) -> Measure:
        return Measure(per_column(columns, self.unit), 0.0)

    def axes(self, name: str, columns: Sequence[str]) -> tuple[AxisLabel, ...]:
        return axis_labels(columns, self.unit)

    def outlier_coordinates(self, values: Values) -> Values | None:
        return values
