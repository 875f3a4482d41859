"""Interactive views in a browser: they draw, they turn and they fit on a phone."""

import pytest

from foliax import plots
from foliax.paper import targets

from ..browser import visit
from .common import KEY, places, rows_of

S2, T2, SO3 = targets.sphere_s2(), targets.torus_multimodal(), targets.rotations_so3()

LOOK = """
const frame = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
const pixels = (canvas) => {
  const copy = document.createElement("canvas");
  [copy.width, copy.height] = [canvas.width, canvas.height];
  copy.getContext("2d").drawImage(canvas, 0, 0);
  return copy.getContext("2d").getImageData(0, 0, copy.width, copy.height).data;
};
const pointer = (canvas, type, x, y) => {
  const box = canvas.getBoundingClientRect();
  const clientX = box.left + x * box.width, clientY = box.top + y * box.height;
  canvas.dispatchEvent(new PointerEvent(type, { pointerId: 1, clientX, clientY, bubbles: true }));
};
const drag = async (canvas, x) => {
  canvas.setPointerCapture = () => {};
  pointer(canvas, "pointerdown", 0.5, 0.5);
  pointer(canvas, "pointermove", 0.5 + x, 0.5);
  pointer(canvas, "pointerup", 0.5 + x, 0.5);
  await frame();
};
const changed = (a, b) => a.reduce((n, v, i) => n + (v !== b[i]), 0) / a.length;
await frame();
"""
EACH = """
const found = [];
for (const figure of document.querySelectorAll("figure")) {
  const canvas = figure.querySelector("canvas"), first = pixels(canvas);
  await drag(canvas, 0.2);
  const second = pixels(canvas);
  await drag(canvas, -0.2);
  found.push({
    colours: new Set(new Uint32Array(first.buffer)).size,
    turned: changed(first, second),
    back: changed(first, pixels(canvas)),
    words: figure.querySelector("figcaption").textContent,
    width: canvas.getBoundingClientRect().width,
  });
}
return { found, page: innerWidth, widest: document.documentElement.scrollWidth };
"""


def page_of(density, rows, **words):
    view = plots.interactive(density, rows, key=KEY, title="A density", **words)
    return plots.interactive_html(view)


HEAD = '<!doctype html><meta charset="utf-8"><meta name="viewport" content="width=device-width">'


@pytest.mark.parametrize("width", [1200, 390])
@pytest.mark.usefixtures("coarse")
def test_globe_torus_and_ball_draw_turn_and_fit(width, tmp_path):
    page = HEAD + "".join(page_of(density, rows_of(density)) for density in (S2, T2, SO3))
    seen = visit(page, tmp_path, script=LOOK + EACH, width=width)
    assert seen.console == []
    assert seen.result["page"] == width
    assert seen.result["widest"] <= width
    assert len(seen.result["found"]) == 3
    for view in seen.result["found"]:
        assert view["colours"] > 50
        assert view["turned"] > 0.02
        assert view["back"] < 0.1 * view["turned"]
        assert 0.8 * min(width, 480) < view["width"] <= width
        assert "data (n = 40)" in view["words"]


@pytest.mark.usefixtures("coarse")
def test_a_globe_faces_the_data_and_reads_the_users_longitudes(tmp_path):
    rows = places((-20, 178), (-22, -178), (-18, 180))
    turn = plots.Turn("°", 360.0, 0.0)
    page = HEAD + page_of(S2, rows, labels=["lat", "long"], units=[turn, turn])
    script = """
    const canvas = document.querySelector("canvas"), before = pixels(canvas);
    pointer(canvas, "pointermove", 0.5, 0.5);
    const words = document.querySelector("figcaption").textContent;
    document.querySelector("button[aria-label='zoom out']").click();
    await frame();
    return { words, zoomed: changed(before, pixels(canvas)) };
    """
    seen = visit(page, tmp_path, script=LOOK + script)
    assert "lat −20°, long 180°: " in seen.result["words"]
    assert seen.result["zoomed"] > 0.02
    assert seen.console == []


def test_errors_on_the_console_are_seen(tmp_path):
    seen = visit("<script>console.error('broken')</script>", tmp_path, script="return 3")
    assert seen.result == 3
    assert "broken" in seen.console[0]


def test_a_script_that_fails_is_an_error(tmp_path):
    with pytest.raises(AssertionError, match="nonsense is not defined"):
        visit("<p>A page", tmp_path, script="return nonsense")
