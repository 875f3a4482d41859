"""`foliax demo`: earthquakes near Fiji, from a table to a report, in one command."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from . import options as o
from .console import CHECK_FAILED, Console, handle_errors

SCHEMA = (
    "where: sphere(lat=lat, lon=long); depth: positive(depth, unit=km); "
    "mag: rounded(mag, step=0.1); stations: count(stations)"
)
"""The schema of the earthquakes."""

HELD_OUT_FRACTION = 0.2
"""Fraction of the earthquakes that score the model."""

MIN_STANDARD_ERRORS = 3
"""The joint density wins if it leads by this number of standard errors."""

Folder = Annotated[
    Path, typer.Option("--output", "-o", help="Write the model and the report to this folder.")
]
Rows = Annotated[int, typer.Option(help="Use the first rows of the 1,000.", min=200, max=1000)]


@handle_errors
def demo(
    output: Folder = Path("foliax-demo"),
    model: o.ModelName = "auto",
    time_limit: o.TimeLimit = 60.0,
    rows: Rows = 1000,
    seed: o.Seed = 0,
    json_output: o.Json = False,
    quiet: o.Quiet = False,
) -> None:
    """Fit 1,000 earthquakes near Fiji and write a report.

    The density is joint in place, depth, magnitude and number of stations. Held-out rows compare it
    with the product of separately fitted columns. Exit with code 1 if it does not win by 3 standard
    errors.
    """
    from foliax.estimators import get_estimator
    from foliax.evaluation.comparison import INDEPENDENT
    from foliax.tables import Schema, read_table

    from . import tables
    from .fit import exit_if_cut_short, fit_and_save
    from .report import summarize, write_report

    console = Console(json_output, quiet)
    estimator = get_estimator(model, time_limit=time_limit)
    frame = read_table(Path(__file__).parents[1] / "data" / "quakes.csv").iloc[:rows]
    schema = Schema.parse(SCHEMA).infer_conventions(frame)
    console.log(f"{rows} earthquakes near Fiji, longitudes past 180°: {schema}")
    tables.make_folder(output)
    path, page = output / "quakes.foliax", output / "quakes.html"
    table = tables.Table(frame, schema.encode(frame), None, schema)
    about = {"model": model, "seed": seed, "data": "earthquakes near Fiji since 1964"}
    fitted, _ = fit_and_save(console, table, estimator, path, HELD_OUT_FRACTION, about)
    seconds = fitted.record.seconds
    console.log(f"Fitted the joint density in {seconds:.1f} s.")
    found = summarize(write_report(console, path, page, seed))
    lead, error = found["leads"][INDEPENDENT].values()
    won = lead >= MIN_STANDARD_ERRORS * error
    verdict = "beats" if won else "does not beat"
    console.result(
        {"model": str(path), "report": str(page), "won": won, "seconds": seconds} | found,
        f"On {found['held out']} held-out earthquakes the joint density {verdict} independent "
        f"columns: {lead:+.3f} ± {error:.3f} nats each ({lead / error:.1f} standard errors).\n"
        f"Model: {path}\nReport: {page}",
    )
    exit_if_cut_short(console, fitted.record, path)
    if not won:
        raise typer.Exit(CHECK_FAILED)
