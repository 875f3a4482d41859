"""Column kinds: the registry, known points, and what several kinds have in common."""

import math
from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest
from scipy.spatial.transform import Rotation

from foliax.tables import KINDS, Schema, TableError
from foliax.tables.kinds import RESERVED, base, column_kind
from foliax.tables.kinds.real import RealKind

from .kinds.rows import BUNGE, NINE, ROTATIONS, UNIT, WXYZ, table

ORDER = (
    "sphere circle torsions direction axis quaternion euler rotvec matrix frame real positive "
    "interval count integer rounded"
)


def test_kinds_are_listed_in_a_stable_order():
    """New kinds may come between these."""
    assert [name for name in KINDS if name in ORDER.split()] == ORDER.split()


@pytest.mark.parametrize("name", KINDS)
def test_every_kind_has_a_source_and_a_test_file(name):
    assert KINDS[name].name == name
    assert KINDS[name].__module__ == f"foliax.tables.kinds.{name}"
    test = Path(__file__).parent / "kinds" / f"test_{name}.py"
    assert f"{name}(" in test.read_text()
    assert "test_contract = suite(" in test.read_text()


def test_a_registered_kind_is_part_of_the_grammar_and_of_errors(monkeypatch):
    monkeypatch.setattr(base, "_orders", dict(base._orders))

    class HeightKind(RealKind):
        pass

    before = list(KINDS)
    try:
        assert column_kind("height", order=115)(HeightKind) is HeightKind
        assert list(KINDS).index("height") == before.index("real") + 1
        assert Schema.parse("height(z, unit=km)").measure().label == "per km"
        with pytest.raises(TableError, match=r"Did you mean 'height'.* real, height, positive"):
            Schema.parse("heigth(z)")
    finally:
        del KINDS["height"]
    assert list(KINDS) == before


def test_two_kinds_cannot_have_one_name():
    with pytest.raises(ValueError, match=r"'real' is .*RealKind.*choose another name"):
        column_kind("real", order=1)(RealKind)


def test_reserved_names_are_not_kinds():
    assert not {*RESERVED} & {*KINDS}


def test_probability_over_the_step_is_per_unit():
    assert Schema.parse("rounded(mag, step=0.1)").measure().log_unit == pytest.approx(math.log(10))
    assert Schema.parse("rounded(a, b, step=2)").measure().log_unit == pytest.approx(-math.log(4))


def test_measure_of_a_product_adds_and_joins():
    schema = Schema.parse("sphere(lat=a, lon=b); circle(h, unit=hours); axis(x, y, z); positive(d)")
    label, log_unit = schema.measure()
    assert label == "per steradian · per hour · per steradian · per unit of d"
    assert log_unit == pytest.approx(math.log(2 * math.pi / 24))
    label, log_unit = schema.measure(uniform=True)
    assert label == "× uniform · per unit of d"
    assert log_unit == pytest.approx(math.log(4 * math.pi * 2 * math.pi * 2 * math.pi))


def test_counts_come_back_as_whole_numbers_and_decimals_as_decimals():
    schema = Schema.parse("count(n); integer(k); rounded(mag, step=0.1)")
    back = schema.decode(np.array([[3.0, -2.0, 0.1 * 48]]))
    assert [str(t) for t in back.dtypes] == ["int64", "int64", "float64"]
    assert back.iloc[0].tolist() == [3, -2, 4.8]


def test_rounding_to_two_decimals_is_normalised():
    columns = {k: np.round(v, 2) for k, v in table("x y z", UNIT).items()}
    points = Schema.parse("direction(x, y, z)").encode(pd.DataFrame(columns))
    np.testing.assert_allclose(np.linalg.norm(points, axis=1), 1, atol=1e-12)


KNOWN = [
    (
        "sphere(lat=a, lon=b)",
        {"a": [0, 90, 0], "b": [90, 0, 360]},
        [[0, 1, 0], [0, 0, 1], [1, 0, 0]],
    ),
    ("circle(h, unit=hours)", {"h": [6, 18]}, [[math.pi / 2], [-math.pi / 2]]),
    ("circle(m, unit=months)", {"m": [3, 12]}, [[math.pi / 2], [0]]),
    ("torsions(p, unit=degrees)", {"p": [-90, 270]}, [[-math.pi / 2], [-math.pi / 2]]),
]


@pytest.mark.parametrize(("call", "columns", "points"), KNOWN)
def test_known_points(call, columns, points):
    found = Schema.parse(call).encode(pd.DataFrame(columns))
    np.testing.assert_allclose(found, points, atol=1e-12)


def test_all_rotation_conventions_give_the_same_points():
    wxyz, matrices = WXYZ, ROTATIONS.as_matrix().reshape(-1, 9)
    frame = pd.DataFrame(
        table("w x y z", wxyz)
        | table("p1 P p2", BUNGE)
        | table("a b c", ROTATIONS.as_euler("XYZ"))
        | table("rx ry rz", ROTATIONS.as_rotvec())
        | table(NINE, matrices)
        | table("q1 q2 q3 q4", -wxyz[:, [1, 2, 3, 0]])
    )
    for call in (
        "quaternion(w=w, x=x, y=y, z=z)",
        "quaternion(x=q1, y=q2, z=q3, w=q4)",
        "quaternion(z=q3, w=q4, x=q1, y=q2)",
        "euler(p1, P, p2, convention=bunge, unit=degrees)",
        "euler(p1, P, p2, convention=ZXZ, unit=degrees)",
        "euler(p2, P, p1, convention=zxz, unit=degrees)",
        "euler(a, b, c, convention=XYZ, unit=radians)",
        "rotvec(rx, ry, rz, unit=radians)",
        "rotvec(z=rz, x=rx, y=ry, unit=radians)",
        f"matrix({NINE.replace(' ', ', ')})",
    ):
        np.testing.assert_allclose(Schema.parse(call).encode(frame), matrices, atol=1e-12)


