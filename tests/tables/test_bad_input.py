"""Errors about tables and schemas name the place, the value and the fix."""

import numpy as np
import pandas as pd
import pytest

from foliax.tables import Schema, TableError

GOOD = {"lat": [1.0, 2, 3], "lon": [4.0, 5, 6], "n": [1, 2, 3], "x": [1.0, 0, 0], "y": [0, 1.0, 0]}
GOOD |= {"z": [0, 0, 1.0], "w": [0.0, 0, 0]}
SPHERE = "sphere(lat=lat, lon=lon)"
UNIT = "direction(x, y, z)"
MATRIX = "matrix(a, b, c, d, e, f, g, h, i)"
NINE = dict(zip("abcdefghi", np.eye(3).reshape(9, 1), strict=True))

TABLES = [
    ("missing", SPHERE, {"lat": [1, None, 3]}, "Row 2, column lat: the value is missing.*drop_inv"),
    ("text", SPHERE, {"lon": ["4", "5", "six"]}, "Row 3, column lon: 'six' is not a number"),
    (
        "decimal comma",
        SPHERE,
        {"lat": ["1,5", "2", "3"]},
        "Row 1, column lat: '1,5'.*decimal point",
    ),
    ("infinite", SPHERE, {"lon": [np.inf, 5, 6]}, "Row 1, column lon: inf is not a finite number"),
    (
        "large count",
        "count(n)",
        {"n": [1, 2**53 + 1, 2**53 + 3]},
        rf"Row 2, column n: {2**53 + 1} is not within ±2\^53 \({2**53}\): .* Subtract .*1 more",
    ),
    ("large integer", "integer(n)", {"n": [1, 2, -(2**53)]}, f"Row 3, column n: -{2**53} is not"),
    (
        "large multiple",
        "rounded(n, step=0.5)",
        {"n": [1, 2, 1e16]},
        r"Row 3, .* 10000000000000000 is not within ±2\^53 steps \(4.50359963e\+15\): .* of 0.5 ap",
    ),
    ("latitude", SPHERE, {"lat": [1, 95.2, 3]}, r"Row 2, column lat: latitude is 95.2, .*swapped"),
    ("two latitudes", SPHERE, {"lat": [1, 95.2, -99]}, r"Row 2, .* \(1 more row like it"),
    (
        "latitude in radians",
        "sphere(lat=lat, lon=lon, unit=radians)",
        {"lat": [1, 60, 1]},
        r"latitude is 60, outside \[-1.5708, 1.5708\].*degrees",
    ),
    ("longitude", SPHERE, {"lon": [4, 5, 900]}, "Row 3, column lon: 900 is more than a full turn"),
    ("hours", "circle(n, unit=hours)", {"n": [1, 2, 30]}, "30 is more than a full turn of 24"),
    ("radians", "circle(n, unit=radians)", {"n": [1, 2, 30]}, "30 is more .* Is it in degrees"),
    ("torsion", "torsions(n, x, unit=radians)", {"n": [1, 2, 30]}, "column n: 30 is more"),
    ("length", UNIT, {"x": [1, 3, 0]}, r"Row 2, columns x, y, z: \(3, 1, 0\) has length 3.16"),
    ("zero vector", UNIT, {"x": [0, 0, 0]}, "Row 1, columns x, y, z: .* zero vector"),
    ("axis", "axis(x, y, z)", {"x": [1, 3, 0]}, "Row 2, columns x, y, z: .* has length"),
    ("quaternion", "quaternion(w=w, x=x, y=y, z=z)", {"w": [0, 0, 2]}, "Row 3, .*length 2.23"),
    ("not a matrix", MATRIX, NINE | {"b": [0.5]}, "columns a, b, .*not orthonormal.*by 0.5"),
    ("reflection", MATRIX, NINE | {"i": [-1.0]}, "determinant −1"),
    ("singular", MATRIX, NINE | {"a": [0.0]}, "singular"),
    ("frame", "frame(x, y, n=2, p=1)", {"x": [1, 2, 0]}, "Row 2, .*not orthonormal"),
    ("rotation vector", "rotvec(x, y, z, unit=radians)", {"x": [90, 0, 0]}, "angle of .* is 90"),
    (
        "Euler angle",
        "euler(x, y, z, convention=bunge, unit=radians)",
        {"x": [90, 0, 0]},
        "column x: 90 is more than a full turn of 6.28319. Is it in degrees",
    ),
    ("zero", "positive(n)", {"n": [1, 0, 3]}, "Row 2, column n: 0 is not above 0.*rounded"),
    ("end point", "interval(n, low=0, high=3)", {}, "Row 3, column n: 3 is not strictly between"),
    ("negative", "count(n)", {"n": [1, -2, 3]}, "Row 2, column n: -2 is negative"),
    ("fraction", "count(n)", {"n": [1, 2.5, 3]}, "Row 2, column n: 2.5 is not a whole number"),
    ("integer", "integer(n)", {"n": [1, 2.5, 3]}, "Row 2, column n: 2.5 is not a whole number"),
    (
        "off the grid",
        "rounded(n, step=0.1)",
        {"n": [1, 2.15, 3]},
        "Row 2, column n: 2.15 is not a multiple of the step 0.1; the nearest is 2.[12]",
    ),
    ("no column", "real(latt)", {}, "no column 'latt'. Did you mean 'lat'.*It has: lat, lon"),
    ("dates", "real(n)", {"n": pd.date_range("2020", periods=3)}, "'n' holds datetime64.*dt.hour"),
    ("no rows", "real(n)", {k: [] for k in GOOD}, "no rows"),
]


