"""The kind `circle`."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from ...manifolds import AbstractManifold, Torus
from ...manifolds.conversions import angles_from_period, period_from_angles
from ..periods import TURNS, Turn
from .base import AxisLabel, Check, Kind, Measure, Points, Suspicion, Values, column_kind
from .labels import axis_labels, per_power
from .options import number, one_of, option, positive_number
from .periodic import UNITS, Unit, infer_cut, turn_check, unit_suspicions


@column_kind("circle", order=20)
@dataclass(frozen=True, kw_only=True)
class CircleKind(Kind):
    """One angle, or a time that repeats, with a named `unit` or any `period`.

    hours: 24 from 0; day_of_year: 365.25 from 1; months: 12 from 1. `period` overrides the unit's
    period (180 degrees for undirected strikes, 365 days). Output starts at `cut`.
    """

    roles: ClassVar[tuple[str, ...]] = ("angle",)
    unit: str | None = option(one_of(*UNITS), default=None)
    period: float | None = option(positive_number, default=None)
    cut: float | None = option(number, default=None)

    def __post_init__(self):
        if self.unit is None and self.period is None:
            raise ValueError(f"needs a unit ({', '.join(UNITS)}) or a period, e.g. unit=degrees.")

    def _turn(self) -> tuple[float, float]:
        unit = UNITS[self.unit] if self.unit else Unit(1.0, 0.0, "")
        return self.period or unit.period, unit.start if self.cut is None else self.cut

    def manifold(self) -> AbstractManifold:
        return Torus(1)

    def checks(self, values: Values) -> Iterator[Check]:
        yield turn_check(values, *self._turn(), self.unit)

    def encode(self, values: Values) -> Points:
        return angles_from_period(values, self._turn()[0])

    def decode(self, points: Points) -> Values:
        period, low = self._turn()
        return period_from_angles(points, period, low=low)

    def measure(self, columns: Sequence[str]) -> Measure:
        one = UNITS[self.unit].one if self.unit else f"unit of {columns[0]}"
        return Measure(per_power(one, 1), math.log(2 * math.pi / self._turn()[0]))

    def axes(self, name: str, columns: Sequence[str]) -> tuple[AxisLabel, ...]:
        symbol = TURNS[self.unit].symbol if self.unit else ""
        return axis_labels(columns, Turn(symbol, *self._turn()))

    def project(self, values: Values) -> Values:
        return self.decode(self.encode(values))

    def infer_conventions(self, values: Values) -> Kind:
        if self.cut is not None:
            return self
        return dataclasses.replace(self, cut=infer_cut(values, *self._turn()))

    def suspicions(self, values: Values) -> Iterator[Suspicion]:
        yield from unit_suspicions(values, self.unit)
