"""`foliax fit`, and the function that `foliax demo` shares with it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from . import options as o
from .console import CHECK_FAILED, FIT_CUT_SHORT, Console, handle_errors

if TYPE_CHECKING:
    from foliax.density import Dataset
    from foliax.estimators import AbstractEstimator, FitResult
    from foliax.training import Record

    from .tables import Table

Output = Annotated[
    Path | None, typer.Option("--output", "-o", help="Write a model file; by default DATA.foliax.")
]
HeldOut = Annotated[
    float,
    typer.Option(
        help="Fraction of the rows to hold out, so that a report can assess the fit; 0 fits all. "
        "Tables of fewer than 200 rows are fitted completely.",
        min=0,
        max=0.9,
    ),
]
KeepRows = Annotated[
    bool,
    typer.Option(
        "--rows/--no-rows",
        help="Keep rows in the model file, at most 7,000, for its report. --no-rows also disables "
        "the held-out split.",
    ),
]
Strict = Annotated[
    bool,
    typer.Option("--strict", help="Exit with code 1 if the total mass of the density is not 1."),
]


@handle_errors
def fit(
    data: o.Data,
    schema: o.SchemaText = None,
    model: o.ModelName = "auto",
    output: Output = None,
    time_limit: o.TimeLimit = 120.0,
    steps: o.Steps = None,
    held_out: HeldOut = 0.1,
    keep_rows: KeepRows = True,
    weights: o.Weights = None,
    blocks: o.Blocks = None,
    drop_invalid: o.DropInvalid = False,
    project: o.Project = False,
    yes: o.Yes = False,
    strict: Strict = False,
    seed: o.Seed = 0,
    json_output: o.Json = False,
    quiet: o.Quiet = False,
) -> None:
    """Fit a density to a table and write a model file.

    Examples:

      foliax fit quakes.csv --yes

      foliax fit quakes.csv -s 'where: sphere(lat=lat, lon=long); depth: positive(depth, unit=km)'

      foliax fit ebsd.csv -s 'o: euler(p1, P, p2, convention=bunge, unit=degrees, symmetry=cubic)'

    Exit codes: 0 for success; 1 if --strict finds a wrong total mass; 2 for bad input; 3 if the fit
    was cut short, far over its time limit, with the model saved; 130 or 143 after an interrupt.
    """
    from foliax.estimators import get_estimator
    from foliax.evaluation.mass import mass_is_off

    from . import tables

    console = Console(json_output, quiet)
    estimator = get_estimator(model, time_limit=time_limit, steps=steps)
    output = output or data.with_suffix(".foliax")
    tables.check_output(output, (".foliax",))
    columns = tables.RowColumns(weights, blocks)
    how = {"yes": yes, "drop_invalid": drop_invalid, "project": project}
    table = tables.read_and_choose_schema(console, data, schema, row_columns=columns, **how)
    about = {"model": model, "seed": seed, "data": str(data)}
    fitted, held = fit_and_save(console, table, estimator, output, held_out, about, keep_rows)
    _print_result(console, table, fitted.record, output, held, keep_rows)
    if strict and mass_is_off(fitted.record):
        raise typer.Exit(CHECK_FAILED)
    exit_if_cut_short(console, fitted.record, output)


def _print_result(
    console: Console, table: Table, record: Record, output: Path, held: int, keep_rows: bool
) -> None:
    rows, measure = len(table.points), table.schema.measure().label
    for event in record.events:
        console.log(f"  {event}")
    found = {
        "output": str(output),
        "rows": rows,
        "held out": held,
        "schema": table.schema.text(),
        "measure": measure,
        "seconds": record.seconds,
        "total mass": record.mass,
        "events": record.events,
    }
    keeps = "also keeps rows for its report" if keep_rows else "keeps no rows"
    console.result(
        found,
        f"Fitted in {record.seconds:.1f} s, {measure}. {output} {keeps}: {held} of {rows} were "
        "held out.",
    )


def exit_if_cut_short(console: Console, record: Record, output: Path) -> None:
    """Warn and exit with code 3 where the clock stopped the fit."""
    from foliax.training.history import CUT_SHORT

    if record.stopped == CUT_SHORT:
        console.warn(
            f"The fit was cut short after {record.seconds:.0f} s, far over its time limit. "
            f"{output} holds what was reached; another run may give another result."
        )
        raise typer.Exit(FIT_CUT_SHORT)


def fit_and_save(
    console: Console,
    table: Table,
    estimator: AbstractEstimator,
    output: Path,
    held_out: float,
    about: dict[str, Any],
    keep_rows: bool = True,
) -> tuple[FitResult, int]:
    """Fit all rows but a held-out share, and write the model file; how many these are.

    An interrupted fit leaves `output` as it was: what it reached goes into a file beside it.
    """
    import jax

    from foliax.evaluation.mass import check_total_mass
    from foliax.io import model_file
    from foliax.io.training_data import collect_training_data, split_rows
    from foliax.training.history import INTERRUPTED

    k1, k2 = jax.random.split(jax.random.key(about["seed"]))
    with table.schema.name_columns_in_errors(table.frame, table.points):
        data, events = _as_dataset(table, estimator)
    # Held-out rows that nobody keeps would be lost to the fit for nothing.
    train, test = split_rows(len(data), held_out if keep_rows else 0.0, k1, data.blocks)
    with console.progress(f"Fitting {len(train)} rows") as stage:
        with table.schema.name_columns_in_errors(table.frame, table.points):
            fitted = estimator.fit(data.take(train), key=k2, callbacks=[stage.callback()])
        fitted.record.events[:0] = events
        stage.show("measuring the total mass")
        mass_key = jax.random.fold_in(k2, 1)
        check_total_mass(fitted.density, table.points[train], fitted.record, key=mass_key)
    rows = (table.frame, table.weights, table.schema, train, test, data.blocks)
    training_data = collect_training_data(*rows) if keep_rows else None
    interrupted = fitted.record.stopped == INTERRUPTED
    path = output.with_suffix(".interrupted.foliax") if interrupted else output
    model_file.save(
        path,
        fitted.density,
        estimator=estimator,
        schema=table.schema,
        record=fitted.record,
        training_data=training_data,
        extra=about,
    )
    if interrupted:
        raise KeyboardInterrupt(
            f"Interrupted. {output} was not changed; see {path} for the fit so far."
        )
    return fitted, len(test)


def _as_dataset(table: Table, estimator: AbstractEstimator) -> tuple[Dataset, list[str]]:
    """The rows in their order, with blocks where the estimator would add them, and its event."""
    from foliax.density import Dataset
    from foliax.estimators.blocks import add_blocks

    data = Dataset(table.points, table.schema.manifold(), table.weights, blocks=table.blocks)
    # A split shuffles the rows, so that the estimator itself would not find them correlated.
    data, event = add_blocks(data) if estimator.falls_back_on_blocks else (data, "")
    return data, [event] if event else []
