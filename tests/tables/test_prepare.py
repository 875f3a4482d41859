"""Inference of conventions and preparation share their work."""

import numpy as np
import pandas as pd
import pytest

from foliax.tables import Schema, TableError, prepare
from foliax.tables.kinds.count import CountKind
from foliax.tables.kinds.sphere import SphereKind

SCHEMA = Schema.parse("where: sphere(lat=lat, lon=lon); n: count(n)")
CLEAN = pd.DataFrame({"lat": [1.0, 2, 3], "lon": [170.0, 185, 190], "n": [1.0, 2, 3]})
WRAPPED = CLEAN.assign(lon=[170.0, 185, 910])
FRACTIONS = CLEAN.assign(n=[1.0, 2, 2.6])
INVALID = CLEAN.assign(lat=[1.0, 2, 99])
MISSING = CLEAN.assign(n=[1.0, np.nan, 3])


def error_of(call):
    try:
        call()
    except TableError as error:
        return str(error)
    return None


@pytest.mark.parametrize("frame", [CLEAN, WRAPPED, FRACTIONS, INVALID, MISSING])
@pytest.mark.parametrize("project", [False, True])
@pytest.mark.parametrize("drop_invalid", [False, True])
def test_one_pass_gives_what_two_give(frame, project, drop_invalid):
    inferred = SCHEMA.infer_conventions(frame)
    options = {"project": project, "drop_invalid": drop_invalid}
    message = error_of(lambda: inferred.prepare(frame, **options))
    assert error_of(lambda: SCHEMA.infer_and_prepare(frame, **options)) == message
    if message is not None:
        return
    expected = inferred.prepare(frame, **options)
    schema, prepared = SCHEMA.infer_and_prepare(frame, **options)
    assert schema == inferred
    np.testing.assert_array_equal(prepared.points, expected.points)
    np.testing.assert_array_equal(prepared.kept, expected.kept)
    assert prepared.report == expected.report


@pytest.fixture
def calls(monkeypatch):
    """Count calls of the functions that take time in a large table."""
    count = {"read": 0, "sphere": 0, "count": 0, "encode": 0}

    def counted(name, function):
        def call(*arguments):
            count[name] += 1
            return function(*arguments)

        return call

    monkeypatch.setattr(prepare, "read_numbers", counted("read", prepare.read_numbers))
    monkeypatch.setattr(SphereKind, "checks", counted("sphere", SphereKind.checks))
    monkeypatch.setattr(CountKind, "checks", counted("count", CountKind.checks))
    monkeypatch.setattr(SphereKind, "encode", counted("encode", SphereKind.encode))
    return count


def test_columns_are_read_and_encoded_once(calls):
    SCHEMA.infer_and_prepare(CLEAN)
    assert calls["read"] == 2  # once for each factor
    assert calls["encode"] == 1
    # A count has no conventions. The sphere has, and is checked again by the inferred ones.
    assert calls["count"] == 1
    assert calls["sphere"] == 2


def test_inference_alone_does_not_encode(calls):
    SCHEMA.infer_conventions(CLEAN)
    assert calls["encode"] == 0


def test_inference_does_not_change_the_table():
    frame = WRAPPED.copy()
    SCHEMA.infer_and_prepare(frame, project=True)
    pd.testing.assert_frame_equal(frame, WRAPPED)


def test_no_valid_row_is_an_error():
    with pytest.raises(TableError, match="None of the 1 rows is valid"):
        SCHEMA.infer_and_prepare(INVALID[2:], drop_invalid=True)
