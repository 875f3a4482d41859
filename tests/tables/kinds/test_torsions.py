"""The kind `torsions`."""

import math

from .contract import Case, suite

CASES = [
    Case(
        "torsions(phi, psi, unit=degrees)",
        {"phi": [-180, -60], "psi": [179, 45]},
        "per degree²",
        360**2,
    ),
    Case("torsions(a, unit=radians)", {"a": [-3.14, 3]}, "per radian", 2 * math.pi),
]

test_contract = suite(CASES)
