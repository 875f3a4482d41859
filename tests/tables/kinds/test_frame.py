"""The kind `frame`."""

from .contract import Case, suite
from .rows import FRAMES, table

CASES = [
    Case("frame(a, b, c, d, e, f, n=3, p=2)", table("a b c d e f", FRAMES), "× uniform", 1),
]

test_contract = suite(CASES)
