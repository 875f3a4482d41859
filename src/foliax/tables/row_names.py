"""Names of rows as users count them, also after rows were dropped or shuffled."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from ..manifolds.row_errors import RowNames

FILE_ROWS = "foliax_file_rows"
"""Key of `frame.attrs` that holds the `FileRows` of a table that was read from a file."""


@dataclass(frozen=True, eq=False)
class FileRows:
    """The rows of a file; the labels of a table's index are their numbers, from 0.

    Attributes:
        count: The number of rows in the file.
        lines: The line in which each row starts; None if the file has no lines.
        infinite: The text of numbers that float64 reads as infinite, by column and row.
    """

    count: int
    lines: Sequence[int] | None = None
    infinite: Mapping[tuple[str, int], str] = field(default_factory=dict)

    def __deepcopy__(self, memo: dict[int, Any]) -> FileRows:
        """Return the same object: pandas copies `attrs` with every operation on a table."""
        return self


def number_rows(
    frame: pd.DataFrame,
    lines: Sequence[int] | None = None,
    infinite: Mapping[tuple[str, int], str] | None = None,
) -> pd.DataFrame:
    """Number the rows of a table as they are in its file, so that errors can name them.

    Args:
        frame: The table as it was read, which is changed.
        lines: The line in which each row starts; None if the file has no lines.
        infinite: The text of numbers that float64 reads as infinite, by column and row.

    Returns:
        The same table.
    """
    # Not a RangeIndex: `row_name` must see whether someone has reset the index.
    frame.index = pd.Index(np.arange(len(frame)))
    frame.attrs = {FILE_ROWS: FileRows(len(frame), lines, infinite or {})}
    return frame


def row_name(frame: pd.DataFrame, position: int) -> str:
    """Name a row as users count it: from 1, with its line if the table is from a text file.

    Args:
        frame: A table, whose rows may be a part of a file's rows in any order.
        position: The position of the row in the table, from 0.

    Returns:
        For example "Row 17 (line 18)".
    """
    rows = frame.attrs.get(FILE_ROWS)
    if not isinstance(rows, FileRows) or _is_renumbered(frame, rows):
        return f"Row {position + 1}"
    number = int(frame.index[position])
    line = f" (line {rows.lines[number]})" if rows.lines is not None else ""
    return f"Row {number + 1}{line}"


def text_of_infinite(frame: pd.DataFrame, position: int, column: str) -> str | None:
    """Return what a file has where float64 reads an infinite number, such as 1e400."""
    rows = frame.attrs.get(FILE_ROWS)
    if not isinstance(rows, FileRows) or _is_renumbered(frame, rows):
        return None
    return rows.infinite.get((column, int(frame.index[position])))


def names_of_rows(frame: pd.DataFrame) -> RowNames:
    """Return the names of a table's rows for errors of a fit."""
    return RowNames(np.arange(len(frame)), functools.partial(row_name, frame))


def _is_renumbered(frame: pd.DataFrame, rows: FileRows) -> bool:
    """Whether the index was replaced, so that its labels are no numbers of the file's rows."""
    index = frame.index
    if isinstance(index, pd.RangeIndex) or not pd.api.types.is_integer_dtype(index.dtype):
        return True
    numbers = index.to_numpy()
    return bool((numbers < 0).any() or (numbers >= rows.count).any())
