"""Rotations in every convention, with crystal symmetry: quaternion, euler, rotvec, matrix.

All are active: they take body (crystal, tool) coordinates to space (sample, world). `symmetry` is a
point group ("cubic", "m-3m", "622"); `side=right` where the rotation takes crystal to sample
coordinates (R ≡ Rg), `side=left` where it is the inverse (R ≡ gR).
"""

from __future__ import annotations

import dataclasses
import functools
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.spatial.transform import Rotation

from ...manifolds import AbstractManifold, Orientations, SpecialOrthogonal, conversions
from ...manifolds.crystals import POINT_GROUPS
from ..errors import nearest
from .angles import TURN, angle_unit, cut_of, unit_suspicions, within_turns
from .base import (
    Check,
    Kind,
    Measure,
    Points,
    Shown,
    Suspicion,
    Values,
    measured,
    number,
    one_of,
    option,
    text,
    times_uniform,
)
from .vectors import normalised, orthonormal_checks, polar, singular, unit_checks

read_side = one_of("left", "right")


def point_group(written: Any) -> str:
    """A point group that has rotations."""
    symbol = text(written)
    try:
        Rotation.create_group(POINT_GROUPS.get(symbol, symbol))
    except ValueError:
        known = ", ".join(POINT_GROUPS)
        hint = nearest(symbol, POINT_GROUPS)
        raise ValueError(f"is no point group: '{symbol}'.{hint} Known: {known}.") from None
    return symbol


def check_side(symmetry: str | None, side: str | None) -> None:
    """A symmetry acts on a side, and a side is only that of a symmetry."""
    if symmetry and not side:
        raise ValueError(
            f"symmetry={symmetry} needs side=right (rotations take crystal to sample coordinates) "
            "or side=left (sample to crystal)."
        )
    if side and not symmetry:
        raise ValueError(f"side={side} is for a symmetry: add symmetry=…, or leave side out.")


@functools.cache
def rotation_manifold(symmetry: str | None, side: str | None) -> AbstractManifold:
    """SO(3), modulo a point group where there is one."""
    if symmetry is None or side is None:
        return SpecialOrthogonal(3)
    return Orientations(symmetry, side=side)


def rotation_axes(name: str, columns: Sequence[str]) -> tuple[Shown, ...]:
    """Axis times angle, under the factor's name where it has one of its own."""
    of = "" if name in columns else f"{name} "
    return tuple(Shown(f"{of}rotation vector {part}") for part in "xyz")


@dataclass(frozen=True, kw_only=True)
class QuaternionKind(Kind):
    """Unit quaternions w + xi + yj + zk, q ≡ −q; columns by name, so the order is no guess."""

    name: ClassVar[str] = "quaternion"
    roles: ClassVar[tuple[str, ...]] = ("w", "x", "y", "z")
    by_name: ClassVar[bool] = True
    bound: ClassVar[bool] = True
    symmetry: str | None = option(point_group, default=None)
    side: str | None = option(read_side, default=None)

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
        return times_uniform(self.manifold())

    def axes(self, name: str, columns: Sequence[str]) -> tuple[Shown, ...]:
        return rotation_axes(name, columns)

    def mend(self, values: Values) -> Values:
        return normalised(values)


def _convention(written: Any) -> str:
    word = text(written)
    if word == "bunge" or (re.fullmatch(r"[xyz]{3}|[XYZ]{3}", word) and _turns(word)):
        return word
    raise ValueError(
        f"is bunge, or three axes without a repeat next to each other, capital for intrinsic "
        f"rotations (ZXZ, XYZ), small for extrinsic (zxz, xyz); not '{word}'."
    )


def _turns(axes: str) -> bool:
    return axes[0] != axes[1] != axes[2]