def frame_of(columns: dict) -> pd.DataFrame:
    lengths = {len(v) for v in columns.values()}
    rest = GOOD if lengths <= {3} else {}
    return pd.DataFrame(rest | columns)


@pytest.mark.parametrize(
    ("schema", "columns", "message"), [t[1:] for t in TABLES], ids=[t[0] for t in TABLES]
)
def test_tables(schema, columns, message):
    with pytest.raises(TableError, match=f"(?s){message}"):
        Schema.parse(schema).encode(frame_of(columns))


SCHEMAS = [
    ("a: spere(lat=lat, lon=lon)", 4, "unknown kind 'spere'. Did you mean 'sphere'"),
    ("a: category(colour)", 4, "not yet supported"),
    ("a: sphere(lat, lon)", 11, r"by name: sphere\(lat=…, lon=…\)"),
    ("a: sphere(lat=lat, lan=lon)", 20, "no option 'lan'. Did you mean 'lon'"),
    ("a: sphere(lat=lat)", 4, "lacks lon=…"),
    ("a: sphere(lat=a, lon=b, lon=c)", 25, "'lon' is given twice"),
    ("sphere(lat=a, lon=b, hemisphere=lower)", 1, "only where axial=true"),
    ("quaternion(a, b, c, d)", 12, "takes its columns by name: quaternion"),
    ("circle(h)", 1, "needs a unit .* or a period"),
    ("circle(h, unit=degree)", 11, "unit must be one of degrees, .*not 'degree'"),
    ("circle(h, period=-3)", 11, "period must be above 0"),
    ("circle(h, period=week)", 11, "period must be a number, not 'week'"),
    ("circle(h, cut=inf, unit=hours)", 11, "cut must be a finite number"),
    ("circle(a, b, unit=hours)", 1, "takes 1 columns .*2 given"),
    ("torsions(phi, psi)", 1, "needs unit=…, which is never guessed"),
    ("euler(a, b, c, unit=degrees)", 1, "needs convention=…"),
    ("euler(a, b, c, unit=degrees, convention=XXZ)", 30, "convention must be bunge, or three"),
    ("euler(a, b, c, unit=degrees, convention=xYz)", 30, "convention must be bunge, or three"),
    ("euler(a, b, unit=degrees, convention=xyz)", 1, "takes 3 columns"),
    ("rotvec(x=a, b, c, unit=degrees)", 8, "all columns by name or all in order"),
    ("matrix(a, b, c)", 1, "takes 9 columns, row by row; 3 given"),
    ("rotvec(a, b, c, unit=degrees, symmetry=cubik)", 31, "point group.*Did you mean 'cubic'"),
    ("rotvec(a, b, c, unit=degrees, symmetry=cubic)", 1, "needs side=right"),
    ("rotvec(a, b, c, unit=degrees, side=left)", 1, "side=left is for a symmetry"),
    ("frame(a, b, c, n=2, p=2)", 1, "takes n × p = 4 columns"),
    ("frame(a, b, n=1, p=2)", 1, "needs p ≤ n"),
    ("frame(a, b, n=1.5, p=2)", 13, "n must be a whole number"),
    ("direction(a)", 1, "at least two columns"),
    ("real()", 1, "at least one column"),
    ("interval(a, low=2, high=1)", 1, "needs low < high"),
    ("interval(a, low=2)", 1, "needs high=…"),
    ("rounded(a)", 1, "needs step=…"),
    ("rounded(a, step=1, floor=maybe)", 20, "floor must be true or false"),
    ("rounded(a, step=1, step=2)", 20, "'step' is given twice"),
    ("count(a, colour=red)", 10, "has no option 'colour'. It has none"),
    ("a: real(x", 10, r"expected ',' or '\)' after an argument, found the end"),
    ("a real(x)", 3, r"expected '\(' after the kind 'a', found 'real'"),
    ("real(x) real(y)", 9, "expected ';' between two factors, found 'real'"),
    ("real(x,,y)", 8, "expected a column or an option, found ','"),
    ('real("x)', 6, "the quote is not closed"),
    ("real(x=)", 8, "expected a value for 'x'"),
    ("", 1, "expected a factor.*Write e.g."),
]


