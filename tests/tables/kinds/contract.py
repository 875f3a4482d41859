"""The suite that every column kind passes. Its test file declares a `Case` with known values.

CASES = [Case("count(n)", {"n": [0, 3]}, "probability of n", math.inf)]
test_contract = suite(CASES)
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest

from foliax.tables import Schema, TableError


class Case(NamedTuple):
    """A factor, valid values of its columns, and the volume of its manifold in the user's unit."""

    call: str
    columns: dict[str, Any]
    unit: str
    """Expected label of the measure."""
    volume: float
    """Expected total measure in this unit."""
    invalid: tuple[tuple[dict[str, Any], str], ...] = ()
    """Columns with an invalid last row, each with a part of the expected error message."""

    def __str__(self):
        return self.call

    @property
    def schema(self) -> Schema:
        return Schema.parse(f"f: {self.call}")

    @property
    def frame(self) -> pd.DataFrame:
        return pd.DataFrame(self.columns)


def check_round_trip(case: Case):
    """Values come back in the user's columns, order and units."""
    points = case.schema.encode(case.frame)
    assert points.dtype == np.float64
    assert points.shape == (len(case.frame), case.schema.manifold().size)
    back = case.schema.decode(points)
    assert list(back) == list(case.frame)
    np.testing.assert_allclose(back, case.frame, rtol=0, atol=1e-9)


def check_points_on_manifold(case: Case):
    """Points are on the manifold."""
    for point in case.schema.encode(case.frame)[:2]:
        assert float(case.schema.manifold().violation(jnp.asarray(point))) < 1e-5


def check_text_and_json(case: Case):
    """Text and JSON read back to an equal schema, also after conventions are inferred."""
    schema = case.schema
    assert schema.text() == f"f: {case.call}"
    assert Schema.parse(schema.text()) == schema
    assert Schema.from_json(schema.to_json()) == schema
    inferred = schema.infer_conventions(case.frame)
    assert Schema.parse(inferred.text()) == inferred == Schema.from_json(inferred.to_json())


def check_measure(case: Case):
    """The uniform density in the user's unit is one over the volume in that unit."""
    schema = case.schema
    label, log_unit = schema.measure()
    assert label == case.unit
    log_volume = schema.manifold().log_total_volume()
    if math.isfinite(case.volume):
        np.testing.assert_allclose(log_volume - log_unit, math.log(case.volume), atol=1e-9)
        assert schema.measure(uniform=True) == ("× uniform", log_volume)
    else:
        assert math.isinf(log_volume)
        assert schema.measure(uniform=True) == schema.measure()


def check_axes(case: Case):
    """Every axis has a label and a unit."""
    axes = case.schema.axes()
    assert [len(labels) for labels in axes["labels"]] == [len(units) for units in axes["units"]]
    assert all(label for labels in axes["labels"] for label in labels)


def check_project(case: Case):
    """Valid values stay as they are, and nothing is reported."""
    points, kept, report = case.schema.prepare(case.frame, project=True)
    np.testing.assert_array_equal(points, case.schema.encode(case.frame))
    assert len(kept) == len(case.frame)
    assert report == []


def check_inference_shares_work(case: Case):
    """`infer_and_prepare` returns what the two separate calls return."""
    frame = case.frame
    for project in (False, True):
        schema, prepared = case.schema.infer_and_prepare(frame, project=project)
        assert schema == case.schema.infer_conventions(frame)
        separate = schema.prepare(frame, project=project)
        np.testing.assert_array_equal(prepared.points, separate.points)
        np.testing.assert_array_equal(prepared.kept, separate.kept)
        assert prepared.report == separate.report


def check_invalid(case: Case):
    """Invalid values are refused with the reason, and can be dropped."""
    for columns, message in case.invalid:
        frame = pd.DataFrame(columns)
        with pytest.raises(TableError, match=message):
            case.schema.encode(frame)
        if len(frame) > 1:
            kept = case.schema.prepare(frame, drop_invalid=True).kept
            assert kept.tolist() == list(range(len(frame) - 1))


CHECKS = [
    check_round_trip,
    check_points_on_manifold,
    check_text_and_json,
    check_measure,
    check_axes,
    check_project,
    check_inference_shares_work,
    check_invalid,
]


def suite(cases: list[Case]):
    """Build the parametrised test of a kind's test file."""

    @pytest.mark.parametrize("check", CHECKS, ids=lambda c: c.__name__.removeprefix("check_"))
    @pytest.mark.parametrize("case", cases, ids=str)
    def test_contract(case, check):
        check(case)

    return test_contract