@dataclass(frozen=True, kw_only=True)
class EulerKind(Kind):
    """Three Euler angles in the order of `convention`: bunge (φ₁, Φ, φ₂), ZXZ, xyz, …

    Capitals are intrinsic rotations, small letters extrinsic, as in SciPy. The first and the third
    angle come out from `cut` on: 0 for bunge, −180° otherwise, unless the data say more.
    """

    name: ClassVar[str] = "euler"
    roles: ClassVar[tuple[str, ...]] = ("first", "second", "third")
    convention: str = option(_convention)
    unit: str = option(angle_unit)
    symmetry: str | None = option(point_group, default=None)
    side: str | None = option(read_side, default=None)
    cut: float | None = option(number, default=None)

    def __post_init__(self):
        check_side(self.symmetry, self._side())

    def _side(self) -> str | None:
        """Bunge's angles are defined as crystal to sample: their side is known."""
        by_definition = "right" if self.symmetry and self.convention == "bunge" else None
        return self.side or by_definition

    def _axes(self) -> str:
        return conversions.BUNGE if self.convention == "bunge" else self.convention

    def _turn(self) -> tuple[float, float]:
        period = TURN[self.unit]
        usual = 0.0 if self.convention == "bunge" else -period / 2
        return period, usual if self.cut is None else self.cut

    def manifold(self) -> AbstractManifold:
        return rotation_manifold(self.symmetry, self._side())

    def checks(self, values: Values) -> Iterator[Check]:
        yield within_turns(values, *self._turn(), self.unit)

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
        return times_uniform(self.manifold())

    def axes(self, name: str, columns: Sequence[str]) -> tuple[Shown, ...]:
        return rotation_axes(name, columns)

    def mend(self, values: Values) -> Values:
        return self.decode(self.encode(values))

    def settle(self, values: Values) -> Kind:
        if self.cut is not None:
            return self
        return dataclasses.replace(self, cut=cut_of(values[:, ::2], *self._turn()))

    def suspicions(self, values: Values) -> Iterator[Suspicion]:
        yield from unit_suspicions(values, self.unit)


@dataclass(frozen=True, kw_only=True)
class RotvecKind(Kind):
    """Rotation vectors: axis times angle in `unit`; they come out with an angle of at most π."""

    name: ClassVar[str] = "rotvec"
    roles: ClassVar[tuple[str, ...]] = ("x", "y", "z")
    unit: str = option(angle_unit)
    symmetry: str | None = option(point_group, default=None)
    side: str | None = option(read_side, default=None)

    def __post_init__(self):
        check_side(self.symmetry, self.side)

    def manifold(self) -> AbstractManifold:
        return rotation_manifold(self.symmetry, self.side)

    def checks(self, values: Values) -> Iterator[Check]:
        turn = TURN[self.unit]
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
        return times_uniform(self.manifold())

    def axes(self, name: str, columns: Sequence[str]) -> tuple[Shown, ...]:
        return measured(columns, self.unit)

    def mend(self, values: Values) -> Values:
        return self.decode(self.encode(values))

    def suspicions(self, values: Values) -> Iterator[Suspicion]:
        yield from unit_suspicions(values, self.unit)


@dataclass(frozen=True, kw_only=True)
class MatrixKind(Kind):
    """Rotation matrices, nine columns row by row: m11, m12, m13, m21, …"""

    name: ClassVar[str] = "matrix"
    bound: ClassVar[bool] = True
    symmetry: str | None = option(point_group, default=None)
    side: str | None = option(read_side, default=None)

    def __post_init__(self):
        check_side(self.symmetry, self.side)

    def widths(self) -> str | None:
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
                "left-handed, or are two axes exchanged? Reflections are frame(…, n=3, p=3)."
            ),
        )

    def encode(self, values: Values) -> Points:
        return polar(values.reshape(-1, 3, 3)).reshape(-1, 9)

    def decode(self, points: Points) -> Values:
        return points

    def measure(self, columns: Sequence[str]) -> Measure:
        return times_uniform(self.manifold())

    def axes(self, name: str, columns: Sequence[str]) -> tuple[Shown, ...]:
        return rotation_axes(name, columns)

    def mend(self, values: Values) -> Values:
        stuck = singular(values.reshape(-1, 3, 3))
        return np.where(stuck[:, None], values, self.encode(values))
