"""The kind `matrix`."""

from .contract import Case, suite
from .rows import NINE, ROTATIONS, table

CASES = [
    Case(
        f"matrix({NINE.replace(' ', ', ')}, symmetry=432, side=right)",
        table(NINE, ROTATIONS.as_matrix().reshape(-1, 9)),
        "× uniform",
        1,
    ),
]

test_contract = suite(CASES)
