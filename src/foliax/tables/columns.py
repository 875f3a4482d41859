"""Columns of a table as numbers, and where in the user's table something is wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from .errors import TableError, nearest

LINES = "foliax_first_line"
"""Key of `frame.attrs`: on which line of its file the row with index 0 is."""


class Trouble(NamedTuple):
    """Rows of a table that cannot be used: which, in which columns, and a complaint about one."""

    rows: np.ndarray
    columns: tuple[str, ...]
    say: Callable[[int], str]


class Numbers(NamedTuple):
    """Columns as float64, NaN where there is no number, and why."""

    values: np.ndarray
    troubles: list[Trouble]


def row_name(frame: pd.DataFrame, position: int) -> str:
    """The row as the user counts it: from 1, with the line where the table is from a text file."""
    first = frame.attrs.get(LINES)
    if first is None or not pd.api.types.is_integer_dtype(frame.index.dtype):
        return f"Row {position + 1}"
    label = int(frame.index[position])
    return f"Row {label + 1} (line {label + first})"


def numbers(frame: pd.DataFrame, columns: Sequence[str]) -> Numbers:
    """The named columns of a table."""
    found, troubles = [], []
    for name in columns:
        series = column(frame, name)
        values = _floats(series, name)
        found.append(values)
        troubles.extend(_troubles(series, values, name))
    return Numbers(np.stack(found, axis=1), troubles)


def column(frame: pd.DataFrame, name: str) -> pd.Series:
    """A column by its name, which need not be a string in the table."""
    labels = [str(label) for label in frame.columns]
    if name not in labels:
        shown = ", ".join(labels[:20]) + (", …" if len(labels) > 20 else "")
        raise TableError(
            f"The table has no column '{name}'.{nearest(name, labels)} It has: {shown}."
        )
    if labels.count(name) > 1:
        raise TableError(f"The table has {labels.count(name)} columns '{name}'. Rename one.")
    return frame.iloc[:, labels.index(name)]


def _floats(series: pd.Series, column: str) -> np.ndarray:
    kind = series.dtype.kind
    if kind in "mM" or isinstance(series.dtype, pd.CategoricalDtype) or kind == "c":
        raise TableError(
            f"Column '{column}' holds {series.dtype} values, not numbers. Make numbers of them "
            f"first; for dates e.g. the hour of day: frame['{column}'].dt.hour."
        )
    read = pd.Series(pd.to_numeric(series, errors="coerce"))
    return np.array(read.astype("Float64").to_numpy(dtype=np.float64, na_value=np.nan))


def _troubles(series: pd.Series, values: np.ndarray, column: str) -> Iterator[Trouble]:
    blank = series.isna().to_numpy(dtype=bool)
    missing = np.isnan(values)

    def about_text(row: int) -> str:
        written = series.iloc[row]
        comma = isinstance(written, str) and written.count(",") == 1
        hint = " Use a decimal point instead of the comma." if comma else ""
        return f"'{written}' is not a number.{hint} Correct it or drop the row (drop_invalid)."

    if (missing & ~blank).any():
        yield Trouble(missing & ~blank, (column,), about_text)
    if blank.any():
        yield Trouble(
            blank,
            (column,),
            lambda row: "the value is missing. Fill it or drop the row (drop_invalid).",
        )
    if np.isinf(values).any():
        yield Trouble(
            np.isinf(values),
            (column,),
            lambda row: (
                f"{values[row]} is not a finite number. Correct it or drop the row (drop_invalid)."
            ),
        )
