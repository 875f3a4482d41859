"""The kind `positive`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ...manifolds import AbstractManifold, PositiveReals
from ...manifolds.digits import format_number
from .base import AxisLabel, Check, Kind, Measure, Points, Values, column_kind
from .labels import axis_labels, per_column
from .options import option, word

MIN_VALUE = float(np.finfo(np.float64).tiny)
"""The smallest number with all digits of a float64; JAX takes smaller ones for 0."""


@column_kind("positive", order=120)
@dataclass(frozen=True, kw_only=True)
class PositiveKind(Kind):
    """Numbers above 0, (0, ∞)^d; per unit of each column."""

    unit: str | None = option(word, default=None)

    def manifold(self) -> AbstractManifold:
        return PositiveReals(self.width)

    def checks(self, values: Values) -> Iterator[Check]:
        yield Check(
            values <= 0,
            lambda v: (
                f"{format_number(v)} is not above 0. If it was rounded to 0, declare the column as "
                "rounded(…, step=…); if zeros are real, as real or count."
            ),
        )
        yield Check(
            (values > 0) & (values < MIN_VALUE),
            lambda v: (
                f"{format_number(v)} is below {MIN_VALUE:.3g}, where floating-point numbers lose "
                "their digits. Use a smaller unit."
            ),
        )

    def encode(self, values: Values) -> Points:
        return values

    def decode(self, points: Points) -> Values:
        return points

    def measure(self, columns: Sequence[str]) -> Measure:
        return Measure(per_column(columns, self.unit), 0.0)

    def axes(self, name: str, columns: Sequence[str]) -> tuple[AxisLabel, ...]:
        return axis_labels(columns, self.unit)

    def outlier_coordinates(self, values: Values) -> Values | None:
        return np.log(np.where(values > 0, values, np.nan))