@pytest.mark.parametrize(("text", "place", "message"), SCHEMAS)
def test_schemas_point_at_the_place(text, place, message):
    with pytest.raises(TableError, match=message) as caught:
        Schema.parse(text)
    first, line, pointer = str(caught.value).split("\n")
    assert first.startswith(f"Schema, character {place}: ")
    assert line == f"    {text}"
    assert pointer.index("^") == 4 + place - 1


def test_the_place_is_in_its_own_line():
    with pytest.raises(TableError, match="unknown kind") as caught:
        Schema.parse("a: real(x);\nb: reel(y);\nc: real(z)")
    assert str(caught.value).split("\n")[1:] == ["    b: reel(y);", "       ^"]


@pytest.mark.parametrize("text", ["a: real(x); a: real(y)", "a: real(x); b: real(x)", "real(x, x)"])
def test_nothing_twice(text):
    with pytest.raises(TableError, match="twice"):
        Schema.parse(text)


def test_the_first_bad_row_is_named_in_any_column():
    frame = pd.DataFrame({"a": [1, 2, -3], "b": [1, -2, 3]})
    with pytest.raises(TableError, match="Row 2, column b"):
        Schema.parse("positive(a); positive(b)").encode(frame)


def test_a_column_that_is_there_twice():
    frame = pd.DataFrame([[1.0, 2.0]], columns=["a", "a"])
    with pytest.raises(TableError, match="2 columns 'a'"):
        Schema.parse("real(a)").encode(frame)


POINTS = [
    (np.zeros((2, 3)), r"rows of 4 numbers, got \(2, 3\)"),
    (np.zeros(4), r"rows of 4 numbers, got \(4,\)"),
    (np.array([[0, 0, 1, 1], [0, 0, 1, np.nan]]), "Point 2 is not finite"),
]


@pytest.mark.parametrize(("points", "message"), POINTS)
def test_points_that_cannot_be_decoded(points, message):
    with pytest.raises(TableError, match=message):
        Schema.parse("sphere(lat=lat, lon=lon); count(n)").decode(points)
