"""The kind `quaternion`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from ...manifolds import AbstractManifold, conversions
from .base import AxisLabel, Check, Kind, Measure, Points, Values, column_kind
from .labels import relative_to_uniform
from .options import option
from .rotation import check_side, point_group, rotation_axes, rotation_manifold, side_name
from .unit_vectors import normalize, unit_checks


@column_kind("quaternion", order=60)
@dataclass(frozen=True, kw_only=True)
class QuaternionKind(Kind):
    """Unit quaternions w + xi + yj + zk, q ≡ −q; columns by name, because their order varies."""

    roles: ClassVar[tuple[str, ...]] = ("w", "x", "y", "z")
    by_name: ClassVar[bool] = True
    constrained: ClassVar[bool] = True
    symmetry: str | None = option(point_group, default=None)
    side: str | None = option(side_name, default=None)

    def __post_init__(self):
        check_side(self.symmetry, self.side)

    def manifold(self) -> AbstractManifold:
        return rotation_manifold(self.symmetry, self.side)

    def checks(self, values: Values) -> Iterator[Check]:
        yield from unit_checks(values)

    def encode(self, values: Values) -> Points:
        return conversions.rotations_from_quaternions(values, order="wxyz")

    def decode(self, points: Points) -> Values:
        return conversions.quaternions_from_rotations(points, order="wxyz")

    def measure(self, columns: Sequence[str]) -> Measure:
        return relative_to_uniform(self.manifold())

    def axes(self, name: str, columns: Sequence[str]) -> tuple[AxisLabel, ...]:
        return rotation_axes(name, columns)

    def project(self, values: Values) -> Values:
        return normalize(values)
