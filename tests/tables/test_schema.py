"""Schemas: text, files and JSON; projecting and dropping invalid rows."""

import contextlib
import json

import numpy as np
import pandas as pd
import pytest

from foliax.manifolds import Naturals, PositiveReals, Product, Rounded, Sphere
from foliax.tables import Schema, TableError

QUAKES = (
    "where: sphere(lat=lat, lon=long); depth: positive(depth); "
    "mag: rounded(mag, step=0.1); stations: count(stations)"
)


@pytest.fixture
def quakes():
    rng = np.random.default_rng(0)
    n = 60
    return pd.DataFrame(
        {
            "lat": rng.normal(-20, 5, n),
            "long": rng.uniform(165, 190, n),
            "depth": rng.uniform(40, 680, n),
            "mag": np.round(rng.uniform(4, 6, n), 1),
            "stations": rng.poisson(30, n),
        }
    )


def test_a_table_is_a_product_and_comes_back(quakes):
    schema = Schema.parse(QUAKES).infer_conventions(quakes)
    assert schema.manifold() == Product(Sphere(2), PositiveReals(), Rounded(0.1), Naturals())
    points = schema.encode(quakes.assign(ignored="text"))
    assert points.shape == (60, 6)
    pd.testing.assert_frame_equal(schema.decode(points), quakes, check_dtype=False)


def test_one_factor_is_its_own_manifold():
    assert Schema.parse("where: sphere(lat=a, lon=b)").manifold() == Sphere(2)


def test_samples_of_the_users_longitudes_are_past_180(quakes):
    west = np.array([[np.cos(np.pi + 0.1), np.sin(np.pi + 0.1), 0, 1, 5, 3]])
    plain = Schema.parse(QUAKES)
    assert plain.decode(west)["long"][0] == pytest.approx(-174.27, abs=0.01)
    assert plain.infer_conventions(quakes).decode(west)["long"][0] == pytest.approx(
        185.73, abs=0.01
    )


def test_names_spaces_and_quotes():
    schema = Schema.parse(
        'circle("wind dir (°)", unit=degrees);\n "a \\"b\\"" : real( x:=y ) ;'.replace(
            "x:=y", '"x:=y"'
        )
    )
    assert schema.columns == ("wind dir (°)", "x:=y")
    assert [factor.name for factor in schema.factors] == ["wind dir (°)", 'a "b"']
    assert Schema.parse(schema.text()) == schema
    assert schema.text().endswith('"a \\"b\\"": real("x:=y")')


TOML = """
[where]
kind = "sphere"
columns = {lat = "lat", lon = "long"}
cut = 0

[depth]
kind = "positive"
columns = "depth"

[torsions]
kind = "torsions"
columns = ["phi", "psi"]
unit = "degrees"

[grain]
kind = "euler"
columns = ["phi1", "Phi", "phi2"]
convention = "bunge"
unit = "degrees"
symmetry = 432
"""
SAME = (
    "where: sphere(lat=lat, lon=long, cut=0); depth: positive(depth); "
    "torsions: torsions(phi, psi, unit=degrees); "
    "grain: euler(phi1, Phi, phi2, convention=bunge, unit=degrees, symmetry=432)"
)


def test_files_say_the_same(tmp_path):
    schema = Schema.parse(SAME)
    (tmp_path / "a.toml").write_text(TOML)
    assert Schema.load(tmp_path / "a.toml") == schema
    (tmp_path / "a.json").write_text(schema.to_json())
    assert Schema.load(tmp_path / "a.json") == schema
    (tmp_path / "b.json").write_text(json.dumps({"n": {"kind": "count", "columns": ["n"]}}))
    assert Schema.load(tmp_path / "b.json").text() == "n: count(n)"
    assert Schema.load(SAME) == schema


FILES = [
    ("a.toml", "[a\n", "not valid TOML"),
    ("a.json", "{", "not valid JSON"),
    ("a.json", "[]", "a table for each factor"),
    ("a.json", '{"version": 2, "factors": []}', "not of version 1"),
    ("a.json", '{"version": 1, "factors": [3]}', "a name and a kind"),
    ("a.toml", "", "no factors"),
    ("a.toml", "[a]\nkind='real'", "factor 'a': it needs columns"),
    ("a.toml", "[a]\nkind='real'\ncolumns=3", "factor 'a': columns must be"),
    ("a.toml", "[a]\nkind='real'\ncolumns={b='c'}", "'real' has no column 'b'; it takes a list"),
    ("a.toml", "[a]\nkind='real'\ncolumns='c'\noptions=3", "options must be a table"),
    ("a.toml", "[a]\ncolumns=['b']", "factor 'a': it needs a name and a kind"),
    ("a.toml", "[a]\nkind='reel'\ncolumns=['b']", "factor 'a': unknown kind 'reel'"),
    ("a.toml", "[a]\nkind='interval'\nlow=true\nhigh=2\ncolumns='b'", "factor 'a': low must be"),
    ("a.yaml", "a: b", "TOML or JSON file, not YAML"),
    ("absent.toml", None, "no schema file"),
]


