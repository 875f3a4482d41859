"""What kinds of rotations share: crystal symmetry, its side, labels.

All rotations are active: they take body (crystal, tool) coordinates to space (sample, world)
coordinates. `symmetry` is a point group ("cubic", "m-3m", "622"). `side=right` means that rotations
take crystal to sample coordinates (R ≡ Rg), `side=left` that they are the inverses (R ≡ gR).
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from scipy.spatial.transform import Rotation

from ...manifolds import AbstractManifold, Orientations, SpecialOrthogonal
from ...manifolds.crystals import POINT_GROUPS
from ..errors import suggest
from .base import AxisLabel
from .options import one_of, word

side_name = one_of("left", "right")


def point_group(raw: Any) -> str:
    """Read a point group that has rotations."""
    symbol = word(raw)
    try:
        Rotation.create_group(POINT_GROUPS.get(symbol, symbol))
    except ValueError:
        known = ", ".join(POINT_GROUPS)
        hint = suggest(symbol, POINT_GROUPS)
        raise ValueError(f"is not a point group: '{symbol}'.{hint} Known: {known}.") from None
    return symbol


def check_side(symmetry: str | None, side: str | None) -> None:
    """Check that a symmetry has a side, and that a side has a symmetry."""
    if symmetry and not side:
        raise ValueError(
            f"symmetry={symmetry} needs side=right (rotations take crystal to sample coordinates) "
            "or side=left (sample to crystal)."
        )
    if side and not symmetry:
        raise ValueError(f"side={side} is for a symmetry: add symmetry=…, or leave side out.")


@functools.cache
def rotation_manifold(symmetry: str | None, side: str | None) -> AbstractManifold:
    """Return SO(3), modulo a point group if there is one."""
    if symmetry is None or side is None:
        return SpecialOrthogonal(3)
    return Orientations(symmetry, side=side)


def rotation_axes(name: str, columns: Sequence[str]) -> tuple[AxisLabel, ...]:
    """Label the rotation vector, with the factor's name if that is not a column's."""
    prefix = "" if name in columns else f"{name} "
    return tuple(AxisLabel(f"{prefix}rotation vector {part}") for part in "xyz")
