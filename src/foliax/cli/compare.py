"""`foliax compare`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from . import options as o
from .console import NO, Console, guarded

if TYPE_CHECKING:
    from foliax.evaluation.comparison import Entry

HeldOut = Annotated[float, typer.Option(help="Share of the rows that score.", min=0.01, max=0.9)]
Models = Annotated[
    str | None,
    typer.Option(help="Which, separated by commas; the first is compared with the others."),
]


@guarded
def compare(
    data: o.Data,
    schema: o.SchemaText = None,
    models: Models = None,
    held_out: HeldOut = 0.2,
    minutes: o.Minutes = 2.0,
    steps: o.Steps = None,
    weights: o.Weights = None,
    drop_invalid: o.DropInvalid = False,
    project: o.Project = False,
    yes: o.Yes = False,
    seed: o.Seed = 0,
    json_output: o.Json = False,
    quiet: o.Quiet = False,
) -> None:
    """Held-out log-likelihood of several models, independent columns and the uniform density.

    Differences are paired, row by row, with standard errors. Exit code 1 where the first model is
    worse than independent columns or uniform by 2 standard errors.

    Example: foliax compare quakes.csv -s 'where: sphere(lat=lat, lon=long)' --models auto,mixture
    """
    import jax

    from foliax.density import Dataset
    from foliax.evaluation import comparison

    from . import tables

    console = Console(json_output, quiet)
    baselines = f"{comparison.INDEPENDENT},{comparison.UNIFORM}"
    names = (models or f"auto,kernel,flow,mixture,{baselines}").split(",")
    check_names(names)
    table = tables.read_any(
        console,
        data,
        schema,
        yes=yes,
        drop_invalid=drop_invalid,
        project=project,
        weights=weights,
    )
    key = jax.random.key(seed)
    points = Dataset(table.points, table.schema.manifold(), table.weights)
    train, test = points.split(held_out, key=key)
    with console.progress(f"Comparing on {len(table.points)} rows") as stage:
        entries = comparison.compare_estimators(
            table.schema,
            train,
            test,
            names,
            time_limit=60 * minutes,
            steps=steps,
            key=key,
            show=stage.show,
        )
    first = entries[0]
    if first.scores is None:
        raise ValueError(f"{first.name} cannot be fitted: {first.why}")
    listed = [_summary(first, entry) for entry in entries]
    label = table.schema.measure().label
    found = {"measure": label, "held out": len(first.scores), "models": listed}
    console.result(found, f"Mean held-out log density {label}:\n" + "\n".join(map(_line, listed)))
    if any(_beaten(row) for row in listed if row["model"] in comparison.BASELINES):
        raise typer.Exit(NO)


def _beaten(row: dict[str, Any]) -> bool:
    """Whether the first model is worse than this one by 2 standard errors."""
    return "lead" in row and row["lead"] < 0 and row["lead"] <= -2 * row["standard error"]


def check_names(names: Sequence[str]) -> None:
    """Every name is a model or a baseline."""
    from foliax.estimators import get_estimator
    from foliax.evaluation.comparison import BASELINES

    for name in names:
        if name not in BASELINES:
            get_estimator(name)


def _summary(first: Entry, entry: Entry) -> dict[str, Any]:
    from foliax.evaluation import comparison

    if entry.scores is None:
        return {"model": entry.name, "skipped": entry.why}
    found: dict[str, Any] = {"model": entry.name, "mean": entry.mean.value}
    if entry is not first:
        lead = comparison.paired_difference(first, entry)
        found |= {"lead of": first.name, "lead": lead.value, "standard error": lead.error}
    return found


def _line(row: dict[str, Any]) -> str:
    if "skipped" in row:
        return f"  {row['model']:<20} –  {row['skipped']}"
    lead = ""
    if "lead" in row:
        how = "leads" if row["lead"] >= 0 else "is behind"
        by = f"{abs(row['lead']):.4f} ± {row['standard error']:.4f}"
        lead = f"  {row['lead of']} {how} by {by}"
    return f"  {row['model']:<20} {row['mean']:9.4f}{lead}"
