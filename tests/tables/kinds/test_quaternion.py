"""The kind `quaternion`."""

from .contract import Case, suite
from .rows import WXYZ, table

CASES = [
    Case("quaternion(w=qw, x=qx, y=qy, z=qz)", table("qw qx qy qz", WXYZ), "× uniform", 1),
    Case(
        "quaternion(x=qx, y=qy, z=qz, w=qw, symmetry=m-3m, side=left)",
        table("qx qy qz qw", WXYZ[:, [1, 2, 3, 0]]),
        "× uniform",
        1,
    ),
]

test_contract = suite(CASES)
