"""The kind `euler`."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from ...manifolds import AbstractManifold, conversions
from .base import AxisLabel, Check, Kind, Measure, Points, Suspicion, Values, column_kind
from .labels import relative_to_uniform
from .options import number, option, word
from .periodic import FULL_TURN, angle_unit, infer_cut, turn_check, unit_suspicions
from .rotation import check_side, point_group, rotation_axes, rotation_manifold, side_name


def euler_convention(raw: Any) -> str:
    """Read "bunge" or three axes, e.g. "ZXZ"."""
    axes = word(raw)
    if axes == "bunge":
        return axes
    if re.fullmatch(r"[xyz]{3}|[XYZ]{3}", axes) and axes[0] != axes[1] != axes[2]:
        return axes
    raise ValueError(
        f"must be bunge, or three axes, each unlike the one before; capital for intrinsic "
        f"rotations (ZXZ, XYZ), small for extrinsic (zxz, xyz); not '{axes}'."
    )


@column_kind("euler", order=70)
@dataclass(frozen=True, kw_only=True)
class EulerKind(Kind):
    """Three Euler angles in the order of `convention`: bunge (φ₁, Φ, φ₂), ZXZ, xyz, …

    Capitals are intrinsic rotations, small letters extrinsic, as in SciPy. In the output, the first
    and the third angle start at `cut`: 0 for bunge, otherwise −180°, unless the data show another.
    """

    roles: ClassVar[tuple[str, ...]] = ("first", "second", "third")
    convention: str = option(euler_convention)
    unit: str = option(angle_unit)
    symmetry: str | None = option(point_group, default=None)
    side: str | None = option(side_name, default=None)
    cut: float | None = option(number, default=None)

    def __post_init__(self):
        check_side(self.symmetry, self._side())

    def _side(self) -> str | None:
        """Return the side; Bunge's angles take crystal to sample coordinates by definition."""
        by_definition = "right" if self.symmetry and self.convention == "bunge" else None
        return self.side or by_definition

    def _axes(self) -> str:
        return conversions.BUNGE if self.convention == "bunge" else self.convention

    def _turn(self) -> tuple[float, float]:
        period = FULL_TURN[self.unit]
        usual = 0.0 if self.convention == "bunge" else -period / 2
        return period, usual if self.cut is None else self.cut

    def manifold(self) -> AbstractManifold:
        return rotation_manifold(self.symmetry, self._side())

    def checks(self, values: Values) -> Iterator[Check]:
        yield turn_check(values, *self._turn(), self.unit)

    def encode(self, values: Values) -> Points:
        degrees = self.unit == "degrees"
        return conversions.rotations_from_euler(values, convention=self._axes(), degrees=degrees)

    def decode(self, points: Points) -> Values:
        angles = conversions.euler_from_rotations(points, convention=self._axes(), degrees=False)
        period, low = self._turn()
        values = angles * (period / (2 * math.pi))
        values[:, ::2] = conversions.period_from_angles(angles[:, ::2], period, low=low)
        return values

    def measure(self, columns: Sequence[str]) -> Measure:
        return relative_to_uniform(self.manifold())

    def axes(self, name: str, columns: Sequence[str]) -> tuple[AxisLabel, ...]:
        return rotation_axes(name, columns)

    def project(self, values: Values) -> Values:
        return self.decode(self.encode(values))

    def infer_conventions(self, values: Values) -> Kind:
        if self.cut is not None:
            return self
        return dataclasses.replace(self, cut=infer_cut(values[:, ::2], *self._turn()))

    def suspicions(self, values: Values) -> Iterator[Suspicion]:
        yield from unit_suspicions(values, self.unit)
