"""The audit reports each problem, and nothing for clean data."""

import re
import time
import tracemalloc

import numpy as np
import pandas as pd
import pytest
from scipy.spatial.transform import Rotation

from foliax.tables import Schema, TableError, audit
from foliax.tables.constant import check_columns_vary
from foliax.tables.outliers import find_fill_values

N = 400
RNG = np.random.default_rng(5)
X, Y = RNG.normal(size=(2, N))
LAT, LON = np.rad2deg(np.arcsin(RNG.uniform(-1, 1, N))), RNG.uniform(-180, 180, N)
QUAT = Rotation.from_rotvec(RNG.normal(size=(N, 3))).as_quat()


def frame(**columns):
    return pd.DataFrame(columns)


CLEAN = frame(
    lat=LAT,
    lon=LON,
    phi=RNG.normal(-60, 20, N),
    psi=RNG.uniform(-180, 180, N),
    hour=RNG.uniform(0, 24, N),
    rad=RNG.uniform(-np.pi, np.pi, N),
    x=X,
    y=0.99 * X + 0.14 * Y,
    flux=np.exp(2 * Y),
    n=RNG.poisson(3, N),
    mag=RNG.uniform(4, 6, N).round(1),
    **dict(zip(("qx", "qy", "qz", "qw"), QUAT.T, strict=True)),
)
CLEAN_SCHEMA = (
    "sphere(lat=lat, lon=lon); torsions(phi, psi, unit=degrees); circle(hour, unit=hours); "
    "circle(rad, unit=radians); real(x, y); positive(flux); count(n); rounded(mag, step=0.1); "
    "quaternion(x=qx, y=qy, z=qz, w=qw)"
)


def test_clean_data_have_no_findings():
    assert audit(CLEAN, Schema.parse(CLEAN_SCHEMA)) == []


