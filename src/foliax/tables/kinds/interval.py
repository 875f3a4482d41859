"""The kind `interval`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ...manifolds import AbstractManifold, Interval
from ...manifolds.digits import format_number
from .base import AxisLabel, Check, Kind, Measure, Points, Values, column_kind
from .labels import axis_labels, per_column
from .options import number, option, word


@column_kind("interval", order=130)
@dataclass(frozen=True, kw_only=True)
class IntervalKind(Kind):
    """Numbers strictly between `low` and `high`; per unit of each column."""

    low: float = option(number)
    high: float = option(number)
    unit: str | None = option(word, default=None)

    def __post_init__(self):
        if not self.low < self.high:
            low, high = format_number(self.low), format_number(self.high)
            raise ValueError(f"needs low < high, got low={low} and high={high}.")

    def manifold(self) -> AbstractManifold:
        return Interval(self.low, self.high, self.width)

    def checks(self, values: Values) -> Iterator[Check]:
        yield Check(
            (values <= self.low) | (values >= self.high),
            lambda v: (
                f"{format_number(v)} is not strictly between {format_number(self.low)} and "
                f"{format_number(self.high)}. End points are outside: widen the interval, or "
                "declare the column as rounded(…, step=…)."
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