def test_bunge_matrix_by_hand():
    """φ₁ = 90°, Φ = 90°, φ₂ = 0: crystal x to sample y, crystal y to z, crystal z to x."""
    frame = pd.DataFrame({"phi1": [90], "Phi": [90], "phi2": [0]})
    found = Schema.parse("euler(phi1, Phi, phi2, convention=bunge, unit=degrees)").encode(frame)
    np.testing.assert_allclose(found[0], [0, 0, 1, 1, 0, 0, 0, 1, 0], atol=1e-12)


def test_symmetry_makes_equivalent_orientations_one_point():
    quarter = Rotation.from_euler("z", 90, degrees=True)
    for side, other in (("right", ROTATIONS * quarter), ("left", quarter * ROTATIONS)):
        schema = Schema.parse(f"quaternion(w=w, x=x, y=y, z=z, symmetry=cubic, side={side})")
        a, b = (
            schema.encode(pd.DataFrame(table("w x y z", r.as_quat(scalar_first=True))))
            for r in (ROTATIONS, other)
        )
        gap = float(schema.manifold().distance(jnp.asarray(a[0]), jnp.asarray(b[0])))
        assert gap < 1e-5
        assert np.abs(a[0] - b[0]).max() > 0.1


def test_symmetry_acts_on_the_crystals_side_of_bunges_angles():
    """A quarter turn of a cubic crystal about its z is φ₂ + 90°; φ₁ + 90° turns the sample."""
    call = "euler(phi1, Phi, phi2, convention=bunge, unit=degrees, symmetry=cubic)"
    schema = Schema.parse(call)
    frame = pd.DataFrame({"phi1": [10, 10, 100], "Phi": [50, 50, 50], "phi2": [20, 110, 20]})
    first, crystal, sample = map(jnp.asarray, schema.encode(frame))
    assert float(schema.manifold().distance(first, crystal)) < 1e-5
    assert float(schema.manifold().distance(first, sample)) > 0.1


CUTS = [
    ("sphere(lat=lat, lon=a)", [165.0, 188.0], 0.0),
    ("sphere(lat=lat, lon=a)", [-170.0, 170.0], -180.0),
    ("sphere(lat=lat, lon=a)", [10.0, 20.0], -180.0),
    ("circle(a, unit=degrees)", [10.0, 350.0], 0.0),
    ("circle(a, unit=degrees)", [-10.0, 170.0], -180.0),
    ("circle(a, unit=degrees)", [-80.0, 260.0], -90.0),
    ("circle(a, unit=degrees)", [-100.0, 250.0], -100.0),
    ("circle(a, unit=degrees)", [-200.0, 300.0], 0.0),
    ("circle(a, unit=degrees, cut=90)", [100.0, 400.0], 90.0),
    ("circle(a, unit=months)", [1.0, 12.0], 1.0),
    ("circle(a, unit=months)", [0.0, 11.0], 0.0),
    ("torsions(a, unit=degrees)", [5.0, 350.0], 0.0),
    ("euler(a, lat, b, convention=bunge, unit=degrees)", [-170.0, 170.0], -180.0),
]


@pytest.mark.parametrize(("call", "values", "cut"), CUTS)
def test_turns_begin_where_the_users_do(call, values, cut):
    frame = pd.DataFrame({"lat": [3.0, 4.0], "a": values, "b": values})
    schema = Schema.parse(call).infer_conventions(frame)
    assert schema.factors[0].kind.options()["cut"] == cut
    if max(values) - min(values) <= 360:
        back = schema.decode(schema.encode(frame))
        np.testing.assert_allclose(back, frame[list(back)], atol=1e-9)


AXES = [
    ("axis(x, y, z)", {"x": [0.6, 0], "y": [0.0, 1], "z": [-0.8, 0]}, "lower"),
    ("axis(x, y, z)", {"x": [0.6, 0], "y": [0.0, 1], "z": [0.8, 0]}, "upper"),
    ("axis(x, y, z)", {"x": [0.6, 0], "y": [0.0, 0.6], "z": [0.8, -0.8]}, None),
    ("sphere(lat=y, lon=x, axial=true)", {"x": [10.0, 300], "y": [-5.0, -60]}, "lower"),
    ("sphere(lat=y, lon=x)", {"x": [10.0, 300], "y": [-5.0, -60]}, None),
]


@pytest.mark.parametrize(("call", "columns", "hemisphere"), AXES)
def test_axes_come_back_in_the_users_hemisphere(call, columns, hemisphere):
    frame = pd.DataFrame(columns)
    schema = Schema.parse(call).infer_conventions(frame)
    assert schema.factors[0].kind.options().get("hemisphere") == hemisphere
    points = schema.encode(frame)
    back = schema.decode(-points if hemisphere else points)
    # The first axis only: one on the equator has both its ends in either hemisphere.
    np.testing.assert_allclose(back[list(frame)][:1], frame[:1], atol=1e-9)
