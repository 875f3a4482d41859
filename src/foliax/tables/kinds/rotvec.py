"""The kind `rotvec`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ...manifolds import AbstractManifold, conversions
from .base import AxisLabel, Check, Kind, Measure, Points, Suspicion, Values, column_kind
from .labels import axis_labels, relative_to_uniform
from .options import option
from .periodic import FULL_TURN, angle_unit, unit_suspicions
from .rotation import check_side, point_group, rotation_manifold, side_name


@column_kind("rotvec", order=80)
@dataclass(frozen=True, kw_only=True)
class RotvecKind(Kind):
    """Rotation vectors: axis times angle in `unit`; the output has angles of at most π."""

    roles: ClassVar[tuple[str, ...]] = ("x", "y", "z")
    unit: str = option(angle_unit)
    symmetry: str | None = option(point_group, default=None)
    side: str | None = option(side_name, default=None)

    def __post_init__(self):
        check_side(self.symmetry, self.side)

    def manifold(self) -> AbstractManifold:
        return rotation_manifold(self.symmetry, self.side)

    def checks(self, values: Values) -> Iterator[Check]:
        turn = FULL_TURN[self.unit]
        hint = "Is it in degrees? " if self.unit == "radians" else ""
        yield Check(
            np.linalg.norm(values, axis=1) > turn * (1 + 1e-9),
            lambda row: (
                f"the angle of the rotation vector is {np.linalg.norm(row):.6g}, more than a full "
                f"turn of {turn:.6g}. {hint}State the unit, or wrap it (project)."
            ),
        )

    def encode(self, values: Values) -> Points:
        return conversions.rotations_from_vectors(values, degrees=self.unit == "degrees")

    def decode(self, points: Points) -> Values:
        return conversions.vectors_from_rotations(points, degrees=self.unit == "degrees")

    def measure(self, columns: Sequence[str]) -> Measure:
        return relative_to_uniform(self.manifold())

    def axes(self, name: str, columns: Sequence[str]) -> tuple[AxisLabel, ...]:
        return axis_labels(columns, self.unit)

    def project(self, values: Values) -> Values:
        nearest = values.copy()
        finite = np.isfinite(np.linalg.norm(values, axis=1))
        nearest[finite] = self.decode(self.encode(values[finite]))
        return nearest

    def suspicions(self, values: Values) -> Iterator[Suspicion]:
        yield from unit_suspicions(values, self.unit)
