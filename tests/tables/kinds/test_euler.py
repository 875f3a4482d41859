"""The kind `euler`."""

from .contract import Case, suite
from .rows import BUNGE, ROTATIONS, table

CASES = [
    Case(
        "euler(phi1, Phi, phi2, convention=bunge, unit=degrees, symmetry=hexagonal)",
        table("phi1 Phi phi2", BUNGE),
        "× uniform",
        1,
    ),
    Case(
        "euler(roll, pitch, yaw, convention=xyz, unit=radians)",
        table("roll pitch yaw", ROTATIONS.as_euler("xyz")),
        "× uniform",
        1,
    ),
]

test_contract = suite(CASES)
