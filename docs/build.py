"""Makes the documentation: `python -m docs.build [api | PAGE …]`, by default all of it.

Pages are plain Markdown that hold their own source. In a page of `quickstart/` or `how-to/`

- a ```console block runs: lines after `$ ` are commands (a backslash continues them), the others
  are what the last run printed, and are replaced. ```console fails: the last command must fail;
- ```python blocks run in one namespace per page; a ```text block right after one is what it
  printed, and is replaced;
- a ```toml NAME block is written to the file NAME;
- ![…](../images/NAME.png) takes the picture NAME.png that the blocks made, if they made it, and
  NAME-report.png is a screenshot of their NAME.html.

Each page runs in a new folder. `api/` is generated from docstrings, signatures and the command
line; `python -m docs.build api --check` fails where that is not what is in the folder.
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
README = DOCS.parent / "README.md"
ROOT = DOCS.parent
BLOCK = re.compile(
    r"```(console|python|toml)([^\n]*)\n(.*?)```\n(?:\n?```text\n.*?```\n)?", re.DOTALL
)
PICTURE = re.compile(r"!\[[^\]]*\]\(\.\./images/([\w-]+)\.png\)")
MOST_BYTES = 150_000


def main(arguments: list[str]) -> int:
    """Make the pages that are named."""
    from . import reference

    check = "--check" in arguments
    names = [a for a in arguments if a != "--check"]
    stale = 0
    if not names or "api" in names:
        stale = reference.write(DOCS / "api", check=check)
    if not check:
        from foliax.cli.console import enable_compilation_cache

        enable_compilation_cache()  # compiled programs are kept, as on the command line
        for page in pages():
            if not names or str(page.relative_to(DOCS).with_suffix("")) in names:
                began = time.monotonic()
                build(page)
                print(f"{page.relative_to(ROOT)}: {time.monotonic() - began:.0f} s", flush=True)
    return stale


def pages() -> list[Path]:
    """The pages that hold code."""
    return [*sorted(DOCS.glob("quickstart/*.md")), *sorted(DOCS.glob("how-to/*.md"))]


def build(page: Path) -> None:
    """Run a page's blocks; write their outputs into it, and its pictures.

    Where a block fails, the outputs and pictures before it are kept.
    """
    with tempfile.TemporaryDirectory() as folder, environment(Path(folder)):
        before = page.read_text(encoding="utf-8")
        try:
            for after in run(before, str(page)):
                page.write_text(after, encoding="utf-8")
        finally:
            for name in PICTURE.findall(before):
                picture(Path(folder), name)


@contextlib.contextmanager
def environment(folder: Path) -> Iterator[None]:
    """In a folder, with this foliax, its command and the examples within reach."""
    before, old = Path.cwd(), dict(os.environ)
    os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    os.environ["PYTHONPATH"] = str(ROOT)
    os.environ["COLUMNS"] = "100"
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"  # XLA's complaints about a busy machine
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)
        os.environ.clear()
        os.environ.update(old)


def run(text: str, name: str) -> Iterator[str]:
    """A page after each of its blocks, with the outputs so far replaced by those of a new run."""
    namespace: dict[str, object] = {"__name__": "page"}
    done = ""
    while block := BLOCK.search(text):
        done += text[: block.start()] + again(block, namespace, name)
        text = text[block.end() :]
        yield done + text


def again(block: re.Match[str], namespace: dict[str, object], name: str) -> str:
    """A block with what it prints now."""
    language, info, code = block.groups()
    if language == "toml":
        Path(info.strip()).write_text(code, encoding="utf-8")
        return block[0]
    if language == "console":
        return f"```console{info}\n{console(code, 'fails' in info.split())}```\n"
    printed = python(code, namespace, name)
    shown = f"\n```text\n{printed}```\n" if printed else ""
    return f"```python{info}\n{code}```\n{shown}"


def console(code: str, fails: bool = False) -> str:
    """The commands of a block, each with what it prints now."""
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
        shown.append(f"$ {command}{ended(done.stdout)}")
    return "\n".join(shown)


def python(code: str, namespace: dict[str, object], name: str) -> str:
    """What a block prints, run in the page's namespace."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, name, "exec"), namespace)
    return ended(printed.getvalue())


def ended(text: str) -> str:
    """Without spaces at the ends of lines, and with one end of the last line."""
    lines = [line.rstrip() for line in text.rstrip().splitlines()]
    return "\n".join(lines) + "\n" if lines else ""


def fill(page: Path, name: str, text: str) -> None:
    """Replace what stands between `<!-- name -->` and `<!-- end of name -->`."""
    before, after = f"<!-- {name} -->\n", f"\n<!-- end of {name} -->"
    old = page.read_text(encoding="utf-8")
    if not (before in old and after in old):
        raise ValueError(f"{page} has no part between {before.strip()} and {after.strip()}.")
    start, end = old.index(before) + len(before), old.index(after)
    page.write_text(old[:start] + text + old[end:], encoding="utf-8")


def picture(folder: Path, name: str, called: str = "") -> None:
    """A picture that a page's run left in its folder, made small, into docs/images."""
    called = called or name
    made = folder / f"{name}.png"
    page = folder / f"{name.removesuffix('-report')}.html"
    if name.endswith("-report") and page.is_file():
        screenshot(page, made)
    if not made.is_file():
        print(f"docs/images/{called}.png: not made in this run, left as it was.")
        return
    from PIL import Image

    image = Image.open(made).convert("RGB")
    target = DOCS / "images" / f"{called}.png"
    target.parent.mkdir(exist_ok=True)
    for shrink in (1.0, 0.8, 0.65, 0.5, 0.4):
        size = (round(image.width * shrink), round(image.height * shrink))
        small = image.resize(size, Image.Resampling.LANCZOS) if shrink < 1 else image
        # By an octree, without dithering: the ends of a colour scale are few, and must stay.
        by = {"method": Image.Quantize.FASTOCTREE, "dither": Image.Dither.NONE}
        small.quantize(256, **by).save(target, optimize=True)
        if target.stat().st_size <= MOST_BYTES:
            return
    raise RuntimeError(f"{target} has more than {MOST_BYTES} bytes.")


def screenshot(page: Path, made: Path) -> None:
    """A page as a browser shows it, where there is one."""
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        print(f"{page.name}: no chromium for a screenshot.")
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
