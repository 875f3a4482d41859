"""Every view of every manifold draws the right things at the right positions."""

import sys
from pathlib import Path

import jax
import numpy as np
import pytest
from matplotlib.figure import Figure

from foliax import plots
from foliax.manifolds import (
    Euclidean,
    Integers,
    Interval,
    Naturals,
    Orientations,
    PositiveReals,
    Product,
    ProjectiveSpace,
    Rounded,
    SpecialOrthogonal,
    Sphere,
    Stiefel,
    Torus,
)
from foliax.manifolds.ball import Ball
from foliax.paper import targets

from .common import KEY, Blob, dots_of, places, rows_of, texts

pytestmark = pytest.mark.usefixtures("coarse")
S2, T2, SO3 = targets.sphere_s2(), targets.torus_multimodal(), targets.rotations_so3()
POLAR = targets.SphereModes(Sphere(2), ((0.0, 0.1, 0.995),), 30.0)
AXES, CUBIC = Blob(ProjectiveSpace(2)), Blob(Orientations("cubic"))

VIEWS = {
    "mollweide": (S2, "mollweide", "density (× uniform)"),
    "region": (S2, "region", "latitude (°)"),
    "region at a pole": (POLAR, "region", "rings: latitude; rim: longitude"),
    "globe": (S2, "globe", "density (× uniform)"),
    "upper": (AXES, "upper", "upper half; rings: latitude; rim: longitude"),
    "lower": (AXES, "lower", "lower half; rings: latitude; rim: longitude"),
    "axes on the globe": (AXES, "globe", "density (× uniform)"),
    "S¹": (Blob(Sphere(1)), "rose", "angle (°)"),
    "T¹": (Blob(Torus(1)), "line", "density (× uniform)"),
    "SO(2)": (Blob(SpecialOrthogonal(2)), "rose", "uniform (1×)"),
    "T²": (T2, "map", "50% of the mass"),
    "sections": (SO3, "sections", "rotation by 15°"),
    "poles": (SO3, "poles", "body's z axis"),
    "cubic sections": (CUBIC, "sections", "density (× uniform)"),
    "cubic poles": (CUBIC, "poles", "{111}"),
    "reals": (Blob(Euclidean(1)), "curve", "density (per unit of value)"),
    "positives": (Blob(PositiveReals(1)), "curve", "value"),
    "decades": (Blob(PositiveReals(1), 2.0), "curve", "density (per decade)"),
    "interval": (Blob(Interval(0.0, 2.0)), "curve", "value"),
    "counts": (Blob(Naturals(1)), "bars", "probability"),
    "many counts": (Blob(Naturals(1), 3.0), "bars", "count"),
    "integers": (Blob(Integers(1)), "bars", "probability"),
    "rounded": (Blob(Rounded(0.1)), "bars", "value"),
    "product": (Blob(Product(Naturals(1), Torus(1))), "pair", "angle [2] (°)"),
    "Stiefel": (Blob(Stiefel(2, 1)), "pair", "entry 2,1"),
    "ball": (Blob(Ball(2)), "pair", "y₂"),
}


WITHOUT_DATA = ["globe", "T¹", "sections", "reals", "counts"]


@pytest.mark.parametrize(
    ("name", "data"),
    [(name, True) for name in VIEWS] + [(name, False) for name in [*WITHOUT_DATA, "product"]],
)
def test_view(name, data, tmp_path):
    density, view, words = VIEWS[name]
    figure = plots.draw(density, rows_of(density) if data else None, view=view, key=KEY, title="T")
    plots.save(figure, tmp_path / "picture.png", dpi=30)
    written = texts(figure)
    assert words in written
    assert "T" in written
    assert any(text.startswith("data (n = 40)") for text in written) == data


def has_own_tests(view) -> bool:
    """Whether a view's module has a test file of its own, test_<module>.py."""
    return (Path(__file__).parent / f"test_{view.__module__.rpartition('.')[2]}.py").exists()


