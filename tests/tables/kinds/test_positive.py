"""The kind `positive`."""

import math

from .contract import Case, suite

CASES = [
    Case("positive(depth, unit=km)", {"depth": [0.1, 600]}, "per km", math.inf),
]

test_contract = suite(CASES)
