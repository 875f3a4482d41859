"""`foliax fit`, and what the demonstration shares with it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from . import options as o
from .console import NO, Console, guarded

if TYPE_CHECKING:
    from foliax.estimators import AbstractSpec, Fitted

    from .tables import Table

Output = Annotated[
    Path | None, typer.Option("--output", "-o", help="The model file; by default DATA.foliax.")
]
HeldOut = Annotated[
    float,
    typer.Option(
        help="Share of the rows, if there are 200, that is not fitted, so that a report can say "
        "how good the fit is; 0 to fit all.",
        min=0,
        max=0.9,
    ),
]
KeepRows = Annotated[
    bool,
    typer.Option(
        "--rows/--no-rows",
        help="Whether the model file keeps rows (7,000 at the most), which its report needs; "
        "without, none are held out.",
    ),
]
Strict = Annotated[
    bool,
    typer.Option("--strict", help="Exit with code 1 where the total mass of the result is off."),
]


@guarded
def fit(
    data: o.Data,
    schema: o.SchemaText = None,
    model: o.ModelName = "auto",
    output: Output = None,
    minutes: o.Minutes = 2.0,
    steps: o.Steps = None,
    held_out: HeldOut = 0.1,
    keep_rows: KeepRows = True,
    weights: o.Weights = None,
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
    """
    from foliax.estimators.auto import spec_of
    from foliax.evaluation.mass import mass_is_off

    from . import tables

    console = Console(json_output, quiet)
    spec = spec_of(model, minutes=minutes, steps=steps)
    output = output or data.with_suffix(".foliax")
    tables.check_output(output, (".foliax",))
    table = tables.read_any(
        console,
        data,
        schema,
        yes=yes,
        drop_invalid=drop_invalid,
        project=project,
        weights=weights,
    )
    about = {"model": model, "seed": seed, "data": str(data)}
    fitted, held = fit_and_save(console, table, spec, output, held_out, about, keep_rows)
    record, rows, measure = fitted.record, len(table.points), table.schema.measure().label
    for event in record.events:
        console.say(f"  {event}")
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
    if strict and mass_is_off(record):
        raise typer.Exit(NO)


def fit_and_save(
    console: Console,
    table: Table,
    spec: AbstractSpec,
    output: Path,
    held_out: float,
    about: dict[str, Any],
    keep_rows: bool = True,
) -> tuple[Fitted, int]:
    """Fit all rows but a held-out share, and write the model file; how many these are.

    An interrupted fit leaves `output` as it was: what it reached goes into a file beside it.
    """
    import jax

    from foliax.estimators.auto import fit_watched
    from foliax.evaluation.mass import check_total_mass
    from foliax.io import model_file
    from foliax.io.training_data import gather, split
    from foliax.training.history import INTERRUPTED

    k1, k2 = jax.random.split(jax.random.key(about["seed"]))
    mass_key = jax.random.fold_in(k2, 1)
    # Held-out rows that nobody keeps would be lost to the fit for nothing.
    train, test = split(len(table.points), held_out if keep_rows else 0.0, k1)
    with console.progress(f"Fitting {len(train)} rows") as stage:
        with table.schema.name_columns_in_errors():
            fitted = fit_watched(
                spec,
                table.schema.manifold(),
                table.points[train],
                key=k2,
                weights=None if table.weights is None else table.weights[train],
                on_candidate=stage.candidate,
                on_block=stage.block,
            )
        stage.show("measuring the total mass")
        check_total_mass(fitted.density, table.points[train], fitted.record, key=mass_key)
    evidence = gather(table.frame, table.weights, table.schema, train, test) if keep_rows else None
    interrupted = fitted.record.stopped == INTERRUPTED
    path = output.with_suffix(".interrupted.foliax") if interrupted else output
    model_file.save(
        path,
        fitted.density,
        spec=spec,
        schema=table.schema,
        record=fitted.record,
        evidence=evidence,
        **about,
    )
    if interrupted:
        raise KeyboardInterrupt(
            f"Interrupted. {output} was not changed; see {path} for the fit so far."
        )
    return fitted, len(test)
