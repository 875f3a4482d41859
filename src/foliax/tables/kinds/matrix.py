"""The kind `matrix`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ...manifolds import AbstractManifold
from .base import AxisLabel, Check, Kind, Measure, Points, Values, column_kind
from .labels import relative_to_uniform
from .options import option
from .orthonormal import are_singular, orthonormal_checks, polar_factors
from .rotation import check_side, point_group, rotation_axes, rotation_manifold, side_name


@column_kind("matrix", order=90)
@dataclass(frozen=True, kw_only=True)
class MatrixKind(Kind):
    """Rotation matrices, nine columns row by row: m11, m12, m13, m21, …"""

    constrained: ClassVar[bool] = True
    symmetry: str | None = option(point_group, default=None)
    side: str | None = option(side_name, default=None)

    def __post_init__(self):
        check_side(self.symmetry, self.side)

    def expected_columns(self) -> str | None:
        return None if self.width == 9 else "9 columns, row by row"

    def manifold(self) -> AbstractManifold:
        return rotation_manifold(self.symmetry, self.side)

    def checks(self, values: Values) -> Iterator[Check]:
        matrices = values.reshape(-1, 3, 3)
        yield from orthonormal_checks(matrices)
        yield Check(
            np.linalg.det(matrices) < 0,
            lambda row: (
                "the matrix has determinant −1: a reflection, not a rotation. Is the frame "
                "left-handed, or are two axes exchanged? Declare reflections as frame(…, n=3, p=3)."
            ),
        )

    def encode(self, values: Values) -> Points:
        return polar_factors(values.reshape(-1, 3, 3)).reshape(-1, 9)

    def decode(self, points: Points) -> Values:
        return points

    def measure(self, columns: Sequence[str]) -> Measure:
        return relative_to_uniform(self.manifold())

    def axes(self, name: str, columns: Sequence[str]) -> tuple[AxisLabel, ...]:
        return rotation_axes(name, columns)

    def project(self, values: Values) -> Values:
        singular = are_singular(values.reshape(-1, 3, 3))
        return np.where(singular[:, None], values, self.encode(values))
