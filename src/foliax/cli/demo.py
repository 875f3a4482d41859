"""`foliax demo`: earthquakes near Fiji, from table to density, in one command."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from . import options as o
from .console import NO, Console, guarded

QUAKES = (
    "where: sphere(lat=lat, lon=long); depth: positive(depth, unit=km); "
    "mag: rounded(mag, step=0.1); stations: count(stations)"
)
Folder = Annotated[
    Path, typer.Option("--output", "-o", help="A folder for the model and the report.")
]


@guarded
def demo(
    output: Folder = Path("foliax-demo"),
    model: o.ModelName = "auto",
    minutes: o.Minutes = 1.0,
    rows: Annotated[int, typer.Option(help="How many of the 1,000.", min=200, max=1000)] = 1000,
    seed: o.Seed = 0,
    json_output: o.Json = False,
    quiet: o.Quiet = False,
) -> None:
    """Fit 1,000 earthquakes near Fiji: place × depth × magnitude × stations, and look at them.

    The joint density is compared, on held-out rows, with the product of separately fitted columns;
    exit code 1 where it does not win by 3 standard errors.
    """
    from foliax.estimators.auto import spec_of
    from foliax.evaluation.comparison import INDEPENDENT
    from foliax.tables import Schema, read_table

    from . import tables
    from .fit import fit_and_save
    from .report import summary, write

    console = Console(json_output, quiet)
    spec = spec_of(model, minutes=minutes)
    frame = read_table(Path(__file__).parents[1] / "data" / "quakes.csv").iloc[:rows]
    schema = Schema.parse(QUAKES).infer_conventions(frame)
    console.say(f"{rows} earthquakes near Fiji, longitudes past 180°: {schema}")
    output.mkdir(parents=True, exist_ok=True)
    path, page = output / "quakes.foliax", output / "quakes.html"
    table = tables.Table(frame, schema.encode(frame), None, schema)
    about = {"model": model, "seed": seed, "data": "earthquakes near Fiji since 1964"}
    fitted, _ = fit_and_save(console, table, spec, path, 0.2, about)
    console.say(f"Joint density fitted in {fitted.record.seconds:.1f} s.")
    found = summary(write(console, path, page, seed))
    lead, error = found["leads"][INDEPENDENT].values()
    won = lead >= 3 * error
    verdict = "beats" if won else "does not beat"
    console.result(
        {"model": str(path), "report": str(page), "won": won, "seconds": fitted.record.seconds}
        | found,
        f"On {found['held out']} held-out earthquakes the joint density {verdict} independent "
        f"columns: {lead:+.3f} ± {error:.3f} nats each ({lead / error:.1f} standard errors).\n"
        f"Model: {path}\nReport: {page}",
    )
    if not won:
        raise typer.Exit(NO)
