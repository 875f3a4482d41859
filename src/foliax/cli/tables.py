"""Read and write the tables of commands, and choose their schemas."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
import typer

from foliax.atomic import check_writable
from foliax.escaping import escape_control_characters
from foliax.manifolds.row_errors import RowNames
from foliax.tables import (
    PreparedTable,
    Schema,
    TableError,
    propose,
    read_table,
    read_weights,
    write_table,
)
from foliax.tables.columns import read_numbers
from foliax.tables.constant import check_columns_vary
from foliax.tables.correlated import read_blocks
from foliax.tables.files import is_text_format, read_table_verbatim
from foliax.tables.outliers import find_fill_values
from foliax.tables.row_names import names_of_rows
from foliax.tables.text_files import format_text
from foliax.tables.verbatim import select_verbatim

from .console import Console
from .streams import can_ask, is_terminal, print_result

if TYPE_CHECKING:
    from foliax.density import Dataset

TABLE_ENDINGS = (".csv", ".tsv", ".csv.gz", ".tsv.gz", ".parquet", ".npy", ".npz")
"""Endings of the table files that commands write."""


class Table(NamedTuple):
    """The valid rows of a table.

    Attributes:
        frame: The rows in the user's columns.
        points: The same rows as points of the schema's manifold.
        weights: Their weights, or None.
        schema: The schema.
        dropped: The number of invalid rows that were left out.
        blocks: The number of each row's block, or None.
        row_names: How errors name the rows: by their numbers and lines in the file.
    """

    frame: pd.DataFrame
    points: np.ndarray
    weights: np.ndarray | None
    schema: Schema
    dropped: int = 0
    blocks: np.ndarray | None = None
    row_names: RowNames | None = None

    def as_dataset(self) -> Dataset:
        """Return the rows as data of an estimator."""
        from foliax.density import Dataset

        parts = {"blocks": self.blocks, "row_names": self.row_names}
        return Dataset(self.points, self.schema.manifold(), self.weights, **parts)


class RowColumns(NamedTuple):
    """Columns that describe rows and are no part of the density.

    Attributes:
        weights: The column with the weights of the rows, or None.
        blocks: The column that labels blocks of rows, a number of consecutive parts, or None.
    """

    weights: str | None = None
    blocks: str | None = None


def read(
    console: Console,
    data: Path,
    schema: Schema,
    *,
    drop_invalid: bool = False,
    project: bool = False,
) -> Table:
    """Read the rows of a file that are valid under a schema.

    Args:
        console: Prints what was dropped or projected.
        data: The file, which is read once.
        schema: The schema.
        drop_invalid: Leave invalid rows out, instead of raising an error.
        project: Move invalid values to the nearest valid ones.

    Returns:
        The valid rows.

    Raises:
        TableError: The file cannot be read, or a row is invalid.
    """
    frame = read_table(data)
    prepared = schema.prepare(frame, drop_invalid=drop_invalid, project=project)
    return _collect(console, frame, schema, prepared)


def read_verbatim(
    console: Console,
    data: Path,
    schema: Schema,
    *,
    drop_invalid: bool = False,
    project: bool = False,
    output: Path | None = None,
) -> Table:
    """Read the rows of a file that are valid under a schema, and keep the values as they are.

    Args:
        console: As in `read`.
        data: As in `read`.
        schema: As in `read`.
        drop_invalid: As in `read`.
        project: As in `read`.
        output: The file that the rows go to. A text file gets the text of a text file unchanged.

    Returns:
        The valid rows. The values of `frame` are those of the file.

    Raises:
        TableError: As in `read`.
    """
    found = read_table_verbatim(data)
    prepared = schema.prepare(found.frame, drop_invalid=drop_invalid, project=project)
    table = _collect(console, found.frame, schema, prepared)
    as_text = not console.json if output is None else is_text_format(output)
    return table._replace(frame=select_verbatim(found, prepared.kept, as_text=as_text))


def read_and_choose_schema(
    console: Console,
    data: Path,
    schema: str | None,
    *,
    yes: bool,
    drop_invalid: bool,
    project: bool,
    row_columns: RowColumns,
) -> Table:
    """Read the rows of a file to fit, with the user's schema or a proposed one.

    Args:
        console: Prints the proposal, and what was dropped or projected.
        data: The file, which is read once.
        schema: The text or the file of a schema. None proposes one.
        yes: Accept the proposal without asking.
        drop_invalid: As in `read`.
        project: As in `read`.
        row_columns: Columns with weights and blocks. They are not part of a proposed schema.

    Returns:
        The valid rows.

    Raises:
        TableError: As in `read`, or the user does not accept the proposal, or a weight or a label
            is invalid, or a continuous column has one value only.
    """
    frame = read_table(data)
    how = {"drop_invalid": drop_invalid, "project": project}
    if schema is None:
        chosen = choose_schema(console, drop_row_columns(frame, row_columns), schema, yes)
        prepared = chosen.prepare(frame, **how)
    else:
        chosen, prepared = Schema.load(schema).infer_and_prepare(frame, **how)
    table = _collect(console, frame, chosen, prepared)
    check_columns_vary(chosen.factors, table.frame)
    _warn_of_fill_values(console, table)
    if row_columns.weights is not None:
        table = table._replace(weights=read_weights(frame, row_columns.weights, prepared.kept))
    if row_columns.blocks is not None:
        table = table._replace(blocks=read_blocks(table.frame, row_columns.blocks))
    return table


def drop_row_columns(frame: pd.DataFrame, row_columns: RowColumns) -> pd.DataFrame:
    """Leave out the columns that describe rows."""
    return frame.drop(columns=[name for name in row_columns if name in frame.columns])


def _collect(
    console: Console, frame: pd.DataFrame, schema: Schema, prepared: PreparedTable
) -> Table:
    for line in prepared.report:
        console.log(line)
    valid = frame.iloc[prepared.kept]
    dropped = len(frame) - len(valid)
    names = names_of_rows(frame).take(prepared.kept)
    return Table(valid, prepared.points, None, schema, dropped, row_names=names)


def _warn_of_fill_values(console: Console, table: Table) -> None:
    for factor in table.schema.factors:
        values = read_numbers(table.frame, factor.columns).values
        for found in find_fill_values(factor, values):
            console.warn(f"Column {found.columns[0]}: {found.message}. {found.consequence}")


def choose_schema(console: Console, frame: pd.DataFrame, text: str | None, yes: bool) -> Schema:
    """Return the user's schema, or the proposed one if the user accepts it.

    Args:
        console: Prints the proposal.
        frame: The table.
        text: The text or the file of a schema. None proposes one.
        yes: Accept the proposal without asking.

    Returns:
        The schema.

    Raises:
        TableError: The schema is wrong, or the user does not accept the proposal.
    """
    if text is not None:
        return Schema.load(text).infer_conventions(frame)
    schema, assumptions = propose(frame)
    console.log("No schema was given. Proposed from names and values:")
    for line in assumptions:
        console.log(f"  {line}")
    console.log(f"  --schema '{schema.text()}'")
    if not yes and not (can_ask() and typer.confirm("Use this schema?", err=True)):
        raise TableError(
            f"Pass --yes to accept the proposed schema, or correct it: --schema '{schema.text()}'"
        )
    return schema


def write(
    console: Console, frame: pd.DataFrame, output: Path | None, summary: dict[str, Any]
) -> None:
    """Write a table to a file atomically, or print it.

    Args:
        console: Prints the table or the summary.
        frame: The table.
        output: The file. None prints CSV, or JSON with --json.
        summary: Values for --json.

    Raises:
        TableError: The format cannot hold the table.
        OSError: The file or stdout cannot be written.
    """
    if output is not None:
        write_table(frame, output)
        console.result(summary | {"output": str(output)}, f"Wrote {len(frame)} rows to {output}.")
    elif console.json:
        console.result(summary | {"rows": frame.to_dict(orient="records")}, "")
    else:
        text = format_text(frame)
        # Programs get the values unchanged; a terminal would obey escape sequences in them.
        print_result(escape_control_characters(text) if is_terminal() else text, nl=False)


def check_output(output: Path | None, endings: tuple[str, ...]) -> None:
    """Check the output before the work, so that no work is lost.

    Args:
        output: The file to write, or None.
        endings: The endings that the name may have.

    Raises:
        TableError: The ending is unknown.
        OSError: The file cannot be written.
    """
    if output is None:
        return
    if not os.path.isdir(output) and not output.name.lower().endswith(endings):
        raise TableError(f"{output}: the name must end with one of {', '.join(endings)}.")
    check_writable(output)


def make_folder(folder: Path) -> None:
    """Create a folder for outputs if it is missing, and check it before the work.

    Args:
        folder: The folder.

    Raises:
        TableError: The folder cannot be created.
        OSError: Files cannot be written into it.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise TableError(f"The folder {folder} cannot be created: {error.strerror}.") from error
    check_writable(folder / "foliax")
