"""The kind `circle`."""

import math

from .contract import Case, suite

CASES = [
    Case("circle(a, unit=degrees)", {"a": [0, 90, 359.5]}, "per degree", 360),
    Case("circle(a, unit=degrees, cut=-180)", {"a": [-180, 90, 179]}, "per degree", 360),
    Case("circle(strike, unit=degrees, period=180)", {"strike": [0, 179]}, "per degree", 180),
    Case("circle(a, unit=radians)", {"a": [0, 6.28]}, "per radian", 2 * math.pi),
    Case("circle(t, unit=hours)", {"t": [0, 23.99, 12]}, "per hour", 24),
    Case("circle(d, unit=day_of_year)", {"d": [1, 365, 366, 182.5]}, "per day", 365.25),
    Case("circle(d, unit=day_of_year, period=365)", {"d": [1, 365]}, "per day", 365),
    Case("circle(m, unit=months)", {"m": [1, 12, 6.5]}, "per month", 12),
    Case("circle(dow, period=7)", {"dow": [0, 6, 3]}, "per unit of dow", 7),
]

test_contract = suite(CASES)
