"""Seconds of the commands on the 1,000 earthquakes, cold and warm, beside those of another commit.

A cold run compiles everything; a warm one finds what the run before it has compiled.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
QUAKES = ROOT / "src" / "foliax" / "data" / "quakes.csv"


class Cost(NamedTuple):
    wall: float
    cpu: float


def commands(folder: Path, estimator: str) -> dict[str, list[str]]:
    """The commands by name; `fit` writes the model that the others read."""
    model, table = str(folder / "quakes.foliax"), str(QUAKES)
    return {
        "demo": ["demo", "--model", estimator, "--output", str(folder / "demo")],
        "fit": ["fit", table, "--model", estimator, "--yes", "--output", model],
        "info": ["info", model],
        "score": ["score", model, table, "--output", str(folder / "scored.csv")],
        "report": ["report", model, "--output", str(folder / "quakes.html")],
    }


def run(source: Path, cache: Path, arguments: list[str]) -> Cost:
    """Run a command of the foliax in `source`; CPU seconds count all its threads."""
    paths = {"PYTHONPATH": str(source / "src"), "FOLIAX_CACHE": str(cache)}
    began, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "foliax.cli", *arguments, "--quiet"]
    subprocess.run(command, env=os.environ | paths, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Cost(time.perf_counter() - began, cpu)


def measure(source: Path, names: list[str], estimator: str) -> Iterator[tuple[str, str, Cost]]:
    """Each command in a cache that only the commands before it have filled, then once more.

    A command that is not measured but is needed, `fit`, runs before the others.
    """
    with tempfile.TemporaryDirectory() as made:
        folder, cache = Path(made), Path(made) / "cache"
        found = commands(folder, estimator)
        if "fit" not in names and set(names) - {"demo"}:
            run(source, Path(made) / "cache-of-fit", found["fit"])
        for name in names:
            own = cache / name  # programs of other commands would make it half warm
            for state in ("cold", "warm"):
                yield name, state, run(source, own, found[name])


@contextmanager
def checked_out(commit: str) -> Iterator[Path]:
    """The files of a commit, in a temporary worktree."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made) / "other"
        git = ["git", "-C", str(ROOT), "worktree"]
        subprocess.run([*git, "add", "--quiet", "--detach", str(folder), commit], check=True)
        try:
            yield folder
        finally:
            subprocess.run([*git, "remove", "--force", str(folder)], check=True)


def show(name: str, source: Path, names: list[str], estimator: str) -> None:
    for command, state, cost in measure(source, names, estimator):
        row = f"| {name} | {command} | {state} | {cost.wall:.1f} | {cost.cpu:.1f} |"
        print(row, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    known = list(commands(Path(), "auto"))
    parser.add_argument("commands", nargs="*", help=f"by default all: {', '.join(known)}")
    parser.add_argument("--against", metavar="COMMIT", help="measure this commit too")
    parser.add_argument("--model", default="auto", help="estimator of demo and fit")
    given = parser.parse_args()
    if unknown := set(given.commands) - set(known):
        parser.error(f"unknown commands: {', '.join(sorted(unknown))}")
    names = given.commands or known
    print("| code | command | cache | wall seconds | CPU seconds |\n|---|---|---|---|---|")
    show("this", ROOT, names, given.model)
    if given.against:
        with checked_out(given.against) as other:
            show(given.against, other, names, given.model)


if __name__ == "__main__":
    main()
