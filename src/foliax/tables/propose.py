"""A schema proposed from a table's names and ranges, with all that was assumed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pandas as pd

from .columns import numbers
from .errors import TableError
from .grammar import quoted
from .guesses import SEVERAL, Guess, Pool
from .infer_column import single
from .schema import Schema


class Proposal(NamedTuple):
    """A schema to be read and corrected, and what it assumes, a sentence for each guess."""

    schema: Schema
    assumed: list[str]


def propose(frame: pd.DataFrame) -> Proposal:
    """A schema for a table; columns that are no numbers are left out, and that is said."""
    if len(frame) == 0:
        raise TableError("The table has no rows to propose a schema from. Add data.")
    pool, assumed = _pool(frame)
    guesses = list(_guesses(pool))
    kept = [guess for guess in guesses if guess.call is not None]
    if not kept:
        why = " ".join([*assumed, *(guess.assumed for guess in guesses)])
        raise TableError(f"No column of the table can be used. {why}")
    used: list[str] = []
    parts = []
    for guess in sorted(kept, key=lambda g: min(list(pool).index(c) for c in g.columns)):
        used.append(_unused(guess.name, used))
        parts.append(f"{quoted(used[-1])}: {guess.call}")
    schema = Schema.parse("; ".join(parts)).settle(frame)
    return Proposal(schema, assumed + [guess.assumed for guess in guesses])


def _pool(frame: pd.DataFrame) -> tuple[Pool, list[str]]:
    """The columns of numbers, in the rows where all of these are finite; what was left out."""
    found: dict[str, np.ndarray] = {}
    said = []
    for label in frame.columns:
        column = str(label)
        try:
            values = numbers(frame, [column]).values[:, 0]
        except TableError as error:
            said.append(f"{column}: left out. {error}")
            continue
        share = np.isfinite(values).mean()
        if share > 0.5:
            found[column] = values
        else:
            why = "Most of it is missing, or text (categories are not yet supported)."
            said.append(f"{column}: left out. {why}")
    if not found:
        return {}, said
    finite = np.isfinite(np.stack(list(found.values()))).all(axis=0)
    if not finite.any():
        raise TableError("No row has a number in every column. Fill or remove columns first.")
    if not finite.all():
        said.append(f"{int((~finite).sum())} of {len(frame)} rows lack a number, and were ignored.")
    return {column: values[finite] for column, values in found.items()}, said


def _guesses(pool: Pool) -> Iterator[Guess]:
    left = dict(pool)
    for guess_at in SEVERAL:
        for guess in guess_at(left):
            if all(column in left for column in guess.columns):
                yield guess
                for column in guess.columns:
                    del left[column]
    for column, values in left.items():
        yield single(column, values)


def _unused(name: str, used: list[str]) -> str:
    names = [name, *(f"{name}{i}" for i in range(2, len(used) + 3))]
    return next(n for n in names if n not in used)
