"""`foliax report`, and what the demonstration shares with it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from . import options as o
from .console import Console, guarded

if TYPE_CHECKING:
    from foliax.report import Assessment

Page = Annotated[
    Path | None, typer.Option("--output", "-o", help="An .html file; by default MODEL.html.")
]


@guarded
def report(
    model: o.Model,
    output: Page = None,
    seed: o.Seed = 0,
    json_output: o.Json = False,
    quiet: o.Quiet = False,
) -> None:
    """One self-contained page: data, audit, fit, held-out score, coverage, pictures, rows.

    The model file holds all it needs: the rows that were held out, and a part of the others.
    Simpler models (a kernel, independent columns, uniform) are fitted for comparison.

    Example: foliax report quakes.foliax -o quakes.html
    """
    from . import tables

    console = Console(json_output, quiet)
    output = output or model.with_suffix(".html")
    tables.check_output(output, (".html",))
    found = write(console, model, output, seed)
    console.result({"output": str(output), **summary(found)}, f"Wrote {output}.")


def write(console: Console, path: Path, output: Path, seed: int) -> Assessment | None:
    """The page of a model file, wholly or not at all."""
    import jax

    from foliax.atomic import replacing
    from foliax.io import model_file
    from foliax.report import assess, report

    model, schema = model_file.load_with_schema(path)
    k1, k2 = jax.random.split(jax.random.key(seed))
    with console.progress("Reporting") as stage:
        found = None
        if model.evidence is not None:
            found = assess(model.density, schema, model.evidence, key=k1, show=stage.show)
        page = report(model, found, title=path.stem, path=str(path), key=k2, show=stage.show)
    with replacing(output) as file:
        file.write(page.encode())
    return found


def summary(found: Assessment | None) -> dict[str, Any]:
    """What the page says of held-out rows, for machines."""
    from foliax.evaluation.comparison import paired_difference

    if found is None:
        return {"held out": 0}
    first, *others = found.entries
    leads = {
        other.name: paired_difference(first, other) for other in others if other.scores is not None
    }
    mean = first.mean
    return {
        "held out": len(found.scores),
        "mean log density": mean.value,
        "standard error": mean.error,
        "leads": {n: {"lead": by.value, "standard error": by.error} for n, by in leads.items()},
        "coverage p-value": found.coverage.p_value,
    }
