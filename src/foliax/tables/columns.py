"""Columns of a table as numbers, and the rows that have none."""

from __future__ import annotations

import contextlib
import decimal
import numbers
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from .errors import TableError, shorten, suggest
from .row_names import text_of_infinite

MAX_LISTED_COLUMNS = 20
"""Columns that an error message lists."""

MAX_VALUE_CHARACTERS = 40
"""Characters of a value that an error message shows."""


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


def as_frame(rows: Any, columns: Sequence[str]) -> pd.DataFrame:
    """Return a frame itself; an array becomes one, with these columns in this order."""
    if isinstance(rows, pd.DataFrame):
        return rows
    rows = np.asarray(rows)
    if rows.ndim != 2 or rows.shape[1] != len(columns):
        raise ValueError(
            f"Without column names, X must have the schema's columns {', '.join(columns)} "
            f"in this order; its shape is {rows.shape}. Or pass a pandas frame."
        )
    return pd.DataFrame(rows, columns=list(columns))


def read_numbers(frame: pd.DataFrame, columns: Sequence[str]) -> Numbers:
    """Convert columns of a table to numbers."""
    found, problems = [], []
    for name in columns:
        series = get_column(frame, name)
        values = _to_floats(series, name)
        found.append(values)
        problems.extend(_find_problems(frame, series, values, name))
    return Numbers(np.stack(found, axis=1), problems)


def get_column(frame: pd.DataFrame, name: str) -> pd.Series:
    """Return a column by its name; labels of the table need not be strings."""
    labels = frame.columns
    if labels.is_unique and labels.inferred_type == "string":
        # With thousands of columns, comparing all labels for each of them takes seconds.
        with contextlib.suppress(KeyError, UnicodeEncodeError):
            return pd.Series(frame[name])
    positions = [i for i, label in enumerate(labels) if str(label) == name]
    if not positions:
        known = [str(label) for label in labels]
        more = ", …" if len(known) > MAX_LISTED_COLUMNS else ""
        listed = ", ".join(known[:MAX_LISTED_COLUMNS]) + more
        raise TableError(
            f"The table has no column '{name}'.{suggest(name, known)} It has: {listed}."
        )
    if len(positions) > 1:
        raise TableError(f"The table has {len(positions)} columns '{name}'. Rename one.")
    return frame.iloc[:, positions[0]]


def exact_integer(frame: pd.DataFrame, row: int, column: str, value: float) -> float | int:
    """Return the integer that a table has and a float64 rounds; otherwise the float64."""
    cell = get_column(frame, column).iloc[row]
    is_cell = isinstance(cell, numbers.Integral) and float(cell) == value
    return int(cell) if is_cell else value


def _to_floats(series: pd.Series, column: str) -> np.ndarray:
    """Convert a column to float64; NaN where a value is no number."""
    kind = series.dtype.kind
    if isinstance(series.dtype, np.dtype) and kind in "fiub":
        return series.to_numpy(np.float64, copy=True)
    types = pd.api.types
    readable = types.is_numeric_dtype(series.dtype) or types.is_string_dtype(series.dtype)
    if not (readable or series.dtype == object) or kind == "c":
        hint = (
            f"; for dates e.g. the hour of day: frame['{column}'].dt.hour" if kind in "mM" else ""
        )
        raise TableError(
            f"Column '{column}' holds {series.dtype} values, not numbers. Convert them to numbers "
            f"first{hint}."
        )
    if series.dtype == object:
        series = series.map(_real_or_text)
    read = pd.Series(pd.to_numeric(series, errors="coerce"))
    return np.array(read.astype("Float64").to_numpy(dtype=np.float64, na_value=np.nan))


def _real_or_text(value: Any) -> Any:
    """Return numbers and text as they are; None for dates, lists and complex numbers."""
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    if isinstance(value, numbers.Real | decimal.Decimal | str):
        return value
    return None


def _find_problems(
    frame: pd.DataFrame, series: pd.Series, values: np.ndarray, column: str
) -> Iterator[Problem]:
    if np.isfinite(values).all():
        return
    blank = np.asarray(series.isna(), bool)
    missing = np.isnan(values)

    def describe_text(row: int) -> str:
        value = series.iloc[row]
        comma = isinstance(value, str) and value.count(",") == 1
        hint = " Use a decimal point instead of the comma." if comma else ""
        shown = shorten(" ".join(str(value).split()), MAX_VALUE_CHARACTERS)
        return f"'{shown}' is not a number.{hint} Correct it or drop the row (drop_invalid)."

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
                f"{text_of_infinite(frame, row, column) or values[row]} is not a finite number. "
                "Correct it or drop the row (drop_invalid)."
            ),
        )
