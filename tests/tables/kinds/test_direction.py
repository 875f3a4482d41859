"""The kind `direction`."""

import math

from .contract import Case, suite
from .rows import UNIT, WXYZ, table

CASES = [
    Case("direction(x, y, z)", table("x y z", UNIT), "per steradian", 4 * math.pi),
    Case("direction(x, y)", {"x": [0.6, 1], "y": [-0.8, 0]}, "per radian", 2 * math.pi),
    Case("direction(w, x, y, z)", table("w x y z", WXYZ), "× uniform", 1),
]

test_contract = suite(CASES)
