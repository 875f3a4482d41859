"""The kind `rounded`."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ...manifolds import AbstractManifold, Rounded
from .base import AxisLabel, Check, Kind, Measure, Points, Suspicion, Values, column_kind
from .labels import axis_labels, per_column
from .options import boolean, number, option, positive_number, word
from .whole_numbers import exact_steps_check, resolution_suspicions

MAX_STEPS_PER_UNIT = 1e15
"""Steps in a unit that a float64 can count exactly."""


@column_kind("rounded", order=160)
@dataclass(frozen=True, kw_only=True)
class RoundedKind(Kind):
    """Values recorded as offset + a multiple of `step`; with `floor` rounded down, like an age.

    Per unit of each column: the probability of the recorded value divided by step, so that it is
    comparable with the density of an unrounded column.
    """

    continuous: ClassVar[bool] = False
    step: float = option(positive_number)
    offset: float = option(number, default=0.0)
    floor: bool = option(boolean, default=False)
    unit: str | None = option(word, default=None)

    @property
    def integral(self) -> bool:
        return self.step == int(self.step) and self.offset == int(self.offset)

    def manifold(self) -> AbstractManifold:
        return Rounded(self.step, self.width, self.offset, self.floor)

    def checks(self, values: Values) -> Iterator[Check]:
        # A decimal is not exactly a multiple of a decimal: allow for the rounding of the floats.
        steps = (values - self.offset) / self.step
        slack = 1e-6 + 8 * np.finfo(float).eps * np.abs(steps)
        start = f" from {self.offset:.9g}" if self.offset else ""
        # An overflow to infinity is no multiple of the step.
        yield Check(
            ~(np.abs(steps - np.round(steps)) <= slack),
            lambda v: (
                f"{v:.9g} is not a multiple of the step {self.step:.9g}{start}; the nearest is "
                f"{self._nearest(np.array([v]))[0]:.9g}. Use a finer step, or move it there "
                "(project)."
            ),
        )

        yield exact_steps_check(values, self.step, self.offset)

    def _nearest(self, values: np.ndarray) -> np.ndarray:
        steps = np.round((values - self.offset) / self.step)
        # 48 × 0.1 is 4.800000000000001, but 48 / 10 is the 4.8 that the user has.
        per_unit = round(min(1 / self.step, MAX_STEPS_PER_UNIT))
        exact = per_unit > 0 and abs(per_unit * self.step - 1) < 1e-12
        return self.offset + (steps / per_unit if exact else steps * self.step)

    def encode(self, values: Values) -> Points:
        return self._nearest(values)

    def decode(self, points: Points) -> Values:
        return self._nearest(points)

    def measure(self, columns: Sequence[str]) -> Measure:
        return Measure(per_column(columns, self.unit), -self.width * math.log(self.step))

    def axes(self, name: str, columns: Sequence[str]) -> tuple[AxisLabel, ...]:
        return axis_labels(columns, self.unit)

    def project(self, values: Values) -> Values:
        return self._nearest(values)

    def outlier_coordinates(self, values: Values) -> Values | None:
        return values

    def suspicions(self, values: Values) -> Iterator[Suspicion]:
        yield from resolution_suspicions((values - self.offset) / self.step)
