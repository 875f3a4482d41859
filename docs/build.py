"""Build the documentation: `python -m docs.build [NAME …]`; without a name, all of it.

A name is a written page (`quickstart/earth`), `api` for the reference, or `tables`, `real` or
`scaling` for a page of stored results. `--check` builds nothing: it fails where a page in
docs/generated differs from the code or from the stored results.

Written pages are plain Markdown that hold their own source. In `quickstart/` and `how-to/`

- a ```console block runs. Lines after `$ ` are commands (a backslash continues them); the other
  lines are what the last run printed, and are replaced. In ```console fails the last command must
  fail;
- ```python blocks run in one namespace per page; a ```text block right after one is what it
  printed, and is replaced;
- a ```toml NAME block is written to the file NAME;
- ![…](../generated/images/NAME.png) takes the picture NAME.png that the blocks made, if they made
  it. NAME-report.png is a screenshot of their NAME.html.

Each page runs in a new folder.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

DOCS = Path(__file__).parent
ROOT = DOCS.parent
README = ROOT / "README.md"
GENERATED = DOCS / "generated"
"""Everything that a program writes; all other pages are written by hand."""
BLOCK = re.compile(
    r"```(console|python|toml)([^\n]*)\n(.*?)```\n(?:\n?```text\n.*?```\n)?", re.DOTALL
)
PICTURE = re.compile(r"!\[[^\]]*\]\(\.\./generated/images/([\w-]+)\.png\)")
MAX_PICTURE_BYTES = 150_000
"""A page with its pictures loads quickly, and the repository stays small."""


def main(arguments: list[str]) -> int:
    """Build or check the named pages; return the number of stale ones."""
    from . import reference

    check = "--check" in arguments
    names = [a for a in arguments if a != "--check"]
    stale = 0
    if not names or "api" in names:
        stale += reference.write(GENERATED / "api", check=check)
    stale += render_results(names, check=check)
    if not check:
        from foliax.cli.console import enable_compilation_cache

        enable_compilation_cache()  # compiled programs are kept, as on the command line
        for page in pages():
            if not names or str(page.relative_to(DOCS).with_suffix("")) in names:
                began = time.monotonic()
                build(page)
                print(f"{page.relative_to(ROOT)}: {time.monotonic() - began:.0f} s", flush=True)
    return stale


def render_results(names: list[str], *, check: bool) -> int:
    """Render the pages of stored results, or only compare; return the number of stale ones."""
    from benchmarks import real_results, scaling_results

    from . import tables

    stale = 0
    modules = {"tables": tables, "real": real_results, "scaling": scaling_results}
    for name, module in modules.items():
        if names and name not in names:
            continue
        stored = module.stored()
        if not check:
            module.publish(stored)
        elif module.PAGE.read_text(encoding="utf-8") != module.page(stored):
            print(f"{module.PAGE.relative_to(ROOT)} is stale: python -m docs.build {name}")
            stale += 1
    return stale


def pages() -> list[Path]:
    """List the written pages that hold code."""
    return [*sorted(DOCS.glob("quickstart/*.md")), *sorted(DOCS.glob("how-to/*.md"))]


def build(page: Path) -> None:
    """Run a page's blocks, write their outputs into it, and store its pictures.

    Where a block fails, the outputs and pictures before it are kept.
    """
    with tempfile.TemporaryDirectory() as folder, environment(Path(folder)):
        before = page.read_text(encoding="utf-8")
        try:
            for after in run_blocks(before, str(page)):
                page.write_text(after, encoding="utf-8")
        finally:
            for name in PICTURE.findall(before):
                store_picture(Path(folder), name)


@contextlib.contextmanager
def environment(folder: Path) -> Iterator[None]:
    """Work in a folder, with this foliax, its command and the examples on the path."""
    before, old = Path.cwd(), dict(os.environ)
    os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    os.environ["PYTHONPATH"] = str(ROOT)
    os.environ["COLUMNS"] = "100"
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"  # hides XLA's warnings about a busy machine
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)
        os.environ.clear()
        os.environ.update(old)


def run_blocks(text: str, name: str) -> Iterator[str]:
    """Run a page's blocks in order; yield the page after each, with its outputs replaced."""
    namespace: dict[str, object] = {"__name__": "page"}
    done = ""
    while block := BLOCK.search(text):
        done += text[: block.start()] + rerun_block(block, namespace, name)
        text = text[block.end() :]
        yield done + text


