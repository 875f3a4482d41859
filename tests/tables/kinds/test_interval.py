"""The kind `interval`."""

from .contract import Case, suite

CASES = [
    Case("interval(p, low=0, high=5)", {"p": [0.1, 4.9]}, "per unit of p", 5),
]

test_contract = suite(CASES)