@pytest.mark.parametrize(("name", "content", "message"), FILES)
def test_files_that_are_no_schema(tmp_path, name, content, message):
    if content is not None:
        (tmp_path / name).write_text(content)
    with pytest.raises(TableError, match=message):
        Schema.load(tmp_path / name)


def test_stored_json_is_only_data_and_survives_sorting():
    schema = Schema.parse(
        "q: quaternion(x=a, y=b, z=c, w=d, symmetry=cubic, side=left); n: count(n)"
    )
    sorted_keys = json.dumps(json.loads(schema.to_json()), sort_keys=True)
    assert Schema.from_json(sorted_keys) == schema
    with pytest.raises(TableError, match="not valid JSON"):
        Schema.from_json("nonsense")


def test_dropping_reports_how_many_and_why(quakes):
    quakes.loc[3, "lat"] = 99
    quakes.loc[[5, 7], "depth"] = np.nan
    quakes.loc[7, "stations"] = -1
    points, kept, report = Schema.parse(QUAKES).prepare(quakes, drop_invalid=True)
    assert len(points) == len(kept) == 57
    assert not {3, 5, 7} & set(kept)
    assert report[0] == "Dropped 3 of 60 rows."
    assert any(r.startswith("1 × Row 4, column lat: latitude is 99") for r in report)
    assert any(r.startswith("2 × Row 6, column depth: the value is missing") for r in report)
    np.testing.assert_array_equal(points, Schema.parse(QUAKES).encode(quakes.iloc[kept]))


PROJECTED = [
    ("direction(x, y)", {"x": [3, 1], "y": [4, 0]}, {"x": [0.6, 1], "y": [0.8, 0]}),
    ("count(x)", {"x": [2.4, 3]}, {"x": [2, 3]}),
    ("integer(x)", {"x": [-2.4, 3]}, {"x": [-2, 3]}),
    ("rounded(x, step=0.5)", {"x": [0.6, 3]}, {"x": [0.5, 3]}),
    ("circle(x, unit=hours)", {"x": [49, 3]}, {"x": [1, 3]}),
    ("sphere(lat=y, lon=x)", {"x": [725, 3], "y": [0, 1]}, {"x": [5, 3], "y": [0, 1]}),
    ("torsions(x, unit=degrees)", {"x": [725, 3]}, {"x": [5, 3]}),
    ("rotvec(x, y, z, unit=degrees)", {"x": [365, 3], "y": [0, 0], "z": [0, 0]}, {"x": [5, 3]}),
    (
        "quaternion(w=x, x=y, y=z, z=t)",
        {"x": [3, 1], "y": [4, 0], "z": [0, 0], "t": [0, 0]},
        {"x": [0.6, 1], "y": [0.8, 0]},
    ),
    ("frame(x, y, n=2, p=1)", {"x": [3, 1], "y": [4, 0]}, {"x": [0.6, 1], "y": [0.8, 0]}),
    (
        "euler(x, y, z, convention=ZXZ, unit=degrees)",
        {"x": [725, 3], "y": [10, 10], "z": [0, 1]},
        {"x": [5, 3], "y": [10, 10]},
    ),
]


@pytest.mark.parametrize(("call", "given", "wanted"), PROJECTED, ids=[p[0] for p in PROJECTED])
def test_projecting_changes_only_invalid_rows_and_counts_them(call, given, wanted):
    schema = Schema.parse(call)
    frame = pd.DataFrame(given)
    with pytest.raises(TableError):
        schema.encode(frame)
    points, kept, report = schema.prepare(frame, project=True)
    assert kept.tolist() == [0, 1]
    assert len(report) == 1
    assert report[0].startswith("Projected 1 row of ")
    back = schema.decode(points)
    np.testing.assert_allclose(back[list(wanted)], pd.DataFrame(wanted), atol=1e-9)


def test_the_nearest_matrix_is_projected_to_and_singular_ones_stay_errors():
    names = list("abcdefghi")
    schema = Schema.parse(f"matrix({', '.join(names)})")
    frame = pd.DataFrame([2 * np.eye(3).reshape(9), np.zeros(9)], columns=names)
    with pytest.raises(TableError, match=r"Row 2, .* singular"):
        schema.prepare(frame, project=True)
    points, kept, report = schema.prepare(frame, project=True, drop_invalid=True)
    np.testing.assert_allclose(points, [np.eye(3).reshape(9)], atol=1e-12)
    assert kept.tolist() == [0]
    assert [r.split(" ")[0] for r in report] == ["Projected", "Dropped", "1"]


@pytest.mark.parametrize("call", ["sphere(lat=x, lon=y)", "positive(x)", "count(x)"])
def test_what_has_no_nearest_valid_value_is_not_projected(call):
    with pytest.raises(TableError, match="column x"):
        Schema.parse(call).prepare(pd.DataFrame({"x": [-95.0], "y": [0.0]}), project=True)


