"""`foliax plot` and `foliax info`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from . import options as o
from .console import Console, guarded

if TYPE_CHECKING:
    from foliax.io.training_data import Evidence

OptionalData = Annotated[
    Path | None, typer.Argument(help="A table whose rows are drawn too.", metavar="[DATA]")
]
Picture = Annotated[
    Path | None, typer.Option("--output", "-o", help=".png, .svg or .pdf; by default MODEL.png.")
]
View = Annotated[str | None, typer.Option(help="One of the manifold's views.")]


@guarded
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
    """Draw a model, with data where given.

    Examples:

      foliax plot quakes.foliax -o map.png

      foliax plot quakes.foliax quakes.csv -o map.svg
    """
    import jax

    from foliax import plots
    from foliax.io import model_file

    from . import tables

    console = Console(json_output, quiet)
    output = output or model.with_suffix(".png")
    tables.check_output(output, (".png", ".svg", ".pdf"))
    loaded, schema = model_file.load_with_schema(model)
    rows = None
    if data is not None:
        rows = tables.read(console, data, schema, drop_invalid=drop_invalid).points
    with console.progress("Drawing"):
        key = jax.random.key(seed)
        figure = plots.draw(loaded.density, rows, **schema.axes(), view=view, key=key)
        plots.save(figure, output)
    console.result({"output": str(output)}, f"Wrote {output}.")


@guarded
def info(model: o.Model, json_output: o.Json = False, quiet: o.Quiet = False) -> None:
    """What a model file holds: its schema, its measure, how it was fitted, by which versions.

    Example: foliax info quakes.foliax
    """
    from foliax.io import model_file

    loaded, schema = model_file.load_with_schema(model)
    found: dict[str, Any] = {
        "schema": schema.text(),
        "columns": list(schema.columns),
        "manifold": str(loaded.density.manifold),
        "measure": schema.measure().label,
        "density": type(loaded.density).__name__,
        **loaded.about,
        **_counts(loaded.evidence),
        "versions": loaded.versions,
    }
    if loaded.record is not None:
        found |= {"parameters": loaded.record.parameters, "seconds": loaded.record.seconds}
        if loaded.record.mass is not None:
            found["total mass"] = "{:.4f} ± {:.4f}".format(*loaded.record.mass)
        found["events"] = loaded.record.events
    text = "\n".join(f"{name}: {_shown(value)}" for name, value in found.items())
    Console(json_output, quiet).result(found, text)


def _counts(evidence: Evidence | None) -> dict[str, int]:
    if evidence is None:
        return {}
    return {"rows": evidence.train.of, "held out": evidence.test.of}


def _shown(value: Any) -> str:
    if isinstance(value, list):
        return "".join(f"\n  {line}" for line in value)
    if isinstance(value, dict):
        return ", ".join(f"{key} {item}" for key, item in value.items())
    return str(value)
