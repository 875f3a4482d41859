"""The documentation is not stale, its links lead somewhere, its code runs."""

import importlib
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from docs import build
from docs import tables as paper_tables
from foliax.cli import app

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
HOW_TO = sorted((ROOT / "docs/how-to").glob("*.md"))
SLOW = {
    "choose-a-model",
    "compare",
    "error-bars",
    "model-files",
    "pictures",
    "scikit-learn",
    "speed",
}
COMMANDS = typer.main.get_command(app).commands  # type: ignore[attr-defined]


def named(path):
    return str(path.relative_to(ROOT))


def test_the_reference_is_that_of_the_code():
    # By itself: in the tests, annotations are wrapped for their checks.
    command = [sys.executable, "-m", "docs.build", "api", "--check"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_tables_are_those_of_the_stored_trials():
    found = paper_tables.stored()
    assert paper_tables.PAGE.read_text() == paper_tables.page(found)
    assert paper_tables.summary(found) in build.README.read_text()


def test_what_the_page_on_the_paper_names_exists():
    page = (ROOT / "docs/paper.md").read_text()
    for file, test in re.findall(r"`([\w/]+\.py)::(\w+)`", page):
        text = (ROOT / "tests" / file).read_text()
        assert re.search(rf"(def {test}\(|^{test} = )", text, re.MULTILINE), f"{file}::{test}"
    modules = {path.stem for path in (ROOT / "src/foliax").iterdir()}
    named = re.findall(r"`((?:\w+\.)+\w+)`", page)
    checked = [name for name in named if name.split(".")[0] in modules]
    assert len(checked) > 100
    for name in checked:
        module, *rest = name.split(".")
        found = importlib.import_module(f"foliax.{module}")
        for part in rest:
            found = getattr(found, part, None) or importlib.import_module(
                f"{found.__name__}.{part}"
            )


def headings(path):
    """The addresses that GitHub gives a page's headings."""
    found = []
    for title in re.findall(r"^#+ (.*)$", path.read_text(), re.MULTILINE):
        plain = re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")
        found.append(f"{plain}-{found.count(plain)}" if plain in found else plain)
    return found


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_links_and_pictures_exist(page):
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text()):
        if "://" in target:
            continue
        path, _, place = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        assert file.exists(), f"{named(page)}: {target}"
        assert not place or place in headings(file), f"{named(page)}: {target}"


@pytest.mark.parametrize("page", build.pages(), ids=named)
def test_commands_have_their_options(page):
    text = page.read_text().replace("\\\n", " ")
    for line in re.findall(r"^\$ foliax (.*)$", text, re.MULTILINE):
        name, *words = shlex.split(line.partition("|")[0])
        options = {option for p in COMMANDS[name].params for option in p.opts}
        for word in words:
            assert not re.match(r"--?[a-z]", word) or word in options, line


@pytest.mark.parametrize("page", build.pages(), ids=named)
def test_outputs_are_filled_in(page):
    """Every command that prints has printed: no page is committed before it was built."""
    for name in build.PICTURE.findall(page.read_text()):
        picture = ROOT / f"docs/images/{name}.png"
        assert picture.stat().st_size <= build.MOST_BYTES, picture
    for command in re.findall(r"```console[^\n]*\n(\$ (?:.*\\\n)*.*\n)```", page.read_text()):
        assert "foliax" not in command, f"{named(page)}: nothing was printed by {command}"


@pytest.mark.parametrize(
    "page",
    [pytest.param(p, marks=[pytest.mark.slow] if p.stem in SLOW else []) for p in HOW_TO],
    ids=named,
)
def test_how_to_code_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    namespace = {"__name__": "page"}
    blocks = re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL)
    assert blocks
    for code in blocks:
        build.python(code, namespace, str(page))


def test_outputs_are_replaced(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = (
        "```toml a.toml\nx = 1\n```\n\n```console\n$ cat a.toml\nold\n$ true\n```\n\n"
        "```python\nprint(1)\n```\n\n```text\nold\n```\n\n```console fails\n$ false\n```\n"
    )
    *_, new = build.run(page, "page")
    assert new == page.replace("cat a.toml\nold\n", "cat a.toml\nx = 1\n\n").replace(
        "```text\nold", "```text\n1"
    )
    assert list(build.run(new, "page"))[-1] == new
    with pytest.raises(RuntimeError, match="returned 1"):
        list(build.run("```console\n$ false\n```\n", "page"))
