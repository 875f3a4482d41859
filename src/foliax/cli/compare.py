"""`foliax compare`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from . import options as o
from .blocks import MORE_BLOCKS
from .console import CHECK_FAILED, Console, handle_errors

if TYPE_CHECKING:
    from jaxtyping import PRNGKeyArray

    from foliax.density import Dataset
    from foliax.evaluation.comparison import Entry

    from .tables import Table

HeldOut = Annotated[
    float, typer.Option(help="Fraction of the rows to hold out for scoring.", min=0.01, max=0.9)
]
Models = Annotated[
    str | None,
    typer.Option(help="Models, separated by commas. The first is compared with the others."),
]

DEFAULT_MODELS = ("auto", "kernel", "flow", "mixture")
"""Models that are compared by default, besides the baselines."""

MIN_STANDARD_ERRORS = 2
"""A baseline wins if it leads by this number of standard errors."""


@handle_errors
def compare(
    data: o.Data,
    schema: o.SchemaText = None,
    models: Models = None,
    held_out: HeldOut = 0.2,
    time_limit: o.TimeLimit = 120.0,
    steps: o.Steps = None,
    weights: o.Weights = None,
    blocks: o.Blocks = None,
    drop_invalid: o.DropInvalid = False,
    project: o.Project = False,
    yes: o.Yes = False,
    seed: o.Seed = 0,
    json_output: o.Json = False,
    quiet: o.Quiet = False,
) -> None:
    """Compare the held-out log-likelihood of several models.

    The baselines are independent columns and the uniform density. Differences are paired row by row
    and have standard errors. With blocks, whole blocks are held out, and errors are those of
    independent blocks. Exit with code 1 if a baseline beats the first model by 2 standard errors.

    Example: foliax compare quakes.csv -s 'where: sphere(lat=lat, lon=long)' --models auto,mixture
    """
    import jax

    from foliax.evaluation import comparison

    from . import tables

    console = Console(json_output, quiet)
    names = models.split(",") if models else [*DEFAULT_MODELS, *comparison.BASELINES]
    check_names(names)
    columns = tables.RowColumns(weights, blocks)
    how = {"yes": yes, "drop_invalid": drop_invalid, "project": project}
    table = tables.read_and_choose_schema(console, data, schema, row_columns=columns, **how)
    key = jax.random.key(seed)
    train, test = _split(console, table, held_out, key)
    with (
        console.progress(f"Comparing on {len(table.points)} rows") as stage,
        table.schema.name_columns_in_errors(table.frame, table.points),
    ):
        settings = comparison.Settings(time_limit=time_limit, steps=steps)
        entries = comparison.compare_estimators(
            table.schema, train, test, names, settings, key=key, show=stage.show
        )
    entries = [_explain_lack_of_blocks(entry, train, test) for entry in entries]
    _print_result(console, entries, table.schema.measure().label)


def _split(
    console: Console, table: Table, held_out: float, key: PRNGKeyArray
) -> tuple[Dataset, Dataset]:
    """Split a table into rows to fit and rows to score, by blocks if the rows depend on each other.

    Models cannot be compared on random rows that resemble fitted ones.
    """
    from foliax.density.blocks import describe_split
    from foliax.density.dataset import split_numbers
    from foliax.estimators.blocks import add_blocks

    data, event = add_blocks(table.as_dataset())
    if event:
        console.log(event)
    train, test = split_numbers(len(data), held_out, key, blocks=data.blocks)
    if data.blocks is not None and (text := describe_split(data.blocks, test, held_out)):
        console.log(text)
    return data.take(train), data.take(test)


def _explain_lack_of_blocks(entry: Entry, train: Dataset, test: Dataset) -> Entry:
    """Say that the held-out split took the other blocks, where a model is left with one."""
    import numpy as np

    from foliax.density.blocks import describe_lack_of_blocks

    if not entry.lacks_blocks or train.blocks is None or test.blocks is None:
        return entry
    blocks = np.concatenate([train.blocks, test.blocks])
    held_out = np.arange(len(train), len(blocks))
    if not (text := describe_lack_of_blocks(blocks, held_out)):
        return entry
    return entry._replace(why=f"{text} {MORE_BLOCKS}.")


def check_names(names: Sequence[str]) -> None:
    """Raise `ValueError` if a name is neither a model nor a baseline."""
    from foliax.estimators import get_estimator
    from foliax.evaluation.comparison import BASELINES

    for name in names:
        if name not in BASELINES:
            get_estimator(name)


def _print_result(console: Console, entries: Sequence[Entry], measure: str) -> None:
    from foliax.evaluation.comparison import BASELINES

    first = entries[0]
    if first.scores is None:
        raise ValueError(f"{first.name} cannot be fitted: {first.why}")
    rows = [_summarize(first, entry) for entry in entries]
    found = {"measure": measure, "held out": len(first.scores), "models": rows}
    lines = "\n".join(map(_format_row, rows))
    console.result(found, f"Mean held-out log density {measure}:\n{lines}")
    if any(_is_better_than_first(row) for row in rows if row["model"] in BASELINES):
        raise typer.Exit(CHECK_FAILED)


def _is_better_than_first(row: dict[str, Any]) -> bool:
    if "lead" not in row:
        return False
    return row["lead"] < 0 and row["lead"] <= -MIN_STANDARD_ERRORS * row["standard error"]


def _summarize(first: Entry, entry: Entry) -> dict[str, Any]:
    from foliax.evaluation import comparison

    if entry.scores is None:
        return {"model": entry.name, "skipped": entry.why}
    found: dict[str, Any] = {"model": entry.name, "mean": entry.mean.value}
    if entry is not first:
        lead = comparison.paired_difference(first, entry)
        found |= {"lead of": first.name, "lead": lead.value, "standard error": lead.error}
    return found


def _format_row(row: dict[str, Any]) -> str:
    if "skipped" in row:
        return f"  {row['model']:<20} –  {row['skipped']}"
    lead = ""
    if "lead" in row:
        verb = "leads" if row["lead"] >= 0 else "is behind"
        difference = f"{abs(row['lead']):.4f} ± {row['standard error']:.4f}"
        lead = f"  {row['lead of']} {verb} by {difference}"
    return f"  {row['model']:<20} {row['mean']:9.4f}{lead}"
