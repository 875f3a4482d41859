"""The kind `real`."""

import math

from .contract import Case, suite

CASES = [
    Case("real(a, b)", {"a": [-1.5, 2], "b": [0, 7]}, "per unit of a · per unit of b", math.inf),
]

test_contract = suite(CASES)
