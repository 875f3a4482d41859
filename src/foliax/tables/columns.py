"""Columns of a table as numbers, and the rows that have none."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from .errors import TableError, suggest

FIRST_LINE = "foliax_first_line"
"""Key of `frame.attrs`: the line of the text file that holds the row with index 0."""

MAX_LISTED_COLUMNS = 20
"""Columns that an error message lists."""


class Problem(NamedTuple):
    """Rows that cannot be used.

    Attributes:
        rows: Which rows, as booleans.
        columns: The columns in which they are invalid.
        describe: Says what is wrong with one of the rows, by position.
    """

    rows: np.ndarray
    columns: tuple[str, ...]
    describe: Callable[[int], str]


class Numbers(NamedTuple):
    """Columns as float64, NaN where there is no number, and the reasons."""

    values: np.ndarray
    problems: list[Problem]


def row_name(frame: pd.DataFrame, position: int) -> str:
    """Name a row as users count it: from 1, with its line if the table is from a text file."""
    first = frame.attrs.get(FIRST_LINE)
    if first is None or not pd.api.types.is_integer_dtype(frame.index.dtype):
        return f"Row {position + 1}"
    label = int(frame.index[position])
    return f"Row {label + 1} (line {label + first})"


def read_numbers(frame: pd.DataFrame, columns: Sequence[str]) -> Numbers:
    """Convert columns of a table to numbers."""
    found, problems = [], []
    for name in columns:
        series = get_column(frame, name)
        values = _to_floats(series, name)
        found.append(values)
        problems.extend(_find_problems(series, values, name))
    return Numbers(np.stack(found, axis=1), problems)


def get_column(frame: pd.DataFrame, name: str) -> pd.Series:
    """Return a column by its name; labels of the table need not be strings."""
    labels = [str(label) for label in frame.columns]
    if name not in labels:
        more = ", …" if len(labels) > MAX_LISTED_COLUMNS else ""
        listed = ", ".join(labels[:MAX_LISTED_COLUMNS]) + more
        raise TableError(
            f"The table has no column '{name}'.{suggest(name, labels)} It has: {listed}."
        )
    if labels.count(name) > 1:
        raise TableError(f"The table has {labels.count(name)} columns '{name}'. Rename one.")
    return frame.iloc[:, labels.index(name)]


def _to_floats(series: pd.Series, column: str) -> np.ndarray:
    kind = series.dtype.kind
    if kind in "mM" or isinstance(series.dtype, pd.CategoricalDtype) or kind == "c":
        raise TableError(
            f"Column '{column}' holds {series.dtype} values, not numbers. Convert them to numbers "
            f"first; for dates e.g. the hour of day: frame['{column}'].dt.hour."
        )
    read = pd.Series(pd.to_numeric(series, errors="coerce"))
    return np.array(read.astype("Float64").to_numpy(dtype=np.float64, na_value=np.nan))


def _find_problems(series: pd.Series, values: np.ndarray, column: str) -> Iterator[Problem]:
    blank = series.isna().to_numpy(dtype=bool)
    missing = np.isnan(values)

    def describe_text(row: int) -> str:
        text = series.iloc[row]
        comma = isinstance(text, str) and text.count(",") == 1
        hint = " Use a decimal point instead of the comma." if comma else ""
        return f"'{text}' is not a number.{hint} Correct it or drop the row (drop_invalid)."

    if (missing & ~blank).any():
        yield Problem(missing & ~blank, (column,), describe_text)
    if blank.any():
        yield Problem(
            blank,
            (column,),
            lambda row: "the value is missing. Fill it or drop the row (drop_invalid).",
        )
    if np.isinf(values).any():
        yield Problem(
            np.isinf(values),
            (column,),
            lambda row: (
                f"{values[row]} is not a finite number. Correct it or drop the row (drop_invalid)."
            ),
        )
