"""The kind `rotvec`."""

from .contract import Case, suite
from .rows import ROTATIONS, table

CASES = [
    Case(
        "rotvec(rx, ry, rz, unit=degrees)",
        table("rx ry rz", ROTATIONS.as_rotvec(degrees=True)),
        "× uniform",
        1,
    ),
]

test_contract = suite(CASES)
