"""Add columns to a table and keep all others as the file has them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from .files import TableWithText

PLAIN_NUMBER = r"-?(?:0|[1-9][0-9]{0,14})(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?"
"""Text that a float stands for: not 007, +1 or an identifier of 16 digits."""

PLAIN_INTEGER = r"-?(?:0|[1-9][0-9]*)"
"""Text that an integer stands for."""


def select_verbatim(table: TableWithText, kept: np.ndarray, *, as_text: bool) -> pd.DataFrame:
    """Return some rows of a table, with the values that the file has.

    Args:
        table: The table.
        kept: The positions of the rows.
        as_text: Whether the rows are written as text. Otherwise columns of a text file become
            numbers if these stand for the same values: 1.50 becomes 1.5, but 007 stays text.

    Returns:
        The rows.
    """
    rows = table.verbatim.iloc[kept]
    if as_text or not table.is_text:
        return rows
    frame = table.frame.iloc[kept]
    columns = [_restore_types(frame.iloc[:, i], rows.iloc[:, i]) for i in range(rows.shape[1])]
    return pd.concat(columns, axis="columns").set_axis(rows.columns, axis="columns")


def _restore_types(values: pd.Series, cells: pd.Series) -> pd.Series:
    """The typed values of a column if they stand for its text, otherwise the text."""
    if pd.api.types.is_bool_dtype(values.dtype):
        return values
    if pd.api.types.is_numeric_dtype(values.dtype):
        is_integer = pd.api.types.is_integer_dtype(values.dtype)
        plain = cells.str.fullmatch(PLAIN_INTEGER if is_integer else PLAIN_NUMBER)
        if (plain | (cells == "")).all():
            return values
    return cells.where(cells != "", None)


def add_columns(
    rows: pd.DataFrame, new: Mapping[str, np.ndarray]
) -> tuple[pd.DataFrame, dict[str, str]]:
    """Add columns to a table; a name that the table has gets a suffix.

    Args:
        rows: The table.
        new: Values by name.

    Returns:
        (the table, the names of the new columns by the names that were asked for).
    """
    taken = {str(name) for name in rows.columns}
    names: dict[str, str] = {}
    for wanted in new:
        names[wanted] = _free_name(wanted, taken)
        taken.add(names[wanted])
    values = {names[wanted]: values for wanted, values in new.items()}
    added = pd.DataFrame(values, index=rows.index)
    return pd.concat([rows, added], axis="columns"), names


def _free_name(wanted: str, taken: set[str]) -> str:
    name, number = wanted, 1
    while name in taken:
        number += 1
        name = f"{wanted}_{number}"
    return name
