"""`foliax score` and `foliax sample`: tables out of a model, in the user's columns and units."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from . import options as o
from .console import Console, guarded

if TYPE_CHECKING:
    from foliax.tables import Measure, Schema

EARTH = 6371.0088
"""Mean radius in km."""

Output = Annotated[
    Path | None, typer.Option("--output", "-o", help="A table file; by default CSV on stdout.")
]
Per = Annotated[
    str | None, typer.Option(help="km2: latitudes and longitudes per square kilometre of Earth.")
]
Tolerance = Annotated[float, typer.Option(help="The standard error to reach.", min=1e-6)]
Number = Annotated[int, typer.Option("--number", "-n", help="How many rows.", min=1)]


@guarded
def score(
    model: o.Model,
    data: o.Data,
    output: Output = None,
    per: Per = None,
    tol: Tolerance = 0.01,
    drop_invalid: o.DropInvalid = False,
    project: o.Project = False,
    seed: o.Seed = 0,
    json_output: o.Json = False,
    quiet: o.Quiet = False,
) -> None:
    """Log density of every row, with its standard error; columns name their measure.

    Examples:

      foliax score quakes.foliax new.csv -o scored.csv

      foliax score quakes.foliax new.csv --per km2
    """
    import jax
    import numpy as np

    from foliax.density import evaluate
    from foliax.io import model_file

    from . import tables

    console = Console(json_output, quiet)
    tables.check_output(output, tables.TABLES)
    loaded, schema = model_file.load_with_schema(model)
    measure = measured(schema, per)
    table = tables.read(console, data, schema, drop_invalid=drop_invalid, project=project)
    with console.progress(f"Scoring {len(table.points)} rows"):
        found = evaluate(loaded.density, table.points, tol=tol, key=jax.random.key(seed))
    volume = loaded.density.manifold.log_total_volume()
    scored = table.frame.copy()
    scored[f"log density {measure.label}"] = found.value + measure.log_unit
    scored["standard error"] = found.error
    if math.isfinite(volume):
        scored["density × uniform"] = np.exp(found.value + volume)
    console.say(found.describe(tol))
    mean = float(np.mean(found.value + measure.log_unit))
    summary = {"measure": measure.label, "mean log density": mean, "dropped": _dropped(table, data)}
    tables.write(console, scored, output, summary)


def _dropped(table, data: Path) -> int:
    """How many rows of the file were left out."""
    from foliax.tables import read_table

    return len(read_table(data)) - len(table.points)


def measured(schema: Schema, per: str | None) -> Measure:
    """The schema's measure, positions on the globe per km² on request."""
    from foliax.tables import Measure, TableError

    measure = schema.measure()
    if per is None:
        return measure
    if per not in ("km2", "km²"):
        raise TableError(f"--per is km2, not '{per}'.")
    globes = sum(factor.kind.name == "sphere" for factor in schema.factors)
    if not globes:
        raise TableError("--per km2 is for sphere(lat=…, lon=…), and the schema has none.")
    label = measure.label.replace("per steradian", "per km²")
    return Measure(label, measure.log_unit - globes * 2 * math.log(EARTH))


@guarded
def sample(
    model: o.Model,
    number: Number = 1000,
    output: Output = None,
    seed: o.Seed = 0,
    json_output: o.Json = False,
    quiet: o.Quiet = False,
) -> None:
    """Exact samples, in the columns and units of the table that was fitted.

    Examples:

      foliax sample quakes.foliax -n 500 -o more.csv

      foliax sample quakes.foliax -n 5 --seed 1
    """
    import jax

    from foliax.io import model_file

    from . import tables

    console = Console(json_output, quiet)
    tables.check_output(output, tables.TABLES)
    loaded, schema = model_file.load_with_schema(model)
    with console.progress(f"Drawing {number} rows"):
        drawn = loaded.density.sample(number, key=jax.random.key(seed))
    tables.write(console, schema.decode(drawn), output, {"number": number, "seed": seed})
