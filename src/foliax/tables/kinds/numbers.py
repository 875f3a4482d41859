"""Numbers on a line: real, positive, interval, count, integer, rounded."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ...manifolds import (
    AbstractManifold,
    Euclidean,
    Integers,
    Interval,
    Naturals,
    PositiveReals,
    Rounded,
)
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
    option,
    per_column,
    positive_number,
    text,
)


@dataclass(frozen=True, kw_only=True)
class RealKind(Kind):
    """Real numbers, R^d; per unit of each column. `unit` only names it ("km")."""

    name: ClassVar[str] = "real"
    unit: str | None = option(text, default=None)

    def manifold(self) -> AbstractManifold:
        return Euclidean(self.width)

    def checks(self, values: Values) -> Iterator[Check]:
        yield from ()

    def encode(self, values: Values) -> Points:
        return values

    def decode(self, points: Points) -> Values:
        return points

    def measure(self, columns: Sequence[str]) -> Measure:
        return Measure(per_column(columns, self.unit), 0.0)

    def axes(self, name: str, columns: Sequence[str]) -> tuple[Shown, ...]:
        return measured(columns, self.unit)

    def spread(self, values: Values) -> Values | None:
        return values


@dataclass(frozen=True, kw_only=True)
class PositiveKind(Kind):
    """Numbers above 0, (0, ∞)^d; per unit of each column."""

    name: ClassVar[str] = "positive"
    unit: str | None = option(text, default=None)

    def manifold(self) -> AbstractManifold:
        return PositiveReals(self.width)

    def checks(self, values: Values) -> Iterator[Check]:
        yield Check(
            values <= 0,
            lambda v: (
                f"{v:.9g} is not above 0. If it was rounded to 0, declare the column as "
                "rounded(…, step=…); if zeros are real, as real or count."
            ),
        )

    def encode(self, values: Values) -> Points:
        return values

    def decode(self, points: Points) -> Values:
        return points

    def measure(self, columns: Sequence[str]) -> Measure:
        return Measure(per_column(columns, self.unit), 0.0)

    def axes(self, name: str, columns: Sequence[str]) -> tuple[Shown, ...]:
        return measured(columns, self.unit)

    def spread(self, values: Values) -> Values | None:
        return np.log(np.where(values > 0, values, np.nan))


@dataclass(frozen=True, kw_only=True)
class IntervalKind(Kind):
    """Numbers strictly between `low` and `high`; per unit of each column."""

    name: ClassVar[str] = "interval"
    low: float = option(number)
    high: float = option(number)
    unit: str | None = option(text, default=None)

    def __post_init__(self):
        if not self.low < self.high:
            raise ValueError(f"needs low < high, got low={self.low:g} and high={self.high:g}.")

    def manifold(self) -> AbstractManifold:
        return Interval(self.low, self.high, self.width)

    def checks(self, values: Values) -> Iterator[Check]:
        yield Check(
            (values <= self.low) | (values >= self.high),
            lambda v: (
                f"{v:.9g} is not strictly between {self.low:.9g} and {self.high:.9g}. End points "
                "are outside: widen the interval, or declare the column as rounded(…, step=…)."
            ),
        )

    def encode(self, values: Values) -> Points:
        return values

    def decode(self, points: Points) -> Values:
        return points

    def measure(self, columns: Sequence[str]) -> Measure:
        return Measure(per_column(columns, self.unit), 0.0)

    def axes(self, name: str, columns: Sequence[str]) -> tuple[Shown, ...]:
        return measured(columns, self.unit)


def _of(columns: Sequence[str]) -> str:
    return " · ".join(f"probability of {column}" for column in columns)


def _not_whole(values: Values) -> Check:
    return Check(
        values != np.round(values),
        lambda v: (
            f"{v:.9g} is not a whole number. Round it first (project), or declare the column as "
            "real, positive or rounded(…, step=…)."
        ),
    )


def _far_away(steps: Values) -> Iterator[Suspicion]:
    """Cells that single precision cannot tell apart."""
    if np.abs(steps).max() > 2**16:
        yield Suspicion(
            f"values are up to {np.abs(steps).max():.3g} steps from zero",
            "Beyond 65536 steps single precision loses the place within a step, and foliax refuses "
            "the rows. Declare rounded(…, offset=…) near the data, count, or a continuous kind.",
        )


class WholeKind(Kind):
    """Whole numbers, stored as such."""

    continuous: ClassVar[bool] = False

    @property
    def integral(self) -> bool:
        return True

    def encode(self, values: Values) -> Points:
        return values

    def measure(self, columns: Sequence[str]) -> Measure:
        return Measure(_of(columns), 0.0)


@dataclass(frozen=True, kw_only=True)
class CountKind(WholeKind):
    """Counts 0, 1, 2, …; the density is a probability."""

    name: ClassVar[str] = "count"

    def manifold(self) -> AbstractManifold:
        return Naturals(self.width)

    def checks(self, values: Values) -> Iterator[Check]:
        yield Check(
            values < 0,
            lambda v: f"{v:.9g} is negative, not a count. Declare the column as integer or real.",
        )
        yield _not_whole(values)

    def decode(self, points: Points) -> Values:
        return np.maximum(np.round(points), 0.0)

    def mend(self, values: Values) -> Values:
        return np.where(values < 0, values, np.floor(values + 0.5))

    def spread(self, values: Values) -> Values | None:
        return np.log1p(np.maximum(values, 0.0))


@dataclass(frozen=True, kw_only=True)
class IntegerKind(WholeKind):
    """Whole numbers of either sign; the density is a probability."""

    name: ClassVar[str] = "integer"

    def manifold(self) -> AbstractManifold:
        return Integers(self.width)

    def checks(self, values: Values) -> Iterator[Check]:
        yield _not_whole(values)

    def decode(self, points: Points) -> Values:
        return np.round(points)

    def mend(self, values: Values) -> Values:
        return np.floor(values + 0.5)

    def spread(self, values: Values) -> Values | None:
        return values

    def suspicions(self, values: Values) -> Iterator[Suspicion]:
        yield from _far_away(values)


@dataclass(frozen=True, kw_only=True)
class RoundedKind(Kind):
    """Values recorded as offset + a multiple of `step`; `floor`: cut off downwards, like an age.

    Per unit of each column: the probability of the recorded value over step, so that it compares
    with the density of an unrounded column.
    """

    name: ClassVar[str] = "rounded"
    continuous: ClassVar[bool] = False
    step: float = option(positive_number)
    offset: float = option(number, default=0.0)
    floor: bool = option(flag, default=False)
    unit: str | None = option(text, default=None)

    @property
    def integral(self) -> bool:
        return self.step == int(self.step) and self.offset == int(self.offset)

    def manifold(self) -> AbstractManifold:
        return Rounded(self.step, self.width, self.offset, self.floor)

    def checks(self, values: Values) -> Iterator[Check]:
        # A decimal is not exactly a multiple of a decimal: allow for the rounding of the floats.
        steps = (values - self.offset) / self.step
        slack = 1e-6 + 8 * np.finfo(float).eps * np.abs(steps)
        at = f" from {self.offset:.9g}" if self.offset else ""
        yield Check(
            np.abs(steps - np.round(steps)) > slack,
            lambda v: (
                f"{v:.9g} is not a multiple of the step {self.step:.9g}{at}; the nearest is "
                f"{self._nearest(np.array([v]))[0]:.9g}. Use a finer step, or move it there "
                "(project)."
            ),
        )

    def _nearest(self, values: np.ndarray) -> np.ndarray:
        steps = np.round((values - self.offset) / self.step)
        # 48 × 0.1 is 4.800000000000001, but 48 / 10 is the 4.8 that the user has.
        per_unit = round(1 / self.step)
        exact = per_unit > 0 and abs(per_unit * self.step - 1) < 1e-12
        return self.offset + (steps / per_unit if exact else steps * self.step)

    def encode(self, values: Values) -> Points:
        return self._nearest(values)

    def decode(self, points: Points) -> Values:
        return self._nearest(points)

    def measure(self, columns: Sequence[str]) -> Measure:
        return Measure(per_column(columns, self.unit), -self.width * math.log(self.step))

    def axes(self, name: str, columns: Sequence[str]) -> tuple[Shown, ...]:
        return measured(columns, self.unit)

    def mend(self, values: Values) -> Values:
        return self._nearest(values)

    def spread(self, values: Values) -> Values | None:
        return values

    def suspicions(self, values: Values) -> Iterator[Suspicion]:
        yield from _far_away((values - self.offset) / self.step)
