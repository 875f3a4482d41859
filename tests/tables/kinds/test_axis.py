"""The kind `axis`."""

import math

from .contract import Case, suite
from .rows import UNIT, table

CASES = [
    Case("axis(x, y, z)", table("x y z", UNIT), "per steradian", 2 * math.pi),
]

test_contract = suite(CASES)
