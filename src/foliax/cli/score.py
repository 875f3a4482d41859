"""`foliax score`."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated

import typer

from . import options as o
from .console import Console, handle_errors

if TYPE_CHECKING:
    import numpy as np

    from foliax.density import AbstractDensity
    from foliax.tables import Measure, Schema

EARTH_RADIUS_KM = 6371.0088
"""Mean radius of the Earth."""

Per = Annotated[
    str | None,
    typer.Option(help="Use km2 for densities on the globe per square kilometre, not steradian."),
]
Tolerance = Annotated[
    float,
    typer.Option(
        help="Standard error of each log density to reach, in nats.",
        min=1e-6,
        callback=o.check_finite,
    ),
]


@handle_errors
def score(
    model: o.Model,
    data: o.Data,
    output: o.TableOutput = None,
    per: Per = None,
    tol: Tolerance = 0.01,
    drop_invalid: o.DropInvalid = False,
    project: o.Project = False,
    seed: o.Seed = 0,
    json_output: o.Json = False,
    quiet: o.Quiet = False,
) -> None:
    """Compute the log density of every row, with its standard error.

    The name of the column states the measure. The columns of the table stay as they are: a new
    column whose name the table already has gets the suffix _2.

    Examples:

      foliax score quakes.foliax new.csv -o scored.csv

      foliax score quakes.foliax new.csv --per km2
    """
    import jax

    from foliax import io
    from foliax.density import evaluate
    from foliax.manifolds.row_errors import name_rows
    from foliax.tables.verbatim import add_columns

    from . import tables

    console = Console(json_output, quiet)
    tables.check_output(output, tables.TABLE_ENDINGS)
    loaded, schema = io.load_with_schema(model)
    measure = choose_measure(schema, per)
    table = tables.read_verbatim(
        console, data, schema, drop_invalid=drop_invalid, project=project, output=output
    )
    with console.progress(f"Scoring {len(table.points)} rows"), name_rows(table.row_names):
        found = evaluate(loaded.density, table.points, tol=tol, key=jax.random.key(seed))
    log_density = found.value + measure.log_unit
    new = {f"log density {measure.label}": log_density, "standard error": found.error}
    new |= compare_with_uniform(loaded.density, found.value)
    scored, names = add_columns(table.frame, new)
    log_renamed(console, names)
    console.log(found.describe(tol))
    mean = float(log_density.mean())
    summary = {"measure": measure.label, "mean log density": mean}
    summary |= {"dropped": table.dropped, "columns": names}
    tables.write(console, scored, output, summary)


def log_renamed(console: Console, names: dict[str, str]) -> None:
    """Say which new columns got other names, because the table has theirs."""
    for wanted, name in names.items():
        if name != wanted:
            console.log(f"The table has a column '{wanted}': the new one is '{name}'.")


def compare_with_uniform(density: AbstractDensity, value: np.ndarray) -> dict[str, np.ndarray]:
    """Return the column of densities as multiples of the uniform one, where there is one."""
    import numpy as np

    volume = density.manifold.log_total_volume()
    return {"density × uniform": np.exp(value + volume)} if math.isfinite(volume) else {}


def choose_measure(schema: Schema, per: str | None) -> Measure:
    """Return the schema's measure, or that per km² of the globe.

    Args:
        schema: The schema of the model.
        per: "km2", or None for the schema's own measure.

    Returns:
        The measure.

    Raises:
        TableError: `per` is unknown, or no column of the schema is a place on the globe.
    """
    from foliax.tables import Measure, TableError

    measure = schema.measure()
    if per is None:
        return measure
    if per not in ("km2", "km²"):
        raise TableError(f"--per is km2, not '{per}'.")
    globes = sum(factor.kind.name == "sphere" for factor in schema.factors)
    if not globes:
        raise TableError("--per km2 needs sphere(lat=…, lon=…), and the schema has none.")
    label = measure.label.replace("per steradian", "per km²")
    return Measure(label, measure.log_unit - globes * 2 * math.log(EARTH_RADIUS_KM))
