"""The kind `torsions`."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ...manifolds import AbstractManifold, Torus
from ...manifolds.conversions import angles_from_period, period_from_angles
from ..periods import TURNS, Turn
from .base import AxisLabel, Check, Kind, Measure, Points, Suspicion, Values, column_kind
from .labels import axis_labels, per_power
from .options import number, option
from .periodic import FULL_TURN, UNITS, angle_unit, infer_cut, turn_check, unit_suspicions


@column_kind("torsions", order=30)
@dataclass(frozen=True, kw_only=True)
class TorsionsKind(Kind):
    """Several angles, T^d, in degrees or radians; output starts at `cut` (−180°)."""

    unit: str = option(angle_unit)
    cut: float | None = option(number, default=None)

    def _turn(self) -> tuple[float, float]:
        period = FULL_TURN[self.unit]
        return period, -period / 2 if self.cut is None else self.cut

    def manifold(self) -> AbstractManifold:
        return Torus(self.width)

    def checks(self, values: Values) -> Iterator[Check]:
        yield turn_check(values, *self._turn(), self.unit)

    def encode(self, values: Values) -> Points:
        return angles_from_period(values, self._turn()[0])

    def decode(self, points: Points) -> Values:
        period, low = self._turn()
        return period_from_angles(points, period, low=low)

    def measure(self, columns: Sequence[str]) -> Measure:
        log_unit = self.width * math.log(2 * math.pi / FULL_TURN[self.unit])
        return Measure(per_power(UNITS[self.unit].one, self.width), log_unit)

    def axes(self, name: str, columns: Sequence[str]) -> tuple[AxisLabel, ...]:
        return axis_labels(columns, Turn(TURNS[self.unit].symbol, *self._turn()))

    def project(self, values: Values) -> Values:
        return self.decode(self.encode(values))

    def infer_conventions(self, values: Values) -> Kind:
        if self.cut is not None:
            return self
        return dataclasses.replace(self, cut=infer_cut(values, *self._turn()))

    def suspicions(self, values: Values) -> Iterator[Suspicion]:
        yield from unit_suspicions(values, self.unit)
