"""Propose a schema from the names and values of a table's columns, and state the assumptions."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pandas as pd

from .columns import read_numbers
from .errors import TableError
from .grammar import quote
from .guess import ColumnValues, Guess
from .infer_column import infer_column
from .infer_group import GROUP_RULES
from .schema import Schema


class Proposal(NamedTuple):
    """A schema to review and correct, and its assumptions, a sentence for each."""

    schema: Schema
    assumed: list[str]


def propose(frame: pd.DataFrame) -> Proposal:
    """Propose a schema for a table.

    Args:
        frame: The table. Columns without numbers are left out.

    Returns:
        The schema and its assumptions, which also say what is left out.

    Raises:
        TableError: The table has no rows, or no column can be used.
    """
    if len(frame) == 0:
        raise TableError("The table has no rows to propose a schema from. Add data.")
    columns, assumed = _numeric_columns(frame)
    guesses = list(_infer_all(columns))
    kept = [guess for guess in guesses if guess.call is not None]
    if not kept:
        why = " ".join([*assumed, *(guess.assumed for guess in guesses)])
        raise TableError(f"No column of the table can be used. {why}")
    positions = {column: i for i, column in enumerate(columns)}
    used: set[str] = set()
    parts = []
    for guess in sorted(kept, key=lambda g: min(positions[c] for c in g.columns)):
        name = _unused(guess.name, used)
        used.add(name)
        parts.append(f"{quote(name)}: {guess.call}")
    schema = Schema.parse("; ".join(parts)).infer_conventions(frame)
    return Proposal(schema, assumed + [guess.assumed for guess in guesses])


def _numeric_columns(frame: pd.DataFrame) -> tuple[ColumnValues, list[str]]:
    """Return the numeric columns, in the rows where all are finite, and what is left out."""
    found: dict[str, np.ndarray] = {}
    remarks = []
    for label in frame.columns:
        column = str(label)
        try:
            values = read_numbers(frame, [column]).values[:, 0]
        except TableError as error:
            remarks.append(f"{column}: left out. {error}")
            continue
        if np.isfinite(values).mean() > 0.5:
            found[column] = values
        else:
            why = "Most of it is missing, or text (categories are not yet supported)."
            remarks.append(f"{column}: left out. {why}")
    if not found:
        return {}, remarks
    finite = np.isfinite(np.stack(list(found.values()))).all(axis=0)
    if not finite.any():
        raise TableError("No row has a number in every column. Fill or remove columns first.")
    if not finite.all():
        remarks.append(
            f"{int((~finite).sum())} of {len(frame)} rows lack a number and were ignored."
        )
    return {column: values[finite] for column, values in found.items()}, remarks


def _infer_all(columns: ColumnValues) -> Iterator[Guess]:
    left = dict(columns)
    for infer_group in GROUP_RULES:
        for guess in infer_group(left):
            if all(column in left for column in guess.columns):
                yield guess
                for column in guess.columns:
                    del left[column]
    for column, values in left.items():
        yield infer_column(column, values)


def _unused(name: str, used: set[str]) -> str:
    numbered = (f"{name}{i}" for i in itertools.count(2))
    return next(n for n in itertools.chain([name], numbered) if n not in used)
