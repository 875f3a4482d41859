"""Labels, units, files and errors of pictures."""

import json
from xml.etree import ElementTree

import numpy as np
import pytest
from matplotlib.cbook import is_math_text

from foliax import plots
from foliax.manifolds import (
    Naturals,
    OffManifoldError,
    PositiveReals,
    Product,
    ProjectiveSpace,
    Sphere,
    Torus,
)
from foliax.paper import targets
from foliax.plots.frames import label_axes
from foliax.plots.save import save

from .common import KEY, Blob, texts

pytestmark = pytest.mark.usefixtures("coarse")
S2, T2 = targets.sphere_s2(), targets.torus_multimodal()
MIXED = Product(Sphere(2), PositiveReals(1), Torus(2))


def labels_of(manifold, labels=None, units=None):
    return [axis.label for axis in label_axes(manifold, labels, units)[1]]


def test_labels_for_each_factor():
    found = labels_of(MIXED, ["epicentre", "depth", ["φ", "ψ"]], ["degrees", "km", "radians"])
    assert found == [
        "epicentre latitude (°)", "epicentre longitude (°)", "depth (km)", "φ (rad)", "ψ (rad)",
    ]  # fmt: skip


def test_labels_for_each_axis():
    found = labels_of(MIXED, list("abcde"), ["", "", "km", "hours", "degrees"])
    assert found == ["a (°)", "b (°)", "c (km)", "d (h)", "e (°)"]


def test_default_labels_tell_factors_apart():
    found = labels_of(Product(Naturals(1), Naturals(1)))
    assert found == ["count [1]", "count [2]"]


@pytest.mark.parametrize(
    ("manifold", "labels", "units", "words"),
    [
        (Torus(2), ["a"] * 3, None, r"Give 2 labels \(θ₁, θ₂\), or 1, one for each factor; got 3"),
        (MIXED, ["a", "b", ["c"]], None, "Give 5 labels"),
        (Torus(1), None, "furlongs", "angle is an angle: its unit is degrees, radians"),
        (PositiveReals(1), None, plots.TURNS["hours"], "value is not an angle"),
    ],
)
def test_labels_and_units_that_do_not_fit(manifold, labels, units, words):
    with pytest.raises(ValueError, match=words):
        label_axes(manifold, labels, units)


def test_angles_are_shown_in_the_unit_and_from_its_start():
    axis = label_axes(Torus(1), "arrival", plots.Turn("d", 365.0, 1.0))[1][0]
    np.testing.assert_allclose(axis.to_unit(np.array([0.0, np.pi])), [365, 182.5])
    hours = label_axes(Torus(1), None, "hours")[1][0]
    np.testing.assert_allclose(hours.to_unit(np.array([-np.pi / 2])), [18])


def test_unknown_view_names_the_known_ones():
    with pytest.raises(
        ValueError, match=r"no view 'axes'.*Views of it: mollweide, region, globe, pair"
    ):
        plots.draw(S2, view="axes", key=KEY)


DOLLARS = "price $US to $CA"


@pytest.mark.parametrize(
    ("density", "view"),
    [
        (S2, "mollweide"),
        (S2, "region"),
        (Blob(ProjectiveSpace(2)), "lower"),
        (T2, "map"),
        (T2, "pair"),
        (Blob(Torus(1)), "rose"),
        (Blob(Torus(1)), "line"),
        (Blob(PositiveReals(1)), "curve"),
        (Blob(Naturals(1)), "bars"),
    ],
)
def test_dollars_in_a_name_are_not_a_formula(density, view):
    axes = plots.frame(density.manifold).axes
    figure = plots.draw(density, labels=[DOLLARS] * len(axes), view=view, key=KEY)
    named = [text for text in texts(figure) if "price" in text]
    assert named
    assert not any(is_math_text(text) for text in named)
    assert all(DOLLARS in text.replace(r"\$", "$") for text in named)


def test_dollars_in_a_unit_are_not_a_formula():
    figure = plots.draw(Blob(PositiveReals(1)), labels="cost", units="$ per $", key=KEY)
    named = [text for text in texts(figure) if "per" in text]
    assert len(named) == 2
    assert not any(is_math_text(text) for text in named)