FINDINGS = [
    (
        "misnamed",
        "sphere(lat=lon, lon=latitude)",
        frame(lon=LAT, latitude=LON),
        "warning",
        ("latitude",),
        "by its name it is lat, but the schema says lon",
        "wrong place",
    ),
    (
        "far apart",
        "integer(n)",
        frame(n=np.arange(N) * 10**6),
        "error",
        ("n",),
        "2e.08 steps from their median",
        "continuous",
    ),
    ("duplicates", "real(x)", frame(x=[*X, X[0]]), "warning", (), "1 of 401 rows repeat", "spikes"),
    ("many duplicates", "real(x)", frame(x=[*X, *X]), "error", (), "400 of 800 rows", "weights"),
    ("grid", "real(x)", frame(x=X.round(1)), "warning", ("x",), "of 0.1, only", "step=0.1"),
    (
        "coarse grid",
        "positive(x)",
        frame(x=5.0 + 5 * np.abs(X).round(0)),
        "warning",
        ("x",),
        "of 5,",
        "step=5",
    ),
    (
        "constant",
        "real(x); real(y)",
        frame(x=X, y=3.0),
        "error",
        ("y",),
        "every value is 3",
        "Leave",
    ),
    (
        "one place",
        "real(x); sphere(lat=a, lon=b)",
        frame(x=X, a=90.0, b=X),
        "error",
        ("a",),
        "every value is 90",
        "Leave the columns out",
    ),
    (
        "one angle",
        "real(x); circle(a, unit=degrees)",
        frame(x=X, a=360.0 * (X > 0)),
        "error",
        ("a",),
        "all rows are the same point",
        "Leave the column out",
    ),
    (
        "one rotation",
        "real(x); quaternion(w=a, x=b, y=c, z=d)",
        frame(x=X, a=0.6 * np.sign(X), b=0.8 * np.sign(X), c=0.0 * X, d=0.0 * X),
        "error",
        ("c",),
        "every value is",
        "Leave the columns out",
    ),
    (
        "one count",
        "real(x); count(n)",
        frame(x=X, n=3),
        "warning",
        ("n",),
        "every value is 3",
        "tells nothing",
    ),
    ("tiny", "real(x)", frame(x=X[:30]), "warning", (), "30 rows for 1 dim", "single points"),
    (
        "tiny for its dimension",
        "real(x); sphere(lat=lat, lon=lon)",
        CLEAN[:55],
        "warning",
        (),
        "55 rows for 3",
        "60",
    ),
    ("function", "real(x); real(y)", frame(x=X, y=X**2), "error", ("x", "y"), "function", "curve"),
    (
        "copy in other units",
        "real(x, y)",
        frame(x=X, y=3 * X + 1),
        "error",
        ("x", "y"),
        "function",
        "curve",
    ),
    ("swapped", "sphere(lat=lon, lon=lat)", CLEAN, "error", ("lon", "lat"), "swapped", "Exchange"),
    (
        "radians as degrees",
        "circle(rad, unit=degrees)",
        CLEAN,
        "error",
        ("rad",),
        "turn of radians",
        "unit=radians",
    ),
    (
        "radians on the globe",
        "sphere(lat=a, lon=b)",
        np.deg2rad(frame(a=LAT, b=LON)),
        "error",
        ("a", "b"),
        "turn of radians",
        "unit=radians",
    ),
    (
        "degrees as radians",
        "torsions(psi, unit=radians)",
        CLEAN,
        "error",
        ("psi",),
        "declared in radians",
        "unit=degrees",
    ),
    (
        "degrees on the globe",
        "sphere(lat=lat, lon=lon, unit=radians)",
        CLEAN,
        "error",
        ("lat", "lon"),
        "declared in radians",
        "unit=degrees",
    ),
    (
        "degrees in Euler angles",
        "euler(phi, psi, hour, convention=XYZ, unit=radians)",
        CLEAN,
        "error",
        ("phi", "psi", "hour"),
        "declared in radians",
        "unit=degrees",
    ),
    (
        "outlier",
        "real(x)",
        frame(x=[*X, 500.0]),
        "warning",
        ("x",),
        "1 of 401 .* up to 500",
        "scale",
    ),
    (
        "positive outlier",
        "real(x)",
        frame(x=[*np.exp(X / 3), 500.0]),
        "warning",
        ("x",),
        "1 of 401 .* up to 500",
        "if they are real, declare positive",
    ),
    (
        "outlier in logs",
        "positive(x)",
        frame(x=[*np.exp(X), 1e9]),
        "warning",
        ("x",),
        "up to 1e.09",
        "Check them, and remove those that are wrong",
    ),
    (
        "fill value of netCDF",
        "real(x)",
        frame(x=[*X, 9.96921e36, 9.96921e36]),
        "warning",
        ("x",),
        r"2 of 402 values are 9.96921e\+36, which often stands for a missing value",
        "remove these rows",
    ),
    (
        "fill value of -9999",
        "real(x)",
        frame(x=[*X, -9999, -9999]),
        "warning",
        ("x",),
        "2 of 402 values are -9999, which often",
        "remove these rows",
    ),
    (
        "one 9999, which may be a value",
        "real(x)",
        frame(x=[*X, 9999]),
        "warning",
        ("x",),
        "1 of 401 values are very far",
        "Check them",
    ),
    (
        "outlier in counts",
        "count(n)",
        frame(n=[*RNG.poisson(300, N), 10**6]),
        "warning",
        ("n",),
        "1 of 401",
        "scale",
    ),
    (
        "invalid",
        "positive(x)",
        frame(x=[*np.exp(X), -1.0]),
        "error",
        ("x",),
        "1 of 401 rows is invalid",
        "Row 401",
    ),
    (
        "missing",
        "real(x)",
        frame(x=[*X, np.nan]),
        "error",
        ("x",),
        "1 of 401 rows is invalid",
        "missing",
    ),
]


@pytest.mark.parametrize("case", FINDINGS, ids=[f[0] for f in FINDINGS])
def test_findings(case):
    _, schema, table, severity, columns, message, consequence = case
    found = audit(table, Schema.parse(schema))
    assert any(
        f.severity == severity
        and f.columns == columns
        and re.search(message, f.message)
        and consequence in f.consequence
        for f in found
    ), "\n".join(map(str, found))


def test_errors_come_first_and_findings_read_as_sentences():
    table = frame(x=[*X[:20], -5.0], y=3.0)
    found = audit(table, Schema.parse("real(x); real(y)"))
    order = [("error", "warning").index(f.severity) for f in found]
    assert order == sorted(order)
    assert len(set(order)) == 2
    assert str(found[0]).startswith("error: y: every value is 3. A continuous")