def test_every_view_is_tried():
    """Each view is in the table above, or its module has a test file of its own."""
    tried = {(type(d.manifold), name) for d, name, _ in VIEWS.values()}
    for density, _, _ in VIEWS.values():
        found = plots.views(density.manifold)
        known = [name for name, view in found.items() if name != "pair" and not has_own_tests(view)]
        missing = [name for name in known if (type(density.manifold), name) not in tried]
        assert set(missing) <= {"mollweide", "region", "rose", "line"}, (density.manifold, missing)


def test_north_is_up_and_east_to_the_right():
    rows = places((60, 90), (60, 90))
    moll = plots.draw(S2, rows, view="mollweide", key=KEY)
    lon, lat = dots_of(moll.axes[0])[0]
    np.testing.assert_allclose(np.rad2deg([lat, lon]), [60, 90], atol=1e-4)
    pixels = moll.axes[0].transData.transform([[lon, lat], [0, 0]])
    assert (pixels[0] > pixels[1]).all()


def test_globe_orientation():
    forward = plots.sphere.projections.globe(0.0, 30.0).forward
    (x, y), visible = forward(places((60, 90)))[0][0], forward(places((60, 90)))[1][0]
    assert visible
    assert (x, y) == pytest.approx((0.5 * np.sin(np.pi / 3), np.sin(np.pi / 3)))
    assert not forward(places((0, -90)))[1][0]


def test_caps_are_equal_area_and_north_is_up():
    cap = plots.sphere.projections.cap(-20.0, 178.0, 30.0)
    spots, visible = cap.forward(places((-20, 178), (-10, 178), (-20, -178), (10, 178), (11, 178)))
    assert visible.tolist() == [True, True, True, True, False]
    np.testing.assert_allclose(spots[[0, 3]], [[0, 0], [0, 1]], atol=1e-6)
    assert spots[1, 1] > 0
    assert spots[2, 0] > 0
    # The share of the disk is the share of the cap's area.
    assert spots[1, 1] ** 2 == pytest.approx(
        (1 - np.cos(np.deg2rad(10))) / (1 - np.cos(np.deg2rad(30)))
    )
    np.testing.assert_allclose(cap.backward(spots[1:2]), places((-10, 178)), atol=1e-12)


FIJI = places((-20, 178), (-35, 176), (-12, 167), (-15, -172))
PAST = plots.Turn("°", 360.0, 0.0)


def test_directions_in_a_small_part_are_on_a_map_of_it():
    figure = plots.draw(S2, FIJI, labels=["lat", "long"], units=[PAST, PAST], key=KEY)
    ax = figure.axes[0]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("long (°)", "lat (°)")
    (west, east), (south, north) = ax.get_xlim(), ax.get_ylim()
    assert 155 < west < 167 < 188 < east < 200
    assert -45 < south < -35 < -12 < north < -5
    np.testing.assert_allclose(np.sort(dots_of(ax)[:, 0]), [167, 176, 178, 188], atol=1e-3)
    assert all(west <= float(t.get_text()) <= east for t in ax.get_xticklabels())


def test_the_map_is_of_the_density():
    density = targets.SphereModes(Sphere(2), (tuple(map(float, places((-30, 175))[0])),), 400.0)
    ax = plots.draw(density, FIJI, units=[PAST, PAST], key=KEY, view="region").axes[0]
    image = ax.images[0]
    values = np.asarray(image.get_array())
    row, column = np.unravel_index(np.argmax(values), values.shape)
    left, right, bottom, top = image.get_extent()
    n = len(values)
    assert left + (right - left) * (column + 0.5) / n == pytest.approx(175, abs=1)
    assert bottom + (top - bottom) * (row + 0.5) / n == pytest.approx(-30, abs=1)


def test_directions_all_over_are_on_the_whole_sphere():
    assert plots.draw(S2, rows_of(S2), key=KEY).axes[0].name == "mollweide"


def test_a_world_from_0_to_360_is_cut_there():
    rows = places((0, 10), (0, 350), (0, 180), (60, 90))
    ax = plots.draw(S2, rows, units=[PAST, PAST], view="mollweide", key=KEY).axes[0]
    np.testing.assert_allclose(np.rad2deg(dots_of(ax)[:, 0]), [-170, 170, 0, -90], atol=1e-3)
    assert {"60°", "180°", "300°"} <= set(texts(ax.figure))


