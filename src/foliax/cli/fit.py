"""`foliax fit`, and the function that `foliax demo` shares with it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from . import options as o
from .blocks import explain_too_few_blocks
from .console import CHECK_FAILED, FIT_CUT_SHORT, Console, end_if_asked, handle_errors
from .resume import identify_run, interrupted_model, keep_progress, remove_interrupted_model

if TYPE_CHECKING:
    import numpy as np
    from jaxtyping import PRNGKeyArray

    from foliax.density import Dataset
    from foliax.estimators import AbstractEstimator, FitResult
    from foliax.io.run_folder import KeepProgress
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
    typer.Option(
        "--strict",
        help="Exit with code 1 if the fit warns that its density is wrong, such as a total mass "
        "that is not 1, or if its total mass is not measured to 2 %. A fit whose mass cannot be "
        "measured fails, whatever the reason.",
    ),
]
Resume = Annotated[
    bool,
    typer.Option(
        "--resume",
        help="Continue a fit that was interrupted or killed, to the same result. Its progress is "
        "in OUTPUT.run, saved every half minute. Without --resume, start over.",
    ),
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
    resume: Resume = False,
    seed: o.Seed = 0,
    json_output: o.Json = False,
    quiet: o.Quiet = False,
) -> None:
    """Fit a density to a table and write a model file.

    Examples:

      foliax fit quakes.csv --yes

      foliax fit quakes.csv -s 'where: sphere(lat=lat, lon=long); depth: positive(depth, unit=km)'

      foliax fit ebsd.csv -s 'o: euler(p1, P, p2, convention=bunge, unit=degrees, symmetry=cubic)'

    Exit codes: 0 success; 1 a warning or an unknown total mass under --strict; 2 bad input; 3 cut
    short, far over the time limit, with the model saved; 130 or 143 interrupted.
    """
    from foliax.estimators import get_estimator

    from . import tables

    console = Console(json_output, quiet)
    estimator = get_estimator(model, time_limit=time_limit, steps=steps)
    output = output or data.with_suffix(".foliax")
    tables.check_output(output, (".foliax",))
    columns = tables.RowColumns(weights, blocks)
    how = {"yes": yes, "drop_invalid": drop_invalid, "project": project, "row_columns": columns}
    table = tables.read_and_choose_schema(console, data, schema, **how)
    about = {"model": model, "seed": seed, "data": str(data)}
    share = held_out if keep_rows else None
    fitted, held = _fit_resumably(console, table, estimator, output, share, about, resume)
    _print_result(console, table, fitted.record, output, held, keep_rows)
    _exit_if_strict(console, fitted.record, strict)
    exit_if_cut_short(console, fitted.record, output)


def _fit_resumably(
    console: Console,
    table: Table,
    estimator: AbstractEstimator,
    output: Path,
    held_out: float | None,
    about: dict[str, Any],
    resume: bool,
) -> tuple[FitResult, int]:
    """Fit and save as `fit_and_save` does, and keep the progress meanwhile."""
    identity = identify_run(table, estimator, held_out, about)
    with keep_progress(console, output, identity, resume=resume) as keeper:
        found = fit_and_save(console, table, estimator, output, held_out, about, keeper)
    if resume:
        remove_interrupted_model(output, about)
    return found


def _print_result(
    console: Console, table: Table, record: Record, output: Path, held: int, keep_rows: bool
) -> None:
    rows, measure = len(table.points), table.schema.measure().label
    for event in record.events:
        if event not in record.warnings:
            console.log(f"  {event}")
    for text in record.warnings:
        console.warn(text)
    found = {
        "output": str(output),
        "rows": rows,
        "held out": held,
        "schema": table.schema.text(),
        "measure": measure,
        "seconds": record.seconds,
        "total mass": record.mass,
        "events": record.events,
        "warnings": record.warnings,
    }
    keeps = "also keeps rows for its report" if keep_rows else "keeps no rows"
    console.result(
        found,
        f"Fitted in {record.seconds:.1f} s, {measure}. {output} {keeps}: {held} of {rows} were "
        "held out.",
    )


def _exit_if_strict(console: Console, record: Record, strict: bool) -> None:
    """With --strict, exit where the fit warns or its total mass is unknown."""
    from foliax.evaluation.mass import describe_mass, mass_is_measured

    if not strict:
        return
    if not mass_is_measured(record):
        console.warn(f"--strict: {describe_mass(record)} The model file was saved.")
    if record.warnings or not mass_is_measured(record):
        raise typer.Exit(CHECK_FAILED)


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
    held_out: float | None,
    about: dict[str, Any],
    keeper: KeepProgress | None = None,
) -> tuple[FitResult, int]:
    """Fit all rows but a held-out share, and write the model file.

    An interrupted fit leaves `output` as it was: what it reached goes into a file beside it.

    Args:
        console: Shows the progress.
        table: The rows.
        estimator: What to fit.
        output: The model file.
        held_out: Share of the rows to hold out. None fits all, and keeps none in the file.
        about: The seed, and what else the file states.
        keeper: Keeps the progress.

    Returns:
        The fit, and the number of rows that were held out.

    Raises:
        KeyboardInterrupt: The fit was interrupted after it had reached something.
    """
    import jax

    from foliax.io import model_file
    from foliax.io.training_data import collect_training_data, split_rows
    from foliax.training.history import INTERRUPTED

    k1, k2 = jax.random.split(jax.random.key(about["seed"]))
    data, events = _as_dataset(table, estimator)
    # Held-out rows that nobody keeps would be lost to the fit for nothing.
    train, test = split_rows(len(data), held_out or 0.0, k1, data.blocks)
    with explain_too_few_blocks(data.blocks, test):
        fitted = _fit_rows(console, table, data.take(train), estimator, keeper, k2)
    fitted.record.events[:0] = events + _describe_split(data, test, held_out)
    rows = (table.frame, table.weights, table.schema, train, test, data.blocks)
    training_data = None if held_out is None else collect_training_data(*rows)
    interrupted = fitted.record.stopped == INTERRUPTED
    path = interrupted_model(output) if interrupted else output
    parts = {"record": fitted.record, "schema": table.schema, "training_data": training_data}
    model_file.save(path, fitted.density, estimator=estimator, extra=about, **parts)
    if interrupted:
        raise KeyboardInterrupt(f"Interrupted. {output} was not changed; {path} has the progress.")
    return fitted, len(test)


def _describe_split(data: Dataset, test: np.ndarray, held_out: float | None) -> list[str]:
    """An event where blocks make the held-out share differ from what was asked."""
    from foliax.density.blocks import describe_split

    if data.blocks is None or not len(test) or not held_out:
        return []
    text = describe_split(data.blocks, test, held_out)
    return [text] if text else []


def _as_dataset(table: Table, estimator: AbstractEstimator) -> tuple[Dataset, list[str]]:
    """The rows in their order, with blocks where the estimator would add them, and its event."""
    from foliax.estimators.blocks import add_blocks

    with table.schema.name_columns_in_errors(table.frame, table.points):
        data = table.as_dataset()
    # A split shuffles the rows, so that the estimator itself would not find them correlated.
    data, event = add_blocks(data) if estimator.falls_back_on_blocks else (data, "")
    return data, [event] if event else []


def _fit_rows(
    console: Console,
    table: Table,
    data: Dataset,
    estimator: AbstractEstimator,
    keeper: KeepProgress | None,
    key: PRNGKeyArray,
) -> FitResult:
    """Fit some rows of a table, and measure the total mass."""
    import jax

    from foliax.evaluation.mass import check_total_mass
    from foliax.training.history import INTERRUPTED

    mass_key = jax.random.fold_in(key, 1)
    with console.progress(f"Fitting {len(data)} rows") as stage:
        with table.schema.name_columns_in_errors(table.frame, table.points):
            callbacks = [*([keeper] if keeper else []), stage.callback()]
            fitted = estimator.fit(data, key=key, callbacks=callbacks)
        if fitted.record.stopped != INTERRUPTED:
            end_if_asked()  # Python dropped a signal during the fit
        stage.show("measuring the total mass")
        check_total_mass(fitted.density, data.rows, fitted.record, key=mass_key)
    return fitted
