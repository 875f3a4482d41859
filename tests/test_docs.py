"""The documentation is not stale, its links exist, and its code runs."""

import importlib
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from docs import build, reference
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
    # In another process, because the tests wrap annotations in run-time checks.
    command = [sys.executable, "-m", "docs.build", "api", "--check"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_summary_is_that_of_the_stored_trials():
    found = paper_tables.stored()
    assert paper_tables.summary(found) in build.README.read_text()


@pytest.mark.parametrize("name", ["tables", "real", "scaling"])
def test_a_page_of_results_is_that_of_the_stored_results(name, capsys):
    assert build.render_results([name], check=True) == 0, capsys.readouterr().out


def test_generated_pages_are_apart_from_written_ones():
    """Only docs/generated holds pages that say a program wrote them, and pictures."""
    written = [path for path in (ROOT / "docs").rglob("*.*") if build.GENERATED not in path.parents]
    assert not [path for path in written if path.suffix in (".png", ".svg")]
    for page in (path for path in written if path.suffix == ".md"):
        assert "<!-- Generated" not in page.read_text(), page


def test_sections_of_docstrings_become_lists():
    arguments = "Args:\n    a: First,\n        and more.\n    *rest: Others.\n\n"
    assert reference.format_sections(f"Do it.\n\n{arguments}Returns:\n    A number.") == (
        "Do it.\n\n*Args*\n\n- `a`: First,\n  and more.\n- `*rest`: Others.\n\n"
        "*Returns*\n\n- A number."
    )
    assert reference.format_sections("Plain:\n    code") == "Plain:\n    code"


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
    """Every command that prints has an output: pages are built before they are committed."""
    for name in build.PICTURE.findall(page.read_text()):
        picture = build.GENERATED / f"images/{name}.png"
        assert picture.stat().st_size <= build.MAX_PICTURE_BYTES, picture
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
        build.run_python(code, namespace, str(page))


def test_outputs_are_replaced(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = (
        "```toml a.toml\nx = 1\n```\n\n```console\n$ cat a.toml\nold\n$ true\n```\n\n"
        "```python\nprint(1)\n```\n\n```text\nold\n```\n\n```console fails\n$ false\n```\n"
    )
    *_, new = build.run_blocks(page, "page")
    assert new == page.replace("cat a.toml\nold\n", "cat a.toml\nx = 1\n\n").replace(
        "```text\nold", "```text\n1"
    )
    assert list(build.run_blocks(new, "page"))[-1] == new
    with pytest.raises(RuntimeError, match="returned 1"):
        list(build.run_blocks("```console\n$ false\n```\n", "page"))


def test_the_page_on_the_architecture_names_existing_modules_once():
    page = (ROOT / "docs/architecture.md").read_text().split("## foliax fit")[1]
    named = re.findall(r"`([\w/]+(?:\.py|/))`", page)
    assert len(named) > 80
    assert len(named) == len(set(named)), sorted(n for n in named if named.count(n) > 1)
    missing = [name for name in named if not (ROOT / "src/foliax" / name).exists()]
    assert not missing, missing


def test_the_page_on_the_architecture_names_every_package():
    tree = (ROOT / "docs/architecture.md").read_text().split("```")[1]
    packages = {path.parent.name for path in (ROOT / "src/foliax").glob("*/__init__.py")}
    assert packages == set(re.findall(r"^  (\w+)/", tree, re.MULTILINE))
