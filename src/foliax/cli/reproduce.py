"""`foliax reproduce`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from foliax.escaping import escape_control_characters

from . import options as o
from .console import CHECK_FAILED, Console, handle_errors
from .streams import print_message

if TYPE_CHECKING:
    from foliax.paper.recipes import Row
    from foliax.paper.run import Job

FIGURES = "figures"
PARTS = ("table1", "table2", "table3", "table4", FIGURES)
"""The parts of the paper. They are repeated here so that `--help` does not import JAX."""

QUICK_NOTE = "Short trials, one per row: they show that it runs, not how well it learns.\n\n"
"""Stands above the tables of --quick."""

Parts = Annotated[
    list[str] | None,
    typer.Argument(
        help=f"Parts to reproduce: {', '.join(PARTS)}; by default all, with --rows the tables.",
        metavar="[PART]…",
    ),
]
Folder = Annotated[
    Path, typer.Option("--output", "-o", help="Keep trials and tables in this folder.")
]
Trials = Annotated[int, typer.Option(help="Number of trials of each row.", min=1)]
RowNames = Annotated[
    str | None,
    typer.Option("--rows", help="Run only rows whose name contains one of these, with commas."),
]
Quick = Annotated[
    bool, typer.Option("--quick", help="Run one short trial of each row, in a separate folder.")
]
Jobs = Annotated[int, typer.Option(help="Run this number of trials in parallel.", min=1)]


@handle_errors
def reproduce(
    parts: Parts = None,
    trials: Trials = 10,
    rows: RowNames = None,
    quick: Quick = False,
    jobs: Jobs = 2,
    output: Folder = Path("results"),
    json_output: o.Json = False,
    quiet: o.Quiet = False,
) -> None:
    """Reproduce the paper's four tables and its figures, with the paper's numbers beside ours.

    Stored trials with the same settings are not repeated: interrupted runs resume where they
    stopped. One file, such as table1.json, holds the trials of a table. The tables are in
    tables.md, and the figures are next to it. Run only one such command in a folder at a time. Exit
    with code 1 if a trial fails; the other trials still run.

    Example: foliax reproduce table1 --rows realnvp --trials 2
    """
    from foliax.paper import figures, run

    from . import tables

    console = Console(json_output, quiet)
    chosen = _choose_parts(parts, rows)
    folder, trials = (output / "quick", 1) if quick else (output, trials)
    selected = _select_rows(chosen, rows)
    tables.make_folder(folder)
    failed = _run_trials(console, folder, selected, trials, jobs=jobs, quick=quick)
    text, missed = _write_tables(folder, selected, trials, quick)
    pictures = []
    if FIGURES in chosen:
        with console.progress("Drawing") as stage:
            pictures = figures.draw(folder / run.FIGURES_FOLDER, quick=quick, show=stage.show)
    found = {
        "tables": str(folder / "tables.md"),
        "figures": list(map(str, pictures)),
        "missed": missed,
        "failed": {f"{job.name}, {job.number}": str(error) for job, error in failed.items()},
    }
    console.result(found, text + "".join(f"\n{path}" for path in pictures))
    if failed:
        raise typer.Exit(CHECK_FAILED)


def _choose_parts(parts: Sequence[str] | None, rows: str | None) -> list[str]:
    """The parts to reproduce; naming rows leaves out the figures."""
    chosen = list(parts or (PARTS[:-1] if rows else PARTS))
    if unknown := [part for part in chosen if part not in PARTS]:
        raise ValueError(f"Unknown part '{unknown[0]}'. Choose from {', '.join(PARTS)}.")
    return chosen


def _select_rows(parts: list[str], names: str | None) -> list[Row]:
    from foliax.paper import recipes

    candidates = [row for row in recipes.rows() if row.table in parts]
    selected = [row for row in candidates if _matches(row.name, names)]
    if not selected and parts != [FIGURES]:
        known = ", ".join(row.name for row in candidates)
        raise ValueError(f"No row of {', '.join(parts)} matches '{names}'. Choose from {known}.")
    return selected


def _matches(name: str, parts: str | None) -> bool:
    return parts is None or any(part.strip() in name for part in parts.split(","))


def _run_trials(
    console: Console, folder: Path, rows: list[Row], trials: int, *, jobs: int, quick: bool
) -> dict[Job, Exception]:
    """Run the trials that are missing; return those that failed, with their errors."""
    from foliax.paper import run

    missing = run.missing_trials(folder, [row.name for row in rows], trials, quick)
    console.log(f"Running {len(missing)} of {len(rows) * trials} trials; the others are stored.")

    def log_trial(job: Job, found: dict[str, Any]) -> None:
        kl, error = found["metrics"]["KL(q‖p)"]
        console.log(
            f"{job.name}, trial {job.number}: KL(q‖p) {kl:.5f} ± {error:.5f}, "
            f"{found['training seconds']:.0f} s"
        )

    failed = run.run(folder, missing, jobs, log_trial)
    for job, error in failed.items():
        text = f"Error: {job.name}, trial {job.number}: {error}"
        print_message(escape_control_characters(text))
    return failed


def _write_tables(
    folder: Path, selected: list[Row], trials: int, quick: bool
) -> tuple[str, dict[str, Any]]:
    """Write the tables of all stored trials.

    Returns the text of the selected rows, and what each of them misses.
    """
    from foliax.atomic import open_atomic
    from foliax.paper import recipes, tables

    rows = [row.quick() if quick else row for row in recipes.rows()]
    stored = tables.lines(folder, rows, trials)
    note = QUICK_NOTE if quick else ""
    if stored:
        with open_atomic(folder / "tables.md") as file:
            file.write((note + tables.markdown(stored)).encode())
    names = {row.name for row in selected}
    lines = [line for line in stored if line.row.name in names]
    missed = {line.row.name: line.missed_limits() for line in lines if line.missed_limits()}
    return note + tables.markdown(lines) if lines else "", missed
