"""`foliax plot`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from . import options as o
from .console import Console, handle_errors

OptionalData = Annotated[
    Path | None, typer.Argument(help="Table whose rows are drawn as points.", metavar="[DATA]")
]
Picture = Annotated[
    Path | None,
    typer.Option("--output", "-o", help="Write a .png, .svg or .pdf file; by default MODEL.png."),
]
View = Annotated[str | None, typer.Option(help="Draw this view of the manifold.")]


@handle_errors
def plot(
    model: o.Model,
    data: OptionalData = None,
    output: Picture = None,
    view: View = None,
    drop_invalid: o.DropInvalid = False,
    seed: o.Seed = 0,
    json_output: o.Json = False,
    quiet: o.Quiet = False,
) -> None:
    """Draw a model, and optionally data.

    Examples:

      foliax plot quakes.foliax -o map.png

      foliax plot quakes.foliax quakes.csv -o map.svg
    """
    import jax

    from foliax import io, plots
    from foliax.plots.save import FORMATS

    from . import tables

    console = Console(json_output, quiet)
    output = output or model.with_suffix(".png")
    tables.check_output(output, tuple(FORMATS))
    loaded, schema = io.load_with_schema(model)
    rows = None
    if data is not None:
        rows = tables.read(console, data, schema, drop_invalid=drop_invalid).points
    with console.progress("Drawing"):
        key = jax.random.key(seed)
        figure = plots.draw(loaded.density, rows, **schema.axes(), view=view, key=key)
        plots.save(figure, output)
    console.result({"output": str(output)}, f"Wrote {output}.")
