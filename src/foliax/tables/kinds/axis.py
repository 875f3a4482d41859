"""The kind `axis`."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from ...manifolds import AbstractManifold
from .base import AxisLabel, Check, Kind, Measure, Points, Values, column_kind
from .options import option
from .unit_vectors import (
    area_measure,
    expected_components,
    flip_into_hemisphere,
    hemisphere_name,
    infer_hemisphere,
    normalize,
    projective_space,
    unit_checks,
    vector_axes,
)


@column_kind("axis", order=50)
@dataclass(frozen=True, kw_only=True)
class AxisKind(Kind):
    """The components of a unit vector that is the same as its opposite, x ≡ −x: RP^d.

    `hemisphere` is the sign of the last component in the output.
    """

    constrained: ClassVar[bool] = True
    hemisphere: str | None = option(hemisphere_name, default=None)

    def expected_columns(self) -> str | None:
        return expected_components(self.width)

    def manifold(self) -> AbstractManifold:
        return projective_space(self.width - 1)

    def checks(self, values: Values) -> Iterator[Check]:
        yield from unit_checks(values)

    def encode(self, values: Values) -> Points:
        return normalize(values)

    def decode(self, points: Points) -> Values:
        return flip_into_hemisphere(points, self.hemisphere)

    def measure(self, columns: Sequence[str]) -> Measure:
        return area_measure(self.width - 1, self.manifold())

    def axes(self, name: str, columns: Sequence[str]) -> tuple[AxisLabel, ...]:
        return vector_axes(columns)

    def project(self, values: Values) -> Values:
        return normalize(values)

    def infer_conventions(self, values: Values) -> Kind:
        seen = self.hemisphere or infer_hemisphere(values[:, -1])
        return dataclasses.replace(self, hemisphere=seen)
