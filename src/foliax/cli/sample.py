"""`foliax sample`."""

from __future__ import annotations

from typing import Annotated

import typer

from . import options as o
from .console import Console, handle_errors

MAX_ROWS = 10_000_000
"""Rows that one command draws; they and their text must fit into memory."""

Number = Annotated[
    int, typer.Option("--number", "-n", help="Number of rows to draw.", min=1, max=MAX_ROWS)
]


@handle_errors
def sample(
    model: o.Model,
    number: Number = 1000,
    output: o.TableOutput = None,
    seed: o.Seed = 0,
    json_output: o.Json = False,
    quiet: o.Quiet = False,
) -> None:
    """Draw rows from a model, in the columns and units of the fitted table.

    Examples:

      foliax sample quakes.foliax -n 500 -o more.csv

      foliax sample quakes.foliax -n 5 --seed 1
    """
    import jax

    from foliax import io

    from . import tables

    console = Console(json_output, quiet)
    tables.check_output(output, tables.TABLE_ENDINGS)
    loaded, schema = io.load_with_schema(model)
    with console.progress(f"Drawing {number} rows"):
        points = loaded.density.sample(number, key=jax.random.key(seed))
    tables.write(console, schema.decode(points), output, {"number": number, "seed": seed})