def test_nothing_left_is_an_error():
    with pytest.raises(TableError, match=r"None of the 2 rows is valid. Row 1, column x"):
        Schema.parse("count(x)").prepare(pd.DataFrame({"x": [-1, -2]}), drop_invalid=True)


def test_rows_are_counted_by_position_unless_they_are_from_a_file():
    frame = pd.DataFrame({"x": [1.0, -1.0]}, index=["a", "b"])
    with pytest.raises(TableError, match=r"^Row 2, column x"):
        Schema.parse("positive(x)").encode(frame)


def test_nullable_and_boolean_columns_are_numbers():
    frame = pd.DataFrame({"n": pd.array([1, 2, 3], "Int64"), "b": [True, False, True]})
    assert Schema.parse("count(n, b)").encode(frame).tolist() == [[1, 1], [2, 0], [3, 1]]
    frame.loc[1, "n"] = pd.NA
    with pytest.raises(TableError, match="Row 2, column n: the value is missing"):
        Schema.parse("count(n)").encode(frame)


def test_rows_after_a_missing_value_are_still_counted_right():
    frame = pd.DataFrame({"x": [1.0, np.nan, 2.0, -1.0, 3.0]})
    points, kept, report = Schema.parse("positive(x)").prepare(frame, drop_invalid=True)
    assert kept.tolist() == [0, 2, 4]
    assert points[:, 0].tolist() == [1, 2, 3]
    assert any(sentence.startswith("1 × Row 4, column x: -1 is not") for sentence in report)


DEEP = 100_000
BAD_FILES = {
    "list.json": ("[" * DEEP + "]" * DEEP, "nested too deeply"),
    "object.json": ('{"a":' * DEEP + "1" + "}" * DEEP, "nested too deeply"),
    "list.toml": ("a = " + "[" * DEEP + "]" * DEEP, "nested too deeply"),
    "key.toml": (".".join(["a"] * DEEP) + " = 1", "nested too deeply"),
    "quoted.toml": ('"a" . ' * DEEP + "a = 1", "nested too deeply"),
    "bytes.json": (b"\xff", "not a text file in UTF-8"),
    "digits.json": ('{"a": ' + "1" * 5000 + "}", "is not valid JSON"),
    "large.toml": ("[a]\nkind='rounded'\ncolumns='a'\nstep=1" + "0" * 400, "must be a number"),
    "factors.json": ('{"version": 1, "factors": null}', "a list of factors"),
    "array.json": ("[1]", "must hold a table for each factor"),
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_files_that_are_no_schemas(tmp_path, name):
    content, message = BAD_FILES[name]
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(TableError, match=message) as caught:
        Schema.load(path)
    assert "\n" not in str(caught.value)


def test_a_folder_is_no_schema(tmp_path):
    (tmp_path / "a.json").mkdir()
    with pytest.raises(TableError, match="cannot be read: is a directory"):
        Schema.load(tmp_path / "a.json")


def test_deep_json_in_a_model_is_no_schema():
    with pytest.raises(TableError, match="nested too deeply"):
        Schema.from_json("[" * DEEP + "]" * DEEP)


def test_errors_show_a_part_of_a_long_schema():
    text = "; ".join(f"real(x{i})" for i in range(300))
    with pytest.raises(TableError, match="unknown kind 'reel'") as caught:
        Schema.parse(f"{text}; reel(y); {text}")
    _, line, pointer = str(caught.value).split("\n")
    assert len(line) < 200
    assert line[pointer.index("^") :].startswith("reel(y)")


def test_columns_need_names():
    with pytest.raises(TableError, match="a column has no name"):
        Schema.parse('real("")')


EXTREME = [
    ("rounded(x, step=5e-324)", 0.3, "0.3 is not a multiple"),
    ("rounded(x, step=1e-10)", 1.7e308, r"1.7e\+308 is not a multiple"),
    ("direction(x, y)", 1e200, r"\(1e\+200, 0\) has length"),
    ("frame(x, y, n=2, p=1)", 1e200, "not orthonormal"),
    ("frame(x, y, z, w, n=2, p=2)", 1e200, "not orthonormal"),
    ("rotvec(x, y, z, unit=degrees)", 1e200, "angle of the rotation vector"),
]


@pytest.mark.parametrize(("schema", "value", "message"), EXTREME)
def test_values_whose_arithmetic_overflows_are_refused(schema, value, message):
    frame = pd.DataFrame({"x": [value], "y": [0.0], "z": [1.0], "w": [1.0]})
    with pytest.raises(TableError, match=rf"^Row 1, columns? x.*: .*{message}"):
        Schema.parse(schema).encode(frame)
    with contextlib.suppress(TableError):  # some have a nearest point
        assert np.isfinite(Schema.parse(schema).prepare(frame, project=True).points).all()
