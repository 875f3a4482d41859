"""`foliax reproduce`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from . import options as o
from .console import NO, Console, guarded

PARTS = ("table1", "table2", "table3", "table4", "figures")
Parts = Annotated[
    list[str] | None,
    typer.Argument(
        help=f"Which of {', '.join(PARTS)}; all where none is named, with --rows the tables.",
        metavar="[PART]…",
    ),
]
Folder = Annotated[Path, typer.Option("--output", "-o", help="Where trials and tables are kept.")]
Trials = Annotated[int, typer.Option(help="Trials of each row.", min=1)]
RowNames = Annotated[
    str | None,
    typer.Option("--rows", help="Only rows whose name holds one of these, separated by commas."),
]
Quick = Annotated[bool, typer.Option("--quick", help="One short trial of each row, kept apart.")]
Jobs = Annotated[int, typer.Option(help="Trials at a time, each on one core.", min=1)]
SHORT = "Short trials, one of each row: they show that it runs, not how well it learns.\n\n"
"""Above tables of --quick."""


@guarded
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
    """The paper's four tables and its figures, row by row, the paper's numbers beside ours.

    Trials that are stored already, with the same settings, are not run again: interrupted runs
    resume where they stopped. The trials of a table are in one file, such as table1.json. The
    tables are in tables.md, the figures beside it. Run one such command at a time in a folder.
    Exit code 1 where a trial failed; the others are run all the same.

    Example: foliax reproduce table1 --rows realnvp --trials 2
    """
    from foliax.paper import figures, recipes, run, tables

    console = Console(json_output, quiet)
    # Who names rows wants these, and no figures.
    chosen = parts or list(PARTS[:-1] if rows else PARTS)
    if unknown := [part for part in chosen if part not in PARTS]:
        raise ValueError(f"There is no '{unknown[0]}' to reproduce: choose of {', '.join(PARTS)}.")
    folder, trials = (output / "quick", 1) if quick else (output, trials)
    wanted = [row for row in recipes.rows() if row.table in chosen and _named(row.name, rows)]
    if not wanted and chosen != ["figures"]:
        names = ", ".join(row.name for row in recipes.rows() if row.table in chosen)
        raise ValueError(f"No row of {', '.join(chosen)} is named '{rows}': there are {names}.")
    waiting = run.missing_trials(folder, [row.name for row in wanted], trials, quick)
    console.say(f"{len(waiting)} of {len(wanted) * trials} trials are to be run.")

    def done(job: run.Job, found: dict) -> None:
        kl, error = found["metrics"]["KL(q‖p)"]
        console.say(
            f"{job.name}, trial {job.number}: KL(q‖p) {kl:.5f} ± {error:.5f}, "
            f"{found['training seconds']:.0f} s"
        )

    failed = run.run(folder, waiting, jobs, done)
    for job, error in failed.items():
        typer.echo(f"Error: {job.name}, trial {job.number}: {error}", err=True)
    every = [row.quick() if quick else row for row in recipes.rows()]
    stored = tables.lines(folder, every, trials)
    names = {row.name for row in wanted}
    lines = [line for line in stored if line.row.name in names]
    about, made = SHORT if quick else "", []
    text = about + tables.markdown(lines)
    if stored:
        (folder / "tables.md").write_text(about + tables.markdown(stored))
    if "figures" in chosen:
        with console.progress("Drawing") as stage:
            made = figures.draw(folder / run.FIGURES_FOLDER, quick=quick, show=stage.show)
    missed = {line.row.name: line.missed_limits() for line in lines if line.missed_limits()}
    failures = {f"{job.name}, {job.number}": str(error) for job, error in failed.items()}
    console.result(
        {
            "tables": str(folder / "tables.md"),
            "figures": list(map(str, made)),
            "missed": missed,
            "failed": failures,
        },
        (text if lines else "") + "".join(f"\n{path}" for path in made),
    )
    if failed:
        raise typer.Exit(NO)


def _named(name: str, parts: str | None) -> bool:
    return parts is None or any(part.strip() in name for part in parts.split(","))
