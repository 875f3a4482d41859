"""The page: its content, that it loads nothing else, and that it works in a browser."""

import dataclasses
import json
import re

import jax
import pandas as pd
import pytest
from matplotlib.figure import Figure

from foliax import io
from foliax.plots import scene
from foliax.report import markup as m
from foliax.report import report

from ..browser import visit
from ..cli.running import QUAKES, run, run_json

SPHERE = "where: sphere(lat=lat, lon=long); mag: rounded(mag, step=0.1)"
SECTIONS = ("data", "pictures", "fit", "held-out", "good", "extremes", "load")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A model of 240 earthquakes and its report."""
    path = tmp_path_factory.mktemp("report")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scene, "MAX_EVALUATIONS", 4000)
        patch.setattr(scene, "MAX_SAMPLES", 400)
        pd.read_csv(QUAKES).iloc[:240].to_csv(path / "q.csv", index=False)
        run("fit", path / "q.csv", "-s", SPHERE, "-m", "kernel", "--held-out", 0.25)
        found = run_json("report", path / "q.foliax")
        (path / "found.json").write_text(json.dumps(found))
    return path


@pytest.fixture(scope="module")
def page(folder):
    return (folder / "q.html").read_text()


def test_the_page_has_all_sections(page):
    for name in SECTIONS:
        assert f'<section id="{name}">' in page
        assert f'href="#{name}"' in page
    assert "240" not in page.split("<nav>")[0]
    assert "180 rows were fitted; 60 were held out at random." in page
    assert "independent columns" in page
    assert page.count("<img") >= 4


def test_the_page_loads_nothing_else(page):
    outside = re.findall(r'(?:src|href)="(?!data:|#)([^"]*)"', page)
    assert outside == []
    assert "@import" not in page
    assert "fetch(" not in page


def test_json_output_agrees_with_the_page(folder, page):
    found = json.loads((folder / "found.json").read_text())
    assert found["held out"] == 60
    assert set(found["leads"]) == {"kernel", "independent columns"}
    mean = f"{found['mean log density']:.3f} ± {found['standard error']:.3f}"
    assert mean in page
    assert 0 <= found["coverage p-value"] <= 1


def test_the_lines_that_load_the_model_work(folder, page, monkeypatch):
    import html

    blocks = re.findall(r"<code>(import foliax.*?)</code>", page, re.S)
    monkeypatch.chdir(folder)
    pd.read_csv(folder / "q.csv").iloc[:5].to_csv(folder / "new.csv", index=False)
    names: dict = {}
    exec(html.unescape(blocks[0]), names)
    assert len(names["log_density"]) == 5
    assert list(names["samples"].columns) == ["lat", "long", "mag"]


def test_column_names_are_escaped(tmp_path):
    frame = pd.read_csv(QUAKES).iloc[:40].rename(columns={"stations": "<b>n</b>"})
    frame.to_csv(tmp_path / "q.csv", index=False)
    run("fit", tmp_path / "q.csv", "-s", 'n: count("<b>n</b>")', "-m", "kernel")
    run("report", tmp_path / "q.foliax")
    page = (tmp_path / "q.html").read_text()
    assert "<b>n</b>" not in page
    assert "&lt;b&gt;n&lt;/b&gt;" in page
    assert "No rows were held out" in page


HOSTILE = "<script>alert(1)</script>\x1b[2J\u202e"


def find_hostile_text(page):
    return [text for text in ("<script>alert", "\x1b", "\u202e") if text in page]


def test_texts_of_a_model_file_neither_run_nor_control(tmp_path):
    frame = pd.read_csv(QUAKES).iloc[:40]
    frame.to_csv(tmp_path / "q.csv", index=False)
    run("fit", tmp_path / "q.csv", "-s", "mag: real(mag)", "-m", "kernel")
    model = io.load(tmp_path / "q.foliax")
    about = dict.fromkeys(("model", "data", "seed"), HOSTILE)
    model = dataclasses.replace(model, extra=about, versions={"foliax": HOSTILE})
    page = report(model, None, title=HOSTILE, path=HOSTILE, key=jax.random.key(0))
    assert not find_hostile_text(page)
    assert page.count("&lt;script&gt;alert(1)&lt;/script&gt;\\x1b[2J\\u202e") >= 4


def test_building_blocks_escape_all_text():
    parts = [
        m.section("name", HOSTILE),
        m.paragraph(HOSTILE),
        m.bullet_list([HOSTILE]),
        m.code(HOSTILE),
        m.table([HOSTILE], [[HOSTILE]]),
        m.frame_table(pd.DataFrame({HOSTILE: [HOSTILE]})),
        m.picture(Figure(), HOSTILE),
    ]
    assert [find_hostile_text(part) for part in parts] == [[]] * len(parts)


def test_a_page_must_be_html_and_the_model_must_be_there(folder):
    assert "one of .html" in run("report", folder / "q.foliax", "-o", "x.pdf", code=2).output
    assert "no model file" in run("report", folder / "none.foliax", code=2).output


LOOK = """
const canvas = document.querySelector("canvas");
canvas.scrollIntoView();
const frame = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
await frame();
const pixels = () => {
  const copy = document.createElement("canvas");
  [copy.width, copy.height] = [canvas.width, canvas.height];
  copy.getContext("2d").drawImage(canvas, 0, 0);
  return copy.getContext("2d").getImageData(0, 0, copy.width, copy.height).data;
};
const before = pixels();
canvas.focus();
canvas.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight", bubbles: true }));
await frame();
const after = pixels();
const images = [...document.images];
return {
  turned: before.reduce((n, v, i) => n + (v !== after[i]), 0) / before.length,
  broken: images.filter((image) => !image.naturalWidth).length,
  images: images.length,
  page: innerWidth,
  widest: document.documentElement.scrollWidth,
};
"""


@pytest.mark.parametrize("width", [1200, 390])
def test_in_a_browser(page, tmp_path, width):
    found = visit(page, tmp_path, script=LOOK, width=width)
    assert found.console == []
    assert found.result["turned"] > 0.01
    assert found.result["broken"] == 0
    assert found.result["images"] >= 4
    assert found.result["widest"] <= found.result["page"] == width
