"""Proposed schemas and their assumptions, for typical tables."""

import re
import time

import numpy as np
import pandas as pd
import pytest
from scipy.spatial.transform import Rotation

from foliax.tables import TableError, propose

N = 200
RNG = np.random.default_rng(1)
TURNS = Rotation.from_rotvec(RNG.normal(size=(N, 3)) * 2)
QUAT = TURNS.as_quat()
BUNGE = TURNS.as_euler("ZXZ", degrees=True)
BUNGE[:, ::2] %= 360
UNIT = QUAT[:, :3] / np.linalg.norm(QUAT[:, :3], axis=1, keepdims=True)
NINE = [f"R{i}{j}" for i in range(3) for j in range(3)]


def named(names: str, rows: np.ndarray) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=names.split())


def column(name: str, values) -> pd.DataFrame:
    return pd.DataFrame({name: values})


QUAKES = pd.DataFrame(
    {
        "": np.arange(1, N + 1),
        "lat": RNG.normal(-20, 5, N).round(2),
        "long": RNG.uniform(165, 190, N).round(2),
        "depth": RNG.integers(40, 680, N),
        "mag": RNG.uniform(4, 6, N).round(1),
        "stations": RNG.poisson(30, N) + 10,
    }
)
REAL, POSITIVE = RNG.normal(size=N), RNG.exponential(size=N) + 0.01

TABLES = [
    (
        QUAKES,
        "where: sphere(lat=lat, lon=long, cut=0); depth: positive(depth); "
        "mag: rounded(mag, step=0.1); stations: count(stations)",
        [
            "in degrees as they reach 1",
            "labels the rows",
            "all values are whole",
            "of 0.1",
            "counts",
        ],
    ),
    (
        named("startLat startLon end_lat end_lon", RNG.uniform(-60, 60, (N, 4))),
        "start: sphere(lat=startLat, lon=startLon, cut=-180); "
        "end: sphere(lat=end_lat, lon=end_lon, cut=-180)",
        ["startLat, startLon: latitude"],
    ),
    (
        named("dec_rad ra_rad", RNG.uniform(0, 1.5, (N, 2))),
        "where: sphere(lat=dec_rad, lon=ra_rad, unit=radians, cut=-3.141592653589793)",
        ["in radians by their names"],
    ),
    (
        named("phi psi", RNG.uniform(-180, 180, (N, 2))).assign(residue="ALA"),
        "torsions: torsions(phi, psi, unit=degrees, cut=-180)",
        ["torsion angles by their names, in degrees", "residue: left out.*categories"],
    ),
    (
        named("chi1 chi2", RNG.uniform(-3, 3, (N, 2))),
        "torsions: torsions(chi1, chi2, unit=radians, cut=-3.141592653589793)",
        ["in radians as they reach 2.9"],
    ),
    (
        named("qx qy qz qw", QUAT),
        "rotation: quaternion(x=qx, y=qy, z=qz, w=qw)",
        ["w its scalar part, by their names; no crystal symmetry"],
    ),
    (
        named("q0 q1 q2 q3", QUAT).assign(a=REAL),
        "a: real(a)",
        ["q0, q1, q2, q3: left out.*which is the scalar part is unknown: write quaternion"],
    ),
    (
        named("phi1 Phi phi2", BUNGE),
        "orientation: euler(phi1, Phi, phi2, convention=bunge, unit=degrees, cut=0)",
        ["Bunge's convention by their names.*add e.g. symmetry=cubic"],
    ),
    (
        named("roll pitch yaw", TURNS.as_euler("xyz")).assign(a=REAL),
        "a: real(a)",
        ["left out.*do not tell the convention: write e.g. euler.roll, pitch, yaw, convention=xyz"],
    ),
    (
        pd.DataFrame(TURNS.as_matrix().reshape(-1, 9), columns=NINE),
        f"rotation: matrix({', '.join(NINE)})",
        ["a rotation matrix, row by row"],
    ),
    (
        named("nx ny nz", UNIT),
        "direction: direction(nx, ny, nz)",
        ["all rows have length 1; write axis"],
    ),
    (
        pd.DataFrame({"hour": RNG.uniform(0, 24, N), "visits": RNG.poisson(2, N)}),
        "hour: circle(hour, unit=hours, cut=0); visits: count(visits)",
        ["hour: hours of the day, which repeat", "visits: counts"],
    ),
    (column("hour", RNG.uniform(0, 300, N)), "hour: positive(hour)", ["positive"]),
    (
        column("day_of_year", RNG.integers(1, 367, N)),
        "day_of_year: circle(day_of_year, unit=day_of_year, cut=1)",
        ["days of the year of 365.25"],
    ),
    (
        column("month", RNG.integers(1, 13, N)),
        "month: circle(month, unit=months, cut=1)",
        ["months, 1 to 12"],
    ),
    (
        column("weekday", RNG.integers(0, 7, N)),
        "weekday: circle(weekday, period=7, cut=0)",
        ["week"],
    ),
    (
        column("wind dir", RNG.uniform(-179, 180, N)),
        '"wind dir": circle("wind dir", unit=degrees, cut=-180)',
        ["an angle by its name, in degrees as it reaches 1"],
    ),
    (column("temp", REAL), "temp: real(temp)", ["some are not above 0"]),
    (column("flux", POSITIVE), "flux: positive(flux)", ["positive, as its smallest"]),
    (
        column("change", RNG.integers(-5, 5, N)),
        "change: integer(change)",
        ["some of them negative"],
    ),
    (
        column("ice fraction", RNG.uniform(0.01, 0.99, N)),
        '"ice fraction": interval("ice fraction", low=0, high=1)',
        ["between 0 and 1"],
    ),
    (
        pd.DataFrame({"a": REAL, "b": 3.0, "when": pd.date_range("2020", periods=N)}),
        "a: real(a)",
        ["b: left out. Every value is 3", "when: left out.*datetime"],
    ),
    (
        pd.DataFrame({"a": np.where(np.arange(N) < 5, np.nan, REAL)}),
        "a: real(a)",
        ["5 of 200 rows lack a number"],
    ),
    (
        named("a1_x a1_y a1_z a2_x a2_y a2_z", np.hstack([UNIT, UNIT[::-1]])),
        "direction: direction(a1_x, a1_y, a1_z); direction2: direction(a2_x, a2_y, a2_z)",
        ["a1_x", "a2_x"],
    ),
]


