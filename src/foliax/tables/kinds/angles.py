"""Angles and positions on the globe: circle, torsions, sphere."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from ...manifolds import AbstractManifold, Sphere, Torus
from ...manifolds.conversions import (
    angles_from_period,
    latlon_from_vectors,
    period_from_angles,
    vectors_from_latlon,
)
from ..periods import TURNS, Turn
from .base import (
    Check,
    Kind,
    Measure,
    Points,
    Shown,
    Suspicion,
    Values,
    flag,
    measured,
    number,
    one_of,
    option,
    positive_number,
    power,
)
from .vectors import axes, hemisphere_of, into_hemisphere, read_hemisphere


class Unit(NamedTuple):
    """What repeats after `period`, counted from `start`; `one` of it, in words."""

    period: float
    start: float
    one: str


UNITS = {
    "degrees": Unit(360.0, 0.0, "degree"),
    "radians": Unit(2 * math.pi, 0.0, "radian"),
    "hours": Unit(24.0, 0.0, "hour"),
    "day_of_year": Unit(365.25, 1.0, "day"),
    "months": Unit(12.0, 1.0, "month"),
}
TURN = {unit: UNITS[unit].period for unit in ("degrees", "radians")}

angle_unit = one_of("degrees", "radians")


def cut_of(values: np.ndarray, period: float, start: float) -> float:
    """Where the user's turn begins: the first usual place whose turn holds all the values.

    `start`, then 0, then −period/2, then a multiple of a quarter turn, then the least value; where
    the values span more than a turn, `start`.
    """
    low, high = float(values.min()), float(values.max())
    quarter = math.floor(low / (period / 4)) * (period / 4)
    for cut in (start, 0.0, -period / 2, quarter, low):
        if cut <= low and high <= cut + period:
            return cut
    return start


def within_turns(values: np.ndarray, period: float, low: float, unit: str | None) -> Check:
    """Values more than a turn away from the beginning of the turn are taken for another unit."""
    hint = "Is it in degrees? " if unit == "radians" else ""
    return Check(
        np.abs(values) > (period + abs(low)) * (1 + 1e-9),
        lambda v: (
            f"{v:.9g} is more than a full turn of {period:.6g}. {hint}"
            "State the unit or the period, or wrap it (project)."
        ),
    )


def unit_suspicions(values: np.ndarray, unit: str | None) -> Iterator[Suspicion]:
    """Degrees that look like radians, and the reverse."""
    least, most = float(values.min()), float(values.max())
    turn = 2 * math.pi * (1 + 1e-6)
    if unit == "degrees" and max(-least, most) <= turn and math.pi < most - least <= turn:
        yield Suspicion(
            f"declared in degrees, but all values are within one turn of radians "
            f"({least:.3g} to {most:.3g})",
            "In degrees, the data would be a spot a few degrees wide, and the density a spike. "
            "If they are radians, write unit=radians.",
        )
    if unit == "radians" and (np.abs(values) > turn).mean() > 0.05:
        yield Suspicion(
            f"declared in radians, but values run from {least:.3g} to {most:.3g}",
            "Degrees wrapped as radians are scattered almost evenly, and any structure is lost. "
            "If they are degrees, write unit=degrees.",
        )


@dataclass(frozen=True, kw_only=True)
class CircleKind(Kind):
    """One angle, or a time that repeats; `unit` by name, or any `period`; output from `cut` on.

    hours: 24 from 0; day_of_year: 365.25 from 1; months: 12 from 1. `period` overrides the unit's
    (180 degrees for undirected strikes, 365 days).
    """

    name: ClassVar[str] = "circle"
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
        yield within_turns(values, *self._turn(), self.unit)

    def encode(self, values: Values) -> Points:
        return angles_from_period(values, self._turn()[0])

    def decode(self, points: Points) -> Values:
        period, low = self._turn()
        return period_from_angles(points, period, low=low)

    def measure(self, columns: Sequence[str]) -> Measure:
        one = UNITS[self.unit].one if self.unit else f"unit of {columns[0]}"
        return Measure(power(one, 1), math.log(2 * math.pi / self._turn()[0]))

    def axes(self, name: str, columns: Sequence[str]) -> tuple[Shown, ...]:
        symbol = TURNS[self.unit].symbol if self.unit else ""
        return measured(columns, Turn(symbol, *self._turn()))

    def mend(self, values: Values) -> Values:
        return self.decode(self.encode(values))

    def settle(self, values: Values) -> Kind:
        if self.cut is not None:
            return self
        return dataclasses.replace(self, cut=cut_of(values, *self._turn()))

    def suspicions(self, values: Values) -> Iterator[Suspicion]:
        yield from unit_suspicions(values, self.unit)


@dataclass(frozen=True, kw_only=True)
class TorsionsKind(Kind):
    """Angles that belong together, T^d, in degrees or radians; output from `cut` (−180°) on."""

    name: ClassVar[str] = "torsions"
    unit: str = option(angle_unit)
    cut: float | None = option(number, default=None)

    def _turn(self) -> tuple[float, float]:
        period = TURN[self.unit]
        return period, -period / 2 if self.cut is None else self.cut

    def manifold(self) -> AbstractManifold:
        return Torus(self.width)

    def checks(self, values: Values) -> Iterator[Check]:
        yield within_turns(values, *self._turn(), self.unit)

    def encode(self, values: Values) -> Points:
        return angles_from_period(values, self._turn()[0])

    def decode(self, points: Points) -> Values:
        period, low = self._turn()
        return period_from_angles(points, period, low=low)

    def measure(self, columns: Sequence[str]) -> Measure:
        log_unit = self.width * math.log(2 * math.pi / TURN[self.unit])
        return Measure(power(UNITS[self.unit].one, self.width), log_unit)

    def axes(self, name: str, columns: Sequence[str]) -> tuple[Shown, ...]:
        return measured(columns, Turn(TURNS[self.unit].symbol, *self._turn()))

    def mend(self, values: Values) -> Values:
        return self.decode(self.encode(values))

    def settle(self, values: Values) -> Kind:
        if self.cut is not None:
            return self
        return dataclasses.replace(self, cut=cut_of(values, *self._turn()))

    def suspicions(self, values: Values) -> Iterator[Suspicion]:
        yield from unit_suspicions(values, self.unit)


@dataclass(frozen=True, kw_only=True)
class SphereKind(Kind):
    """A latitude and a longitude, S²; in degrees unless `unit=radians`; per steradian.

    Longitudes come out from `cut` (−180°) on. `axial`: a direction and its opposite are one, and
    come out in a `hemisphere`.
    """

    name: ClassVar[str] = "sphere"
    roles: ClassVar[tuple[str, ...]] = ("lat", "lon")
    by_name: ClassVar[bool] = True
    unit: str = option(angle_unit, default="degrees")
    cut: float | None = option(number, default=None)
    axial: bool = option(flag, default=False)
    hemisphere: str | None = option(read_hemisphere, default=None)

    def __post_init__(self):
        if self.hemisphere and not self.axial:
            raise ValueError("takes a hemisphere only where axial=true.")

    def _turn(self) -> tuple[float, float]:
        period = TURN[self.unit]
        return period, -period / 2 if self.cut is None else self.cut

    def manifold(self) -> AbstractManifold:
        return axes(2) if self.axial else Sphere(2)

    def checks(self, values: Values) -> Iterator[Check]:
        limit = TURN[self.unit] / 4
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
        turns = within_turns(values, *self._turn(), self.unit)
        turns.bad[:, 0] = False
        yield turns

    def encode(self, values: Values) -> Points:
        limit = TURN[self.unit] / 4
        lat, lon = np.clip(values[:, 0], -limit, limit), values[:, 1]
        return vectors_from_latlon(lat, lon, degrees=self.unit == "degrees")

    def decode(self, points: Points) -> Values:
        ends = into_hemisphere(points, self.hemisphere)
        lat, lon = latlon_from_vectors(ends, degrees=False)
        period, low = self._turn()
        lat = lat * (period / (2 * math.pi))
        return np.stack([lat, period_from_angles(lon, period, low=low)], axis=1)

    def measure(self, columns: Sequence[str]) -> Measure:
        return Measure("per steradian", 0.0)

    def axes(self, name: str, columns: Sequence[str]) -> tuple[Shown, ...]:
        return measured(columns, Turn(TURNS[self.unit].symbol, *self._turn()))

    def mend(self, values: Values) -> Values:
        """Longitudes wrapped; a latitude past the pole is a mistake that no projection mends."""
        period, low = self._turn()
        lon = period_from_angles(angles_from_period(values[:, 1], period), period, low=low)
        return np.stack([values[:, 0], lon], axis=1)

    def settle(self, values: Values) -> Kind:
        cut = cut_of(values[:, 1], *self._turn()) if self.cut is None else self.cut
        seen = hemisphere_of(values[:, 0]) if self.axial else None
        return dataclasses.replace(self, cut=cut, hemisphere=self.hemisphere or seen)

    def suspicions(self, values: Values) -> Iterator[Suspicion]:
        limit = TURN[self.unit] / 4
        lat, lon = np.abs(values).T
        if (lat > limit).any() and (lon <= limit).all() and lat.max() <= 4 * limit:
            yield Suspicion(
                f"latitudes reach {lat.max():.6g} and longitudes stay within ±{limit:.4g}: the two "
                "columns look swapped",
                "Swapped, points land in the wrong places and those past the poles nowhere. "
                "Exchange the columns in the schema.",
            )
            return
        if self.unit == "radians" or lat.max() <= math.pi / 2:
            yield from unit_suspicions(values[:, 1], self.unit)
