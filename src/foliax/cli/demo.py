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
    Path, typer.Option("--output", "-o", help="A folder for the model and the picture.")
]


@guarded
def demo(
    output: Folder = Path("foliax-demo"),
    model: o.ModelName = "auto",
    minutes: o.Minutes = 1.0,
    rows: Annotated[int, typer.Option(help="How many of the 1,000.", min=50, max=1000)] = 1000,
    seed: o.Seed = 0,
    json_output: o.Json = False,
    quiet: o.Quiet = False,
) -> None:
    """Fit 1,000 earthquakes near Fiji: place × depth × magnitude × stations, and look at them.

    The joint density is compared, on held-out rows, with the product of separately fitted columns;
    exit code 1 where it does not win by 3 standard errors.
    """
    import jax

    from foliax.auto import spec_of
    from foliax.metrics import estimate
    from foliax.specs import hold_out
    from foliax.tables import Schema, read_table

    from . import contest, look, models

    console = Console(json_output, quiet)
    spec = spec_of(model, minutes=minutes)
    frame = read_table(Path(__file__).parents[1] / "data" / "quakes.csv").iloc[:rows]
    schema = Schema.parse(QUAKES).settle(frame)
    key = jax.random.key(seed)
    train, _, test, _ = hold_out(schema.encode(frame), None, 0.2, key)
    console.say(f"{rows} earthquakes near Fiji, longitudes past 180°: {schema}")
    with console.progress("Fitting the joint density") as stage:
        fitted = contest.fitted(spec, schema, train, key, stage)
        together = contest.scored(fitted, test, key)
    console.say(f"Joint density fitted in {fitted.record.seconds:.1f} s.")
    with console.progress("Fitting the columns one by one"):
        apart = contest.independent(schema, spec, train, None, test, key)
    lead = estimate(together - apart)
    won = lead.value >= 3 * lead.error
    output.mkdir(parents=True, exist_ok=True)
    path = output / "quakes.foliax"
    models.save(path, fitted, spec, schema, rows=len(train), model=model, seed=seed, data="quakes")
    page = look.picture(path, output)
    found = {
        "model": str(path),
        "picture": str(page),
        "lead": lead.value,
        "standard error": lead.error,
        "won": won,
        "seconds": fitted.record.seconds,
    }
    verdict = "beats" if won else "does not beat"
    console.result(
        found,
        f"On {len(test)} held-out earthquakes the joint density {verdict} independent columns: "
        f"{lead.value:+.3f} ± {lead.error:.3f} nats each ({lead.value / lead.error:.1f} standard "
        f"errors).\nModel: {path}\nPicture: {page}",
    )
    if not won:
        raise typer.Exit(NO)