def test_one_globe_faces_data_that_fill_a_small_part():
    written = texts(plots.draw(S2, FIJI, view="globe", key=KEY))
    assert [text for text in written if text.startswith("above")] == ["above 20° S, 175° E"]


def test_pairs_of_a_small_part_are_zoomed():
    figure = plots.draw(POLAR, FIJI, units=[PAST, PAST], view="pair", key=KEY)
    assert figure.axes[0].get_xlim() == (-90, 90)
    density = targets.SphereModes(Sphere(2), (tuple(map(float, FIJI[0])),), 400.0)
    figure = plots.draw(density, FIJI, units=[PAST, PAST], view="pair", key=KEY)
    south, north = figure.axes[0].get_xlim()
    west, east = figure.axes[3].get_xlim()
    assert -45 < south < -35 < -12 < north < 0
    assert 155 < west < 167 < 188 < east < 200


@pytest.mark.parametrize("sign", [1, -1])
def test_hemispheres_are_equal_area_and_seen_from_above(sign):
    half = plots.sphere.projections.hemisphere(sign)
    v = np.array([[0.6, 0.0, sign * 0.8], [0.0, 0.6, sign * 0.8]])
    spots, visible = half.forward(v)
    assert visible.all()
    np.testing.assert_allclose(spots, np.sqrt(0.2) * np.eye(2), atol=1e-12)
    np.testing.assert_allclose(half.backward(spots), v, atol=1e-12)


@pytest.mark.parametrize("view", ["upper", "lower"])
def test_axes_are_drawn_by_their_end_in_that_half(view):
    rows = np.array([[0.6, 0.0, 0.8], [-0.6, 0.0, -0.8]])
    figure = plots.draw(AXES, rows, view=view, key=KEY)
    x = np.sqrt(0.2) * (1 if view == "upper" else -1)
    np.testing.assert_allclose(dots_of(figure.axes[0]), [[x, 0], [x, 0]], atol=1e-6)


def test_cubic_poles_do_not_depend_on_the_representative():
    identity = np.eye(3).reshape(1, 9)
    quarter = np.array([[0.0, -1, 0, 1, 0, 0, 0, 0, 1]])
    drawn = [plots.draw(CUBIC, r, view="poles", key=KEY) for r in (identity, quarter)]
    first, second = (np.unique(np.round(dots_of(f.axes[0]), 5) + 0.0, axis=0) for f in drawn)
    np.testing.assert_allclose(first, second)
    # {100} of a crystal along the sample's axes: the centre, and four points at the rim.
    np.testing.assert_allclose(np.sort(np.hypot(*first.T)), [0, 1, 1, 1, 1], atol=1e-4)


@pytest.mark.parametrize(
    ("group", "cubic"), [("432", True), ("23", True), ("622", False), ("6/mmm", False)]
)
def test_only_cubic_crystals_have_cubic_poles(group, cubic):
    assert Orientations(group).symmetry.is_cubic == cubic


def test_sides_of_a_symmetry():
    turn = np.array([[0.0, -1, 0, 1, 0, 0, 0, 0, 1]])  # a quarter turn about z: x to y
    for side, sign in (("right", 1), ("left", -1)):
        symmetry = Orientations("1", side=side).symmetry
        pole = plots.rotations.Pole("x", (1, 0, 0))
        found = plots.rotations.rotate_pole(symmetry, turn, pole, limit=10)
        np.testing.assert_allclose(found[0], [0, sign, 0], atol=1e-12)


def test_a_given_figure_is_used_and_keeps_its_size():
    figure = Figure(figsize=(3, 2))
    assert plots.draw(T2, key=KEY, figure=figure) is figure
    assert tuple(figure.get_size_inches()) == (3, 2)


def test_no_pyplot():
    assert "matplotlib.pyplot" not in sys.modules


def test_the_legend_counts_hidden_axes():
    figure = plots.draw(Blob(Stiefel(4, 2)), key=jax.random.key(3))
    assert "1 more axis is not shown" in texts(figure)
