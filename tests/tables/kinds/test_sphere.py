"""The kind `sphere`."""

import math

from .contract import Case, suite

CASES = [
    Case(
        "sphere(lat=lat, lon=long)",
        {"lat": [-20.4, 0, 89], "long": [-180, 12.5, 179.9]},
        "per steradian",
        4 * math.pi,
    ),
    Case(
        "sphere(lon=long, lat=lat, cut=0)",
        {"long": [181.6, 359, 0], "lat": [-20.4, 0, 90]},
        "per steradian",
        4 * math.pi,
    ),
    Case(
        "sphere(lat=dec, lon=ra, unit=radians, cut=0)",
        {"dec": [-1.5, 0.2], "ra": [6.2, 0.1]},
        "per steradian",
        4 * math.pi,
    ),
    Case(
        "sphere(lat=plunge, lon=trend, cut=0, axial=true)",
        {"plunge": [10, 80.5], "trend": [300, 15]},
        "per steradian",
        2 * math.pi,
    ),
]

test_contract = suite(CASES)
