"""The kind `fraction`."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ...manifolds import AbstractManifold, Interval
from ...manifolds.digits import format_number
from .base import AxisLabel, Check, Kind, Measure, Points, Suspicion, Values, column_kind
from .labels import axis_labels, per_column
from .options import one_of, option


@column_kind("fraction", order=135)
@dataclass(frozen=True, kw_only=True)
class FractionKind(Kind):
    """Fractions in (0, 1), or percentages in (0, 100) with `unit=percent`; per unit or percent."""

    unit: str | None = option(one_of("percent"), default=None)

    def _whole(self) -> float:
        return 100.0 if self.unit == "percent" else 1.0

    def manifold(self) -> AbstractManifold:
        return Interval(0.0, 1.0, self.width)

    def checks(self, values: Values) -> Iterator[Check]:
        hint = "" if self.unit else "If it is in percent, write unit=percent. "
        yield Check(
            (values <= 0) | (values >= self._whole()),
            lambda v: (
                f"{format_number(v)} is not strictly between 0 and {self._whole():g}. {hint}"
                f"If 0 and {self._whole():g} are rounded, declare the column as rounded(…, step=…)."
            ),
        )

    def encode(self, values: Values) -> Points:
        return values / self._whole()

    def decode(self, points: Points) -> Values:
        return points * self._whole()

    def measure(self, columns: Sequence[str]) -> Measure:
        log_unit = -self.width * math.log(self._whole())
        return Measure(per_column(columns, self.unit), log_unit)

    def axes(self, name: str, columns: Sequence[str]) -> tuple[AxisLabel, ...]:
        return axis_labels(columns, "%" if self.unit else None)

    def suspicions(self, values: Values) -> Iterator[Suspicion]:
        if self.unit == "percent" and values.max() <= 1:
            yield Suspicion(
                f"declared in percent, but no value is above 1 (the largest is {values.max():.3g})",
                "In percent, the data would lie in the lowest hundredth of the range. If they are "
                "plain fractions, leave unit=percent out.",
            )
