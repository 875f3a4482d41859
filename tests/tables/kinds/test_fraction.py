"""The kind `fraction`."""

import math

import numpy as np
import pandas as pd
import pytest

from foliax.manifolds import Interval
from foliax.tables import Schema, TableError, audit

from .contract import Case, suite

CASES = [
    Case(
        "fraction(clay)",
        {"clay": [0.001, 0.5, 0.999]},
        "per unit of clay",
        1,
        invalid=(
            ({"clay": [0.5, 1.0]}, r"Row 2, column clay: 1 is not strictly between 0 and 1\."),
            ({"clay": [0.5, 0.0]}, r"0 is not strictly.*rounded\(…, step=…\)"),
            ({"clay": [0.5, 42.0]}, "If it is in percent, write unit=percent"),
            ({"clay": [0.5, -0.1]}, "-0.1 is not strictly between"),
        ),
    ),
    Case(
        "fraction(humidity, unit=percent)",
        {"humidity": [0.5, 55.5, 99.5]},
        "per percent",
        100,
        invalid=(({"humidity": [50, 100]}, "100 is not strictly between 0 and 100. If 0 and 100"),),
    ),
    Case(
        "fraction(sand, silt, unit=percent)",
        {"sand": [10.0, 20], "silt": [30.0, 70]},
        "per percent · per percent",
        100**2,
    ),
]

test_contract = suite(CASES)


def test_percent_is_a_unit_of_the_same_points():
    plain = Schema.parse("fraction(a)")
    percent = Schema.parse("fraction(a, unit=percent)")
    assert plain.manifold() == percent.manifold() == Interval(0.0, 1.0, 1)
    points = plain.encode(pd.DataFrame({"a": [0.25, 0.75]}))
    np.testing.assert_allclose(percent.encode(pd.DataFrame({"a": [25, 75]})), points, rtol=1e-15)
    assert percent.measure().log_unit == pytest.approx(-math.log(100))
    assert percent.axes()["units"] == [["%"]]


def test_other_units_are_refused():
    with pytest.raises(TableError, match="unit must be one of percent, not 'permille'"):
        Schema.parse("fraction(a, unit=permille)")


def test_fractions_declared_as_percent_are_suspicious():
    frame = pd.DataFrame({"a": np.random.default_rng(0).uniform(0.01, 0.99, 100)})
    found = audit(frame, Schema.parse("fraction(a, unit=percent)"))
    assert [finding.severity for finding in found] == ["error"]
    assert "declared in percent, but no value is above 1" in found[0].message
    assert audit(frame, Schema.parse("fraction(a)")) == []
    assert audit(100 * frame, Schema.parse("fraction(a, unit=percent)")) == []
