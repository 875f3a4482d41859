"""Axes carry the names, units and periods of the user's columns."""

import numpy as np
import pandas as pd
import pytest

from foliax import plots
from foliax.plots.frames import label_axes
from foliax.tables import Schema

from .common import KEY, Blob, texts

VECTOR = "rotation vector"


def labels_of(text, frame=None):
    schema = Schema.parse(text)
    inferred = schema if frame is None else schema.infer_conventions(pd.DataFrame(frame))
    axes = label_axes(inferred.manifold(), **inferred.axes())[1]
    return [axis.label for axis in axes]


@pytest.mark.parametrize(
    ("schema", "labels"),
    [
        ("sphere(lat=y, lon=x)", ["y (°)", "x (°)"]),
        ("sphere(lat=y, lon=x, unit=radians, axial=true)", ["y (rad)", "x (rad)"]),
        ("circle(arrival, unit=hours)", ["arrival (h)"]),
        ("circle(month, unit=months)", ["month"]),
        ("circle(phase, period=7)", ["phase"]),
        ("torsions(phi, psi, unit=degrees)", ["phi (°)", "psi (°)"]),
        ("direction(u, v)", ["angle from u to v (°)"]),
        ("axis(u, v, w)", ["elevation towards w (°)", "azimuth from u to v (°)"]),
        ("direction(a, b, c, d)", list("abcd")),
        ("rotvec(a, b, c, unit=radians)", ["a (rad)", "b (rad)", "c (rad)"]),
        ("quaternion(w=a, x=b, y=c, z=d)", [f"{VECTOR} {k} (°)" for k in "xyz"]),
        ("pose: matrix(a, b, c, d, e, f, g, h, i)", [f"pose {VECTOR} {k} (°)" for k in "xyz"]),
        ("frame(a, b, n=2, p=1)", ["a", "b"]),
        ("positive(depth, unit=km)", ["depth (km)"]),
        ("interval(cover, low=0, high=1)", ["cover"]),
        ("rounded(mag, step=0.1, unit=Mw)", ["mag (Mw)"]),
        ("count(stations)", ["stations"]),
        ("integer(charge)", ["charge"]),
        ("real(t, unit=°C)", ["t (°C)"]),
        ("at: sphere(lat=y, lon=x); n: count(n); depth: positive(d)", ["y (°)", "x (°)", "n", "d"]),
    ],
)  # fmt: skip
def test_axes_are_the_columns(schema, labels):
    assert labels_of(schema) == labels


def test_an_inferred_turn_is_the_axis():
    frame = pd.DataFrame({"lat": [-20.0, -30], "long": [170.0, 188]})
    schema = Schema.parse("sphere(lat=lat, lon=long)").infer_conventions(frame)
    axis = label_axes(schema.manifold(), **schema.axes())[1][1]
    assert (axis.low, axis.high) == (0, 360)
    np.testing.assert_allclose(axis.to_unit(np.deg2rad([-172.0])), [188])


def test_strikes_repeat_after_half_a_turn():
    schema = Schema.parse("circle(strike, unit=degrees, period=180)")
    axis = label_axes(schema.manifold(), **schema.axes())[1][0]
    np.testing.assert_allclose(axis.to_unit(np.array([np.pi])), [90])


def test_rotation_vectors_keep_their_range_in_another_unit():
    schema = Schema.parse("rotvec(a, b, c, unit=radians)")
    axis = label_axes(schema.manifold(), **schema.axes())[1][0]
    assert (axis.low, axis.high) == (-np.pi, np.pi)


@pytest.mark.usefixtures("coarse")
def test_a_picture_has_the_names_of_the_columns():
    schema = Schema.parse("hour: circle(arrival, unit=hours); depth: positive(depth, unit=km)")
    figure = plots.draw(Blob(schema.manifold()), **schema.axes(), key=KEY)
    assert {"arrival (h)", "depth (km)"} <= set(texts(figure))