@pytest.mark.parametrize(
    ("schema", "table", "expected"),
    [
        ("real(x); real(y)", frame(x=X, y=3.0), "Column y: every value is 3. A continuous"),
        ("circle(x, unit=degrees)", frame(x=360.0 * (X > 0)), "Column x: all rows are the same"),
        (
            "quaternion(w=a, x=b, y=c, z=d)",
            frame(a=X, b=X, c=X, d=X) * 0 + np.outer(np.sign(X), np.full(4, 0.5)),
            "Columns a, b, c, d: all rows are the same point",
        ),
    ],
)
def test_a_fit_refuses_what_the_audit_calls_constant(schema, table, expected):
    schema = Schema.parse(schema)
    with pytest.raises(TableError, match=expected) as caught:
        check_columns_vary(schema.factors, table)
    assert any(f.consequence in str(caught.value) for f in audit(table, schema))


@pytest.mark.parametrize("kind", ["count(n)", "integer(n)", "rounded(n, step=0.5)"])
def test_a_constant_discrete_column_can_be_fitted(kind):
    check_columns_vary(Schema.parse(f"real(x); {kind}").factors, frame(x=X, n=3))


@pytest.mark.parametrize(
    "table",
    [
        pd.DataFrame({"x": RNG.integers(0, 6000, 50) + 1.7e18, "y": RNG.uniform(0, 6000, 50)}),
        pd.DataFrame({"x": RNG.integers(0, 4, 50) + 1e15, "y": RNG.uniform(0, 3, 50)}),
    ],
)
def test_a_column_is_not_constant_because_another_is_large(table):
    check_columns_vary(Schema.parse("real(x, y)").factors, table)


def test_angles_of_whole_turns_are_one_point_beside_others():
    table = frame(x=360.0 * (X > 0), y=10 + 360.0 * (X > 0))
    with pytest.raises(TableError, match="Columns x, y: all rows are the same point"):
        check_columns_vary(Schema.parse("torsions(x, y, unit=degrees)").factors, table)


def test_fill_values_are_found_in_little_memory():
    values = np.random.default_rng(0).normal(size=(200_000, 1))
    values[:3, 0] = -9999, -9999.001, 1e20
    (factor,) = Schema.parse("real(x)").factors
    tracemalloc.start()
    found = list(find_fill_values(factor, values))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(found) == 1
    assert peak < 12 * values.nbytes


named_rotvec = pd.DataFrame(RNG.normal(size=(N, 3)) / 2, columns=["r_x", "r_y", "r_z"])

SILENT = [
    ("magnitudes", "rounded(x, step=0.1)", frame(x=(4 + RNG.exponential(0.5, N)).round(1))),
    ("near the meridian", "sphere(lat=a, lon=b)", frame(a=51 + X, b=RNG.uniform(-2, 2, N))),
    ("components by name", "rotvec(r_x, r_y, r_z, unit=radians)", named_rotvec),
    ("counts may repeat", "count(n)", frame(n=RNG.poisson(3, N))),
    ("a small spot in degrees", "sphere(lat=a, lon=b)", frame(a=51 + X / 9, b=Y / 9)),
    ("lognormal", "positive(x)", frame(x=np.exp(2 * X))),
    ("strong correlation", "real(x, y)", frame(x=X, y=X + 0.1 * Y)),
    ("rounded, declared", "rounded(x, step=0.1)", frame(x=X.round(1))),
    ("a vector's components", "direction(x, y)", frame(x=np.cos(X), y=np.sin(X))),
    ("fine rounding", "real(x)", frame(x=X.round(6))),
]


@pytest.mark.parametrize(("schema", "table"), [s[1:] for s in SILENT], ids=[s[0] for s in SILENT])
def test_no_findings(schema, table):
    assert audit(table, Schema.parse(schema)) == []


@pytest.mark.slow
def test_hundreds_of_columns_take_seconds():
    values = np.random.default_rng(0).normal(size=(100, 400))
    frame = pd.DataFrame(values, columns=[f"c{i}" for i in range(400)])
    frame["c7"] = np.exp(frame["c3"])
    start = time.process_time()
    findings = audit(frame, Schema.parse("; ".join(f"real({name})" for name in frame)))
    assert time.process_time() - start < 5
    assert ("c3", "c7") in [finding.columns for finding in findings]
