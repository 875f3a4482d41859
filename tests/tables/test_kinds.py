"""Every kind: to points of its manifold and back to the user's columns, units and conventions."""

import math
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest
from scipy.spatial.transform import Rotation

from foliax.tables import KINDS, Schema

RNG = np.random.default_rng(3)
ROTATIONS = Rotation.from_rotvec(RNG.normal(size=(6, 3)))
UNIT = RNG.normal(size=(6, 3))
UNIT /= np.linalg.norm(UNIT, axis=1, keepdims=True)
FRAMES = ROTATIONS.as_matrix()[:, :, :2].reshape(6, 6)


class Case(NamedTuple):
    """A factor, values of its columns, and the volume of its manifold in the user's unit."""

    call: str
    columns: dict
    per: str
    volume: float


def table(names: str, rows: np.ndarray) -> dict:
    return dict(zip(names.split(), np.asarray(rows).T, strict=True))


WXYZ = ROTATIONS.as_quat(canonical=True, scalar_first=True)
BUNGE = ROTATIONS.as_euler("ZXZ", degrees=True)
BUNGE[:, ::2] %= 360
NINE = "m11 m12 m13 m21 m22 m23 m31 m32 m33"

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
    Case("circle(a, unit=degrees)", {"a": [0, 90, 359.5]}, "per degree", 360),
    Case("circle(a, unit=degrees, cut=-180)", {"a": [-180, 90, 179]}, "per degree", 360),
    Case("circle(strike, unit=degrees, period=180)", {"strike": [0, 179]}, "per degree", 180),
    Case("circle(a, unit=radians)", {"a": [0, 6.28]}, "per radian", 2 * math.pi),
    Case("circle(t, unit=hours)", {"t": [0, 23.99, 12]}, "per hour", 24),
    Case("circle(d, unit=day_of_year)", {"d": [1, 365, 366, 182.5]}, "per day", 365.25),
    Case("circle(d, unit=day_of_year, period=365)", {"d": [1, 365]}, "per day", 365),
    Case("circle(m, unit=months)", {"m": [1, 12, 6.5]}, "per month", 12),
    Case("circle(dow, period=7)", {"dow": [0, 6, 3]}, "per unit of dow", 7),
    Case(
        "torsions(phi, psi, unit=degrees)",
        {"phi": [-180, -60], "psi": [179, 45]},
        "per degree²",
        360**2,
    ),
    Case("torsions(a, unit=radians)", {"a": [-3.14, 3]}, "per radian", 2 * math.pi),
    Case("direction(x, y, z)", table("x y z", UNIT), "per steradian", 4 * math.pi),
    Case("direction(x, y)", {"x": [0.6, 1], "y": [-0.8, 0]}, "per radian", 2 * math.pi),
    Case("direction(w, x, y, z)", table("w x y z", WXYZ), "× uniform", 1),
    Case("axis(x, y, z)", table("x y z", UNIT), "per steradian", 2 * math.pi),
    Case("quaternion(w=qw, x=qx, y=qy, z=qz)", table("qw qx qy qz", WXYZ), "× uniform", 1),
    Case(
        "quaternion(x=qx, y=qy, z=qz, w=qw, symmetry=m-3m, side=left)",
        table("qx qy qz qw", WXYZ[:, [1, 2, 3, 0]]),
        "× uniform",
        1,
    ),
    Case(
        "euler(phi1, Phi, phi2, convention=bunge, unit=degrees, symmetry=hexagonal)",
        table("phi1 Phi phi2", BUNGE),
        "× uniform",
        1,
    ),
    Case(
        "euler(roll, pitch, yaw, convention=xyz, unit=radians)",
        table("roll pitch yaw", ROTATIONS.as_euler("xyz")),
        "× uniform",
        1,
    ),
    Case(
        "rotvec(rx, ry, rz, unit=degrees)",
        table("rx ry rz", ROTATIONS.as_rotvec(degrees=True)),
        "× uniform",
        1,
    ),
    Case(
        f"matrix({NINE.replace(' ', ', ')}, symmetry=432, side=right)",
        table(NINE, ROTATIONS.as_matrix().reshape(-1, 9)),
        "× uniform",
        1,
    ),
    Case("frame(a, b, c, d, e, f, n=3, p=2)", table("a b c d e f", FRAMES), "× uniform", 1),
    Case("real(a, b)", {"a": [-1.5, 2], "b": [0, 7]}, "per unit of a · per unit of b", math.inf),
    Case("positive(depth, unit=km)", {"depth": [0.1, 600]}, "per km", math.inf),
    Case("interval(p, low=0, high=5)", {"p": [0.1, 4.9]}, "per unit of p", 5),
    Case("count(n)", {"n": [0, 3, 100000]}, "probability of n", math.inf),
    Case("integer(n)", {"n": [-4, 0, 12]}, "probability of n", math.inf),
    Case("rounded(mag, step=0.1)", {"mag": [4.8, 5.1, -0.3]}, "per unit of mag", math.inf),
    Case(
        "rounded(t, step=5, offset=2, floor=true)", {"t": [2, -3, 1007]}, "per unit of t", math.inf
    ),
]


@pytest.fixture(params=CASES, ids=lambda case: case.call)
def case(request):
    return request.param


def test_every_kind_has_a_case():
    assert {case.call.split("(")[0] for case in CASES} == set(KINDS)


def test_round_trip_in_the_users_columns_and_units(case):
    frame = pd.DataFrame(case.columns)
    schema = Schema.parse(f"f: {case.call}")
    points = schema.encode(frame)
    assert points.dtype == np.float64
    assert points.shape == (len(frame), schema.manifold().size)
    back = schema.decode(points)
    assert list(back) == list(frame)
    np.testing.assert_allclose(back, frame, rtol=0, atol=1e-9)


def test_points_are_on_the_manifold(case):
    schema = Schema.parse(f"f: {case.call}")
    points = schema.encode(pd.DataFrame(case.columns))
    for point in points[:2]:
        assert float(schema.manifold().violation(jnp.asarray(point))) < 1e-5


def test_text_and_json_round_trip(case):
    schema = Schema.parse(f"f: {case.call}")
    assert schema.text() == f"f: {case.call}"
    assert Schema.parse(schema.text()) == schema
    assert Schema.from_json(schema.to_json()) == schema
    settled = schema.settle(pd.DataFrame(case.columns))
    assert Schema.parse(settled.text()) == settled == Schema.from_json(settled.to_json())


def test_measure_is_per_the_users_unit(case):
    """The uniform density, per the user's unit, is one over the volume in that unit."""
    schema = Schema.parse(f"f: {case.call}")
    label, log_unit = schema.measure()
    assert label == case.per
    log_volume = schema.manifold().log_total_volume()
    if math.isfinite(case.volume):
        np.testing.assert_allclose(log_volume - log_unit, math.log(case.volume), atol=1e-9)
        assert schema.measure(uniform=True) == ("× uniform", log_volume)
    else:
        assert math.isinf(log_volume)
        assert schema.measure(uniform=True) == schema.measure()


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
    schema = Schema.parse(call).settle(frame)
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
    schema = Schema.parse(call).settle(frame)
    assert schema.factors[0].kind.options().get("hemisphere") == hemisphere
    points = schema.encode(frame)
    back = schema.decode(-points if hemisphere else points)
    # The first axis only: one on the equator has both its ends in either hemisphere.
    np.testing.assert_allclose(back[list(frame)][:1], frame[:1], atol=1e-9)
