"""The kind `integer`."""

import math

from .contract import Case, suite

CASES = [
    Case("integer(n)", {"n": [-4, 0, 12]}, "probability of n", math.inf),
]

test_contract = suite(CASES)
