"""SO(3) modulo the crystal point groups: orientations up to symmetry."""

from __future__ import annotations

from scipy.spatial.transform import Rotation

from .quotient import Quotient
from .rotations import SpecialOrthogonal

# Rotation groups (Schönflies, as scipy names them) by Hermann–Mauguin symbol: proper groups, the
# Laue classes that share their rotations, and the crystal systems' holohedries.
POINT_GROUPS = {
    "1": "C1",
    "-1": "C1",
    "triclinic": "C1",
    "2": "C2",
    "2/m": "C2",
    "monoclinic": "C2",
    "222": "D2",
    "mmm": "D2",
    "orthorhombic": "D2",
    "4": "C4",
    "4/m": "C4",
    "422": "D4",
    "4/mmm": "D4",
    "tetragonal": "D4",
    "3": "C3",
    "-3": "C3",
    "32": "D3",
    "-3m": "D3",
    "trigonal": "D3",
    "6": "C6",
    "6/m": "C6",
    "622": "D6",
    "6/mmm": "D6",
    "hexagonal": "D6",
    "23": "T",
    "m-3": "T",
    "432": "O",
    "m-3m": "O",
    "cubic": "O",
}


def Orientations(point_group: str, *, side: str = "right", axis: str = "Z") -> Quotient:
    """SO(3) modulo a crystal point group; measure: Frobenius, volume 2^{3/2}·8π²/|G|.

    Args:
        point_group: A Hermann–Mauguin symbol ("432", "m-3m", "6/mmm"), a crystal system ("cubic")
            or a Schönflies symbol ("O", "D6"). Only the group's rotations act.
        side: "right", the default and the usual convention, for matrices that take crystal
            coordinates to sample coordinates (O ≡ Og); "left" for their inverses (O ≡ gO).
        axis: The principal axis of the group.

    Returns:
        The quotient SO(3)/G.

    Raises:
        ValueError: The point group or the side is unknown.
    """
    symbol = POINT_GROUPS.get(point_group, point_group)
    try:
        group = Rotation.create_group(symbol, axis=axis).as_matrix()
    except ValueError as error:
        known = ", ".join(POINT_GROUPS)
        raise ValueError(
            f"Unknown point group '{point_group}' ({error}). Known: {known}."
        ) from None
    if side not in ("left", "right"):
        raise ValueError(f"side must be 'left' or 'right', got '{side}'.")
    return Quotient(SpecialOrthogonal(3), group, side)
