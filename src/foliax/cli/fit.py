"""`foliax fit`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from . import options as o
from .console import Console, guarded

Output = Annotated[
    Path | None, typer.Option("--output", "-o", help="The model file; by default DATA.foliax.")
]


@guarded
def fit(
    data: o.Data,
    schema: o.SchemaText = None,
    model: o.ModelName = "auto",
    output: Output = None,
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
    """Fit a density to a table and write a model file.

    Examples:

      foliax fit quakes.csv --yes

      foliax fit quakes.csv -s 'where: sphere(lat=lat, lon=long); depth: positive(depth, unit=km)'

      foliax fit ebsd.csv -s 'o: euler(p1, P, p2, convention=bunge, unit=degrees, symmetry=cubic)'
    """
    import jax

    from foliax.auto import fit_watched, spec_of
    from foliax.tables import read_table

    from . import models, tables

    console = Console(json_output, quiet)
    spec = spec_of(model, minutes=minutes, steps=steps)
    output = output or data.with_suffix(".foliax")
    tables.check_output(output, (".foliax",))
    frame = read_table(data)
    settled = tables.schema_for(console, frame, schema, yes)
    table = tables.read(
        console,
        data,
        settled,
        drop_invalid=drop_invalid,
        project=project,
        weights=weights,
        frame=frame,
    )
    with console.progress(f"Fitting {len(table.points)} rows") as stage:
        fitted = fit_watched(
            spec,
            settled.manifold(),
            table.points,
            key=jax.random.key(seed),
            weights=table.weights,
            on_candidate=stage.candidate,
            on_block=stage.block,
        )
    rows = len(table.points)
    models.save(output, fitted, spec, settled, rows=rows, model=model, seed=seed, data=str(data))
    record = fitted.record
    for event in record.events:
        console.say(f"  {event}")
    found = {
        "output": str(output),
        "rows": rows,
        "schema": settled.text(),
        "measure": settled.measure().label,
        "seconds": record.seconds,
        "events": record.events,
    }
    text = f"Fitted {rows} rows in {record.seconds:.1f} s, {settled.measure().label}: {output}"
    console.result(found, text)