def rerun_block(block: re.Match[str], namespace: dict[str, object], name: str) -> str:
    """Run a block and return it with its new output."""
    language, info, code = block.groups()
    if language == "toml":
        Path(info.strip()).write_text(code, encoding="utf-8")
        return block[0]
    if language == "console":
        return f"```console{info}\n{run_console(code, 'fails' in info.split())}```\n"
    printed = run_python(code, namespace, name)
    shown = f"\n```text\n{printed}```\n" if printed else ""
    return f"```python{info}\n{code}```\n{shown}"


def run_console(code: str, fails: bool = False) -> str:
    """Run the commands of a block; return each with its output."""
    commands = re.findall(r"^\$ ((?:.*\\\n)*.*\n)", code, re.MULTILINE)
    shown = []
    for number, command in enumerate(commands):
        done = subprocess.run(
            ["bash", "-c", command],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        if bool(done.returncode) != (fails and number == len(commands) - 1):
            raise RuntimeError(f"{command} returned {done.returncode}:\n{done.stdout}")
        shown.append(f"$ {command}{strip_line_ends(done.stdout)}")
    return "\n".join(shown)


def run_python(code: str, namespace: dict[str, object], name: str) -> str:
    """Run a block in the page's namespace and return its output."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, name, "exec"), namespace)
    return strip_line_ends(printed.getvalue())


def strip_line_ends(text: str) -> str:
    """Strip spaces at the ends of lines; end the text with one newline."""
    lines = [line.rstrip() for line in text.rstrip().splitlines()]
    return "\n".join(lines) + "\n" if lines else ""


def replace_section(page: Path, name: str, text: str) -> None:
    """Replace the text between `<!-- name -->` and `<!-- end of name -->`."""
    before, after = f"<!-- {name} -->\n", f"\n<!-- end of {name} -->"
    old = page.read_text(encoding="utf-8")
    if not (before in old and after in old):
        raise ValueError(f"{page} has no section from {before.strip()} to {after.strip()}.")
    start, end = old.index(before) + len(before), old.index(after)
    page.write_text(old[:start] + text + old[end:], encoding="utf-8")


def store_picture(folder: Path, name: str, stored_name: str = "") -> None:
    """Shrink a picture that a page made in `folder` and store it in docs/generated/images."""
    stored_name = stored_name or name
    made = folder / f"{name}.png"
    page = folder / f"{name.removesuffix('-report')}.html"
    if name.endswith("-report") and page.is_file():
        screenshot(page, made)
    if not made.is_file():
        print(f"docs/generated/images/{stored_name}.png: not made in this run, left unchanged.")
        return
    from PIL import Image

    image = Image.open(made).convert("RGB")
    target = GENERATED / "images" / f"{stored_name}.png"
    target.parent.mkdir(exist_ok=True)
    for shrink in (1.0, 0.8, 0.65, 0.5, 0.4):
        size = (round(image.width * shrink), round(image.height * shrink))
        small = image.resize(size, Image.Resampling.LANCZOS) if shrink < 1 else image
        # An octree without dithering keeps the rare colours at the ends of a colour scale.
        by = {"method": Image.Quantize.FASTOCTREE, "dither": Image.Dither.NONE}
        small.quantize(256, **by).save(target, optimize=True)
        if target.stat().st_size <= MAX_PICTURE_BYTES:
            return
    raise RuntimeError(f"{target} has more than {MAX_PICTURE_BYTES} bytes.")


def screenshot(page: Path, made: Path) -> None:
    """Take a screenshot of a page, where a browser is installed."""
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        print(f"{page.name}: no screenshot, because chromium is not installed.")
        return
    options = "--headless=new --no-sandbox --disable-gpu --hide-scrollbars"
    size = "--window-size=1100,2400 --virtual-time-budget=8000"
    subprocess.run(
        [browser, *options.split(), *size.split(), f"--screenshot={made}", page.as_uri()],
        check=False,
        capture_output=True,
        timeout=180,
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
