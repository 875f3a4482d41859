"""Interactive views: small JSON data, a self-contained page, a script that draws."""

import base64
import json
import shutil
import subprocess
from importlib.resources import files

import numpy as np
import pytest

from foliax import plots
from foliax.manifolds import Orientations, ProjectiveSpace, Stiefel, Torus
from foliax.paper import targets
from foliax.plots.page import script

from .common import KEY, Blob, places, rows_of

S2, T2, SO3 = targets.sphere_s2(), targets.torus_multimodal(), targets.rotations_so3()


def levels(view):
    grid = view["grid"]
    flat = np.frombuffer(base64.b64decode(grid["levels"]), np.uint8)
    return flat.reshape(grid["rows"], grid["columns"]) / 255


def points(view, name="points"):
    part = view[name]
    flat = np.frombuffer(base64.b64decode(part["values"]), "<i2") / 32767
    return flat.reshape(part["n"], -1)


@pytest.mark.parametrize(
    ("density", "kind"),
    [(S2, "globe"), (Blob(ProjectiveSpace(2)), "globe"), (T2, "torus"), (SO3, "ball"),
     (Blob(Orientations("622")), "ball")],
)  # fmt: skip
@pytest.mark.usefixtures("coarse")
def test_the_data_are_small_json(density, kind):
    view = plots.interactive(density, rows_of(density), key=KEY, title="a </script> b")
    assert view["kind"] == kind
    text = json.dumps(view, allow_nan=False)
    assert len(text) < 60_000
    assert view["data"].startswith("data (n = 40)")
    assert len(view["palette"]) == 33
    page = plots.interactive_html(view)
    assert page.count("</script>") == 2
    assert "http" not in page


def test_globe_levels_are_the_density():
    view = plots.interactive(S2, places((60, 90)), key=KEY)
    values = view["scale"]["low"] + levels(view) * (view["scale"]["high"] - view["scale"]["low"])
    assert not view["scale"]["log"]
    edges = np.sin(np.linspace(-np.pi / 2, np.pi / 2, len(values) + 1))
    mass = (values.mean(axis=1) * np.diff(edges) / 2).sum()
    assert mass == pytest.approx(1, abs=0.02)
    np.testing.assert_allclose(points(view), places((60, 90)), atol=1e-4)


@pytest.mark.usefixtures("coarse")
def test_torus_points_are_shares_of_a_turn():
    view = plots.interactive(T2, [[0.0, np.pi / 2]], key=KEY, units=["degrees", "hours"])
    np.testing.assert_allclose(points(view), [[0.5, 0.25]], atol=1e-4)
    assert [axis["start"] for axis in view["axes"]] == [-180, 0]


@pytest.mark.usefixtures("coarse")
def test_rotations_are_in_the_ball_nearest_to_the_identity():
    quarter = np.array([[0.0, -1, 0, 1, 0, 0, 0, 0, 1]])
    plain = plots.interactive(SO3, quarter, key=KEY)
    np.testing.assert_allclose(points(plain), [[0, 0, 0.5]], atol=1e-4)
    cubic = plots.interactive(Blob(Orientations("cubic")), quarter, key=KEY)
    np.testing.assert_allclose(points(cubic), [[0, 0, 0]], atol=1e-4)
    assert np.linalg.norm(points(plain, "cloud"), axis=1).max() <= 1.001


@pytest.mark.usefixtures("coarse")
def test_a_globe_begins_where_the_data_are():
    near = plots.interactive(S2, places((-20, 178), (-24, -174)), key=KEY)
    assert near["facing"] == (-20, -180)
    assert near["zoom"] > 4
    wide = plots.interactive(S2, places((80, 0), (40, 180), (85, 90), (-9, 9)), key=KEY)
    assert wide["facing"][0] == 30
    assert wide["zoom"] == 1


@pytest.mark.parametrize("manifold", [Stiefel(3, 2), Torus(1)])
def test_other_manifolds_have_no_interactive_view(manifold):
    with pytest.raises(ValueError, match="no interactive view"):
        plots.interactive(Blob(manifold), key=KEY)


def run(view, folder):
    """Run the script without a browser, and return what it draws."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("no node to run the script with")
    (folder / "view.json").write_text(json.dumps(view))
    (folder / "script.js").write_text(script(), encoding="utf-8")
    harness = files("tests.plots").joinpath("harness.js")
    done = subprocess.run(
        [node, str(harness), str(folder / "script.js"), str(folder / "view.json")],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return json.loads(done.stdout)


def test_script_turns_a_globe(tmp_path):
    around = places((60, 60), (0, -60), (0, 60), (-60, -60))
    view = plots.interactive(S2, around, key=KEY, title="T")
    drawn = run(view, tmp_path)
    (x, y), (x2, _) = drawn["dots"][0], drawn["dragged"][0]
    assert x > 100 > y
    assert x2 > x
    assert drawn["caption"][0] == "T"
    assert any(line.startswith("latitude 0°, longitude 0°: ") for line in drawn["caption"])
    assert drawn["raster"]["width"] == 200


def test_script_draws_the_density_north_up(tmp_path):
    density = targets.SphereModes(S2.manifold, (tuple(map(float, places((60, 40))[0])),), 20.0)
    around = places((0, -90), (0, 90), (0, 0))
    drawn = run(plots.interactive(density, around, key=KEY), tmp_path)
    pixels = np.frombuffer(base64.b64decode(drawn["raster"]["data"]), np.uint8)
    red = pixels.reshape(200, 200, 4)[..., 0].astype(int)
    row, column = np.unravel_index(red.argmax(), red.shape)
    assert row < 80
    assert column > 110


def test_script_pans_a_torus(tmp_path):
    drawn = run(plots.interactive(T2, [[0.0, np.pi / 2]], key=KEY, units="degrees"), tmp_path)
    assert drawn["dots"][0] == pytest.approx([100, 50], abs=0.1)
    assert drawn["dragged"][0] == pytest.approx([140, 50], abs=0.1)
    assert drawn["caption"][-1].startswith("θ₁ 0°, θ₂ 0°: ")


@pytest.mark.usefixtures("coarse")
def test_script_draws_a_ball(tmp_path):
    drawn = run(plots.interactive(SO3, rows_of(SO3), key=KEY), tmp_path)
    assert len(drawn["dots"]) == 40 + 500
    assert [word for word, *_ in drawn["words"]][:3] == ["x", "y", "z"]
