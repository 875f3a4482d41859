"""The kind `integer`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ...manifolds import AbstractManifold, Integers
from .base import Check, Kind, Measure, Points, Suspicion, Values, column_kind
from .whole_numbers import (
    exact_steps_check,
    probability_measure,
    resolution_suspicions,
    whole_number_check,
)


@column_kind("integer", order=150)
@dataclass(frozen=True, kw_only=True)
class IntegerKind(Kind):
    """Whole numbers of either sign; the density is a probability."""

    continuous: ClassVar[bool] = False

    @property
    def integral(self) -> bool:
        return True

    def manifold(self) -> AbstractManifold:
        return Integers(self.width)

    def checks(self, values: Values) -> Iterator[Check]:
        yield whole_number_check(values)
        yield exact_steps_check(values)

    def encode(self, values: Values) -> Points:
        return values

    def decode(self, points: Points) -> Values:
        return np.round(points)

    def measure(self, columns: Sequence[str]) -> Measure:
        return probability_measure(columns)

    def project(self, values: Values) -> Values:
        return np.floor(values + 0.5)

    def outlier_coordinates(self, values: Values) -> Values | None:
        return values

    def suspicions(self, values: Values) -> Iterator[Suspicion]:
        yield from resolution_suspicions(values)
