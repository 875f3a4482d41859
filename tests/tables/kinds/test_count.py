"""The kind `count`."""

import math

from .contract import Case, suite

CASES = [
    Case("count(n)", {"n": [0, 3, 100000]}, "probability of n", math.inf),
]

test_contract = suite(CASES)
