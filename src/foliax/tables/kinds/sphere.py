"""The kind `sphere`."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ...manifolds import AbstractManifold, Sphere
from ...manifolds.conversions import (
    angles_from_period,
    latlon_from_vectors,
    period_from_angles,
    vectors_from_latlon,
)
from ..periods import TURNS, Turn
from .base import AxisLabel, Check, Kind, Measure, Points, Suspicion, Values, column_kind
from .labels import axis_labels
from .options import boolean, number, option
from .periodic import FULL_TURN, angle_unit, infer_cut, turn_check, unit_suspicions
from .unit_vectors import (
    flip_into_hemisphere,
    hemisphere_name,
    infer_hemisphere,
    projective_space,
)


@column_kind("sphere", order=10)
@dataclass(frozen=True, kw_only=True)
class SphereKind(Kind):
    """A latitude and a longitude, S²; in degrees unless `unit=radians`; per steradian.

    Longitudes in the output start at `cut` (−180°). With `axial`, a direction and its opposite are
    the same, and the output is in a `hemisphere`.
    """

    roles: ClassVar[tuple[str, ...]] = ("lat", "lon")
    by_name: ClassVar[bool] = True
    unit: str = option(angle_unit, default="degrees")
    cut: float | None = option(number, default=None)
    axial: bool = option(boolean, default=False)
    hemisphere: str | None = option(hemisphere_name, default=None)

    def __post_init__(self):
        if self.hemisphere and not self.axial:
            raise ValueError("takes a hemisphere only where axial=true.")

    def _turn(self) -> tuple[float, float]:
        period = FULL_TURN[self.unit]
        return period, -period / 2 if self.cut is None else self.cut

    def manifold(self) -> AbstractManifold:
        return projective_space(2) if self.axial else Sphere(2)

    def checks(self, values: Values) -> Iterator[Check]:
        limit = FULL_TURN[self.unit] / 4
        other = "degrees" if self.unit == "radians" else "radians"
        outside = np.abs(values) > limit * (1 + 1e-9)
        outside[:, 1] = False
        yield Check(
            outside,
            lambda v: (
                f"latitude is {v:.9g}, outside [-{limit:.6g}, {limit:.6g}]. Are latitude and "
                f"longitude swapped, or is the unit {other}?"
            ),
        )
        turns = turn_check(values, *self._turn(), self.unit)
        turns.bad[:, 0] = False
        yield turns

    def encode(self, values: Values) -> Points:
        limit = FULL_TURN[self.unit] / 4
        lat, lon = np.clip(values[:, 0], -limit, limit), values[:, 1]
        return vectors_from_latlon(lat, lon, degrees=self.unit == "degrees")

    def decode(self, points: Points) -> Values:
        ends = flip_into_hemisphere(points, self.hemisphere)
        lat, lon = latlon_from_vectors(ends, degrees=False)
        period, low = self._turn()
        lat = lat * (period / (2 * math.pi))
        return np.stack([lat, period_from_angles(lon, period, low=low)], axis=1)

    def measure(self, columns: Sequence[str]) -> Measure:
        return Measure("per steradian", 0.0)

    def axes(self, name: str, columns: Sequence[str]) -> tuple[AxisLabel, ...]:
        return axis_labels(columns, Turn(TURNS[self.unit].symbol, *self._turn()))

    def project(self, values: Values) -> Values:
        """Wrap longitudes. Latitudes beyond the poles are mistakes: they stay invalid."""
        period, low = self._turn()
        lon = period_from_angles(angles_from_period(values[:, 1], period), period, low=low)
        return np.stack([values[:, 0], lon], axis=1)

    def infer_conventions(self, values: Values) -> Kind:
        cut = infer_cut(values[:, 1], *self._turn()) if self.cut is None else self.cut
        seen = infer_hemisphere(values[:, 0]) if self.axial else None
        return dataclasses.replace(self, cut=cut, hemisphere=self.hemisphere or seen)

    def suspicions(self, values: Values) -> Iterator[Suspicion]:
        limit = FULL_TURN[self.unit] / 4
        lat, lon = np.abs(values).T
        if (lat > limit).any() and (lon <= limit).all() and lat.max() <= 4 * limit:
            yield Suspicion(
                f"latitudes reach {lat.max():.6g} and longitudes stay within ±{limit:.4g}: the two "
                "columns look swapped",
                "Swapped columns put points in the wrong places, or nowhere beyond the poles. "
                "Exchange the columns in the schema.",
            )
            return
        if self.unit == "radians" or lat.max() <= math.pi / 2:
            yield from unit_suspicions(values[:, 1], self.unit)
