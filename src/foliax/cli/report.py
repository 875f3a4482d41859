"""`foliax report`, and the functions that `foliax demo` shares with it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from . import options as o
from .console import Console, handle_errors

if TYPE_CHECKING:
    from foliax.report import Assessment

Page = Annotated[
    Path | None,
    typer.Option("--output", "-o", help="Write an .html file; by default MODEL.html."),
]


@handle_errors
def report(
    model: o.Model,
    output: Page = None,
    seed: o.Seed = 0,
    json_output: o.Json = False,
    quiet: o.Quiet = False,
) -> None:
    """Write a self-contained HTML page about a model.

    It shows the data, the audit, the fit, the held-out score, the coverage, plots and rows. The
    model file contains the held-out rows and a subsample of the others, so no other file is needed.
    Simpler models (a kernel, independent columns, uniform) are fitted for comparison.

    Example: foliax report quakes.foliax -o quakes.html
    """
    from . import tables

    console = Console(json_output, quiet)
    output = output or model.with_suffix(".html")
    tables.check_output(output, (".html",))
    assessment = write_report(console, model, output, seed)
    console.result({"output": str(output), **summarize(assessment)}, f"Wrote {output}.")


def write_report(console: Console, path: Path, output: Path, seed: int) -> Assessment | None:
    """Write the report of a model file atomically.

    Args:
        console: Shows the progress.
        path: The model file.
        output: The HTML file.
        seed: The seed of the comparison and the plots.

    Returns:
        The assessment on held-out rows, or None if the file keeps no rows.

    Raises:
        ModelFileError: The model file cannot be read.
    """
    import jax

    from foliax import io
    from foliax.atomic import open_atomic
    from foliax.report import assess, report

    model, schema = io.load_with_schema(path)
    k1, k2 = jax.random.split(jax.random.key(seed))
    with console.progress("Reporting") as stage:
        found = None
        if model.training_data is not None:
            found = assess(model.density, schema, model.training_data, key=k1, show=stage.show)
        page = report(model, found, title=path.stem, path=str(path), key=k2, show=stage.show)
    with open_atomic(output) as file:
        file.write(page.encode())
    return found


def summarize(assessment: Assessment | None) -> dict[str, Any]:
    """Return the scores of a report for --json.

    Args:
        assessment: The result of `write_report`.

    Returns:
        Scores by name.
    """
    from foliax.evaluation.comparison import paired_difference

    if assessment is None:
        return {"held out": 0}
    first, *others = assessment.entries
    leads = {
        other.name: paired_difference(first, other) for other in others if other.scores is not None
    }
    mean = first.mean
    return {
        "held out": len(assessment.scores),
        "mean log density": mean.value,
        "standard error": mean.error,
        "leads": {n: {"lead": by.value, "standard error": by.error} for n, by in leads.items()},
        "coverage p-value": assessment.coverage.p_value,
    }
