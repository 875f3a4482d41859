"""The kind `rounded`."""

import math

from .contract import Case, suite

CASES = [
    Case("rounded(mag, step=0.1)", {"mag": [4.8, 5.1, -0.3]}, "per unit of mag", math.inf),
    Case(
        "rounded(t, step=5, offset=2, floor=true)", {"t": [2, -3, 1007]}, "per unit of t", math.inf
    ),
]

test_contract = suite(CASES)