@pytest.mark.parametrize(("frame", "text", "assumed"), TABLES, ids=[t[1][:40] for t in TABLES])
def test_proposals(frame, text, assumed):
    proposal = propose(frame)
    assert proposal.schema.text() == text
    text = "\n".join(proposal.assumed)
    for sentence in assumed:
        assert any(re.search(sentence, s) for s in proposal.assumed), text


def test_a_proposal_encodes_the_table_it_is_for():
    schema = propose(QUAKES).schema
    pd.testing.assert_frame_equal(
        schema.decode(schema.encode(QUAKES)), QUAKES.iloc[:, 1:], check_dtype=False
    )


def test_every_column_is_mentioned():
    frame = QUAKES.assign(who="x", when=pd.Timestamp("2020"), flat=1)
    text = " ".join(propose(frame).assumed)
    assert all(f"{name}" in text for name in frame)


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (pd.DataFrame({"a": []}), "no rows"),
        (pd.DataFrame({"a": ["x", "y"]}), "No column of the table can be used. a: left out"),
        (pd.DataFrame({"a": [1.0, 1.0]}), "Every value is 1"),
    ],
)
def test_tables_without_a_schema(frame, message):
    with pytest.raises(TableError, match=message):
        propose(frame)


def test_thousands_of_columns_take_seconds():
    values = np.random.default_rng(0).normal(size=(100, 3000))
    frame = pd.DataFrame(values, columns=[f"c{i}" for i in range(3000)])
    start = time.process_time()
    schema = propose(frame).schema
    schema.text()
    schema.measure()
    assert time.process_time() - start < 3
    assert len(schema.factors) == 3000


def test_a_column_without_a_name_is_left_out():
    proposal = propose(pd.DataFrame({"": [0.5, 0.5, 2.5], "x": [1.0, 2.5, 3.0]}))
    assert proposal.schema.columns == ("x",)
    assert "the column without a name: left out. Name it to use it." in proposal.assumed