def test_names_with_control_characters_are_shown_as_escapes(tmp_path):
    name = "<script>alert(1)</script>\x1b[2J\u202e"
    figure = plots.draw(Blob(PositiveReals(1)), labels=name, key=KEY)
    assert any("\\x1b[2J\\u202e" in text for text in texts(figure))
    ElementTree.parse(save(figure, tmp_path / "a.svg"))
    labels = [name] * len(plots.frame(S2.manifold).axes)
    page = plots.interactive_html(plots.interactive(S2, labels=labels, key=KEY, title=name))
    assert not any(text in page for text in ("<script>alert", "\x1b", "\\u001b", "\u202e"))
    assert page.count("\\\\x1b[2J\\\\u202e") == 3


def test_rows_are_checked():
    with pytest.raises(OffManifoldError, match="norm is 2"):
        plots.draw(S2, [[2.0, 0, 0]], key=KEY)


def test_labels_are_on_the_picture():
    figure = plots.draw(T2, labels=["φ", "ψ"], units=["degrees", "radians"], key=KEY)
    assert {"φ (°)", "ψ (rad)", "density (× uniform)"} <= set(texts(figure))


@pytest.mark.parametrize(
    ("suffix", "start"), [("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")]
)
def test_formats(suffix, start, tmp_path):
    paths = [tmp_path / f"{name}.{suffix}" for name in "ab"]
    files = [save(plots.draw(T2, key=KEY), path, dpi=40).read_bytes() for path in paths]
    assert files[0].startswith(start)
    assert files[0] == files[1]


def test_errors_of_save(tmp_path):
    figure = plots.draw(T2, key=KEY)
    with pytest.raises(ValueError, match=r"pictures are .png, .svg, .pdf files, not '.gif'"):
        save(figure, tmp_path / "a.gif")
    with pytest.raises(ValueError, match="there is no folder"):
        save(figure, tmp_path / "none" / "a.png")
    assert not list(tmp_path.iterdir())


def test_a_failed_save_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "a.png"
    path.write_bytes(b"old")
    figure = plots.draw(T2, key=KEY)

    def fails(file, **_):
        with open(file, "wb") as half:
            half.write(b"half")
        raise OSError("disk full")

    monkeypatch.setattr(figure, "savefig", fails)
    with pytest.raises(OSError, match="disk full"):
        save(figure, path)
    assert [p.name for p in tmp_path.iterdir()] == ["a.png"]
    assert path.read_bytes() == b"old"


COAST = {
    "type": "FeatureCollection",
    "features": [
        {"geometry": {"type": "LineString", "coordinates": [[170, 0], [179, 5], [-175, 6]]}},
        {"geometry": {"type": "MultiPolygon", "coordinates": [[[[0, 0], [9, 0], [0, 9], [0, 0]]]]}},
    ],
}  # fmt: skip


def test_coastlines_are_drawn_where_there_are_any(tmp_path, monkeypatch):
    path = tmp_path / "coast.geojson"
    path.write_text(json.dumps(COAST))
    first, second = plots.coastlines(path)
    assert np.isnan(first[2]).all()
    assert len(second) == 4
    monkeypatch.delenv("FOLIAX_COASTLINES", raising=False)
    assert plots.coastlines(True) == ()
    monkeypatch.setenv("FOLIAX_COASTLINES", str(path))
    counts = [
        len(plots.draw(S2, view=v, key=KEY, earth=e).axes[0].lines)
        for v in ("mollweide", "globe")
        for e in (True, False)
    ]
    assert counts[0] == counts[1] + 2
    assert counts[2] == counts[3] + 2


def test_files_without_coastlines(tmp_path):
    path = tmp_path / "coast.json"
    path.write_text("{}")
    with pytest.raises(ValueError, match="no lines or polygons"):
        plots.coastlines(path)
    with pytest.raises(ValueError, match="no file of coastlines"):
        plots.coastlines(tmp_path / "none.json")


def test_non_finite_samples_are_an_error():
    class Broken(Blob):
        def _sample(self, *, condition=None, key):
            return super()._sample(key=key) * float("nan")

    with pytest.raises(FloatingPointError, match="not finite"):
        plots.draw(Broken(PositiveReals(1)), key=KEY)
