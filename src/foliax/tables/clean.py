"""From a table to points: checks, projection and dropping of rows, all reported."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from .columns import Trouble, numbers, row_name
from .errors import TableError
from .factor import Factor
from .kinds import Check


class Prepared(NamedTuple):
    """Points, the positions of their rows in the table, and what was done to the others."""

    points: np.ndarray
    kept: np.ndarray
    report: list[str]


class _Part(NamedTuple):
    """One factor's values, what is wrong with them, and how many rows were projected."""

    factor: Factor
    values: np.ndarray
    troubles: list[Trouble]
    projected: int


def prepare(
    factors: Sequence[Factor],
    frame: pd.DataFrame,
    *,
    drop_invalid: bool = False,
    project: bool = False,
) -> Prepared:
    """Points of the rows that are valid; see `Schema.prepare`."""
    parts = [_part(factor, frame, project) for factor in factors]
    if len(frame) == 0:
        raise TableError("The table has no rows, only column names. Add data.")
    troubles = [trouble for part in parts for trouble in part.troubles]
    if troubles and not drop_invalid:
        raise _error(frame, troubles)
    bad = np.zeros(len(frame), bool)
    for trouble in troubles:
        bad |= trouble.rows
    kept = np.flatnonzero(~bad)
    if len(kept) == 0:
        raise TableError(f"None of the {len(frame)} rows is valid. {_error(frame, troubles)}")
    points = np.concatenate([p.factor.kind.encode(p.values[kept]) for p in parts], axis=1)
    return Prepared(points, kept, [*_projections(parts), *_drops(frame, troubles, bad)])


def troubles_of(factors: Sequence[Factor], frame: pd.DataFrame) -> list[Trouble]:
    """Everything that is wrong with a table's rows."""
    return [trouble for factor in factors for trouble in _part(factor, frame, False).troubles]


def describe(frame: pd.DataFrame, trouble: Trouble) -> str:
    """The first of the troubled rows, what is wrong with it, and how many are like it."""
    row = int(np.argmax(trouble.rows))
    more = int(trouble.rows.sum()) - 1
    like = f" ({more} more row{'s' if more > 1 else ''} like it.)" if more else ""
    return f"{row_name(frame, row)}, {_columns(trouble)}: {trouble.say(row)}{like}"


def _part(factor: Factor, frame: pd.DataFrame, project: bool) -> _Part:
    values, troubles = numbers(frame, factor.columns)
    finite = np.flatnonzero(np.isfinite(values).all(axis=1))
    projected = 0
    if project and len(finite):
        wrong = finite[_wrong(factor, values[finite])]
        if len(wrong):
            values[wrong] = factor.kind.mend(values[wrong])
            projected = int((~_wrong(factor, values[wrong])).sum())
    for check in factor.kind.checks(values[finite]):
        troubles.extend(_checked(check, factor, values, finite))
    return _Part(factor, values, troubles, projected)


def _wrong(factor: Factor, values: np.ndarray) -> np.ndarray:
    """Which rows fail a check."""
    each = [c.bad.reshape(len(values), -1).any(axis=1) for c in factor.kind.checks(values)]
    return np.any([np.zeros(len(values), bool), *each], axis=0)


def _checked(check: Check, factor: Factor, values: np.ndarray, finite: np.ndarray) -> list[Trouble]:
    """A check of the finite rows as troubles of the table's rows."""

    def everywhere(bad: np.ndarray) -> np.ndarray:
        rows = np.zeros(len(values), bool)
        rows[finite] = bad
        return rows

    if not check.bad.any():
        return []
    if check.bad.ndim == 1:
        return [Trouble(everywhere(check.bad), factor.columns, lambda row: check.say(values[row]))]
    return [
        Trouble(everywhere(bad), (column,), lambda row, i=i: check.say(float(values[row, i])))
        for i, (column, bad) in enumerate(zip(factor.columns, check.bad.T, strict=True))
        if bad.any()
    ]


def _rows(count: int) -> str:
    return f"{count} row{'s' if count > 1 else ''}"


def _columns(trouble: Trouble) -> str:
    return f"column{'s' if len(trouble.columns) > 1 else ''} {', '.join(trouble.columns)}"


def _error(frame: pd.DataFrame, troubles: list[Trouble]) -> TableError:
    first = min(troubles, key=lambda trouble: int(np.argmax(trouble.rows)))
    return TableError(describe(frame, first))


def _projections(parts: Sequence[_Part]) -> list[str]:
    return [
        f"Projected {_rows(part.projected)} of {', '.join(part.factor.columns)} onto valid values."
        for part in parts
        if part.projected
    ]


def _drops(frame: pd.DataFrame, troubles: list[Trouble], bad: np.ndarray) -> list[str]:
    if not bad.any():
        return []
    reasons = [f"{int(t.rows.sum())} × {describe(frame, t)}" for t in troubles]
    return [f"Dropped {int(bad.sum())} of {len(frame)} rows.", *reasons]
