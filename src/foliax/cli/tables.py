"""Tables and schemas as commands meet them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import typer

from foliax.tables import PreparedTable, Schema, TableError, propose, read_table, write_table

from .console import Console


class Table(NamedTuple):
    """A table's valid rows: the frame, the points, the weights and the schema."""

    frame: pd.DataFrame
    points: np.ndarray
    weights: np.ndarray | None
    schema: Schema


def read(
    console: Console,
    data: Path,
    schema: Schema,
    *,
    drop_invalid: bool = False,
    project: bool = False,
    weights: str | None = None,
    frame: pd.DataFrame | None = None,
) -> Table:
    """The rows of a file that the schema takes; what was done to the others is said."""
    frame = read_table(data) if frame is None else frame
    prepared = schema.prepare(frame, drop_invalid=drop_invalid, project=project)
    return _table(console, frame, schema, prepared, weights)


def _table(
    console: Console,
    frame: pd.DataFrame,
    schema: Schema,
    prepared: PreparedTable,
    weights: str | None,
) -> Table:
    for line in prepared.report:
        console.say(line)
    kept = frame.iloc[prepared.kept]
    return Table(kept, prepared.points, _weights(kept, weights), schema)


def read_any(
    console: Console,
    data: Path,
    written: str | None,
    *,
    yes: bool,
    drop_invalid: bool,
    project: bool,
    weights: str | None,
) -> Table:
    """The rows of a file, by the schema that was written or is proposed."""
    frame = read_table(data)
    if written is not None:
        schema, prepared = Schema.load(written).infer_and_prepare(
            frame, drop_invalid=drop_invalid, project=project
        )
        return _table(console, frame, schema, prepared, weights)
    schema = schema_for(console, frame, written, yes)
    return read(
        console,
        data,
        schema,
        drop_invalid=drop_invalid,
        project=project,
        weights=weights,
        frame=frame,
    )


def schema_for(console: Console, frame: pd.DataFrame, written: str | None, yes: bool) -> Schema:
    """The schema that was written, or the proposed one if the user agrees."""
    if written is not None:
        return Schema.load(written).infer_conventions(frame)
    schema, assumed = propose(frame)
    console.say("No schema was given; proposed from names and values:")
    for line in assumed:
        console.say(f"  {line}")
    console.say(f"  --schema '{schema.text()}'")
    if not yes and not (sys.stdin.isatty() and typer.confirm("Go on with it?", err=True)):
        raise TableError(
            f"Pass --yes to go on with the proposed schema, or --schema '{schema.text()}' with "
            "corrections."
        )
    return schema


def _weights(frame: pd.DataFrame, column: str | None) -> np.ndarray | None:
    if column is None:
        return None
    if column not in frame.columns:
        known = ", ".join(str(name) for name in frame.columns)
        raise TableError(f"The table has no column '{column}' for weights. It has: {known}.")
    values = np.asarray(pd.to_numeric(frame[column], errors="coerce"), float)
    bad = ~(np.isfinite(values) & (values >= 0))
    if bad.any() or not values.sum() > 0:
        row = int(np.argmax(bad)) + 1
        raise TableError(
            f"Column '{column}': weights must be non-negative numbers that are not all 0; see row "
            f"{row}. Correct them."
        )
    return values


def write(
    console: Console, frame: pd.DataFrame, output: Path | None, found: dict[str, Any]
) -> None:
    """The table into a file, wholly or not at all, or to stdout."""
    if output is None:
        if console.json:
            console.result(found | {"rows": frame.to_dict(orient="records")}, "")
        else:
            typer.echo(frame.to_csv(index=False), nl=False)
        return
    check_folder(output)
    ending = "".join(output.suffixes[-2:]) if output.suffix == ".gz" else output.suffix
    temporary = output.with_name(f".{output.stem}.part{ending}")
    try:
        write_table(frame, temporary)
        temporary.replace(output)
    finally:
        temporary.unlink(missing_ok=True)
    console.result(found | {"output": str(output)}, f"Wrote {len(frame)} rows to {output}.")


def check_folder(output: Path) -> None:
    """Refuse before the work, not after it."""
    if output.is_dir():
        raise TableError(f"{output} is a folder. Name a file in it.")
    if not output.parent.is_dir():
        raise TableError(f"There is no folder {output.parent} to write {output.name} into.")


def check_output(output: Path | None, endings: tuple[str, ...]) -> None:
    """Refuse an ending that is not known, before the work."""
    if output is None:
        return
    check_folder(output)
    if not output.name.lower().endswith(endings):
        raise TableError(f"{output}: the name must end with one of {', '.join(endings)}.")


TABLES = (".csv", ".tsv", ".csv.gz", ".tsv.gz", ".parquet", ".npy", ".npz")
