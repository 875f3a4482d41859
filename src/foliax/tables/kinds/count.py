"""The kind `count`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ...manifolds import AbstractManifold, Naturals
from .base import Check, Kind, Measure, Points, Values, column_kind
from .whole_numbers import exact_steps_check, probability_measure, whole_number_check


@column_kind("count", order=140)
@dataclass(frozen=True, kw_only=True)
class CountKind(Kind):
    """Counts 0, 1, 2, …; the density is a probability."""

    continuous: ClassVar[bool] = False

    @property
    def integral(self) -> bool:
        return True

    def manifold(self) -> AbstractManifold:
        return Naturals(self.width)

    def checks(self, values: Values) -> Iterator[Check]:
        yield Check(
            values < 0,
            lambda v: f"{v:.9g} is negative, not a count. Declare the column as integer or real.",
        )
        yield whole_number_check(values)
        yield exact_steps_check(values)

    def encode(self, values: Values) -> Points:
        return values

    def decode(self, points: Points) -> Values:
        return np.maximum(np.round(points), 0.0)

    def measure(self, columns: Sequence[str]) -> Measure:
        return probability_measure(columns)

    def project(self, values: Values) -> Values:
        return np.where(values < 0, values, np.floor(values + 0.5))

    def outlier_coordinates(self, values: Values) -> Values | None:
        return np.log1p(np.maximum(values, 0.0))
