"""From a table to points: check, project and drop rows, and report it."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from .columns import Problem, exact_integer, read_numbers
from .errors import TableError
from .factor import Factor
from .kinds import Check
from .row_names import row_name


class PreparedTable(NamedTuple):
    """The valid rows of a table as points.

    Attributes:
        points: Points of the schema's manifold, of shape (rows, size).
        kept: Positions of their rows in the table.
        report: Sentences that say which rows were projected or dropped, and why.
    """

    points: np.ndarray
    kept: np.ndarray
    report: list[str]


class _Columns(NamedTuple):
    """One factor's columns as numbers, the rows that have none, and the table that has them."""

    factor: Factor
    values: np.ndarray
    problems: list[Problem]
    frame: pd.DataFrame


class _CheckedColumns(NamedTuple):
    """One factor's values after projection, their problems, and the number of projected rows."""

    factor: Factor
    values: np.ndarray
    problems: list[Problem]
    projected: int


def prepare(
    factors: Sequence[Factor], frame: pd.DataFrame, *, drop_invalid: bool, project: bool
) -> PreparedTable:
    """Convert the valid rows to points; see `Schema.prepare`."""
    parts = [_check(_read(factor, frame), project) for factor in factors]
    return _encode(frame, parts, drop_invalid)


def infer_conventions(factors: Sequence[Factor], frame: pd.DataFrame) -> tuple[Factor, ...]:
    """Return the factors with conventions that the valid rows show."""
    columns = [_read(factor, frame) for factor in factors]
    return _infer(frame, columns, [_check(part, project=True) for part in columns])


def infer_and_prepare(
    factors: Sequence[Factor], frame: pd.DataFrame, *, drop_invalid: bool, project: bool
) -> tuple[tuple[Factor, ...], PreparedTable]:
    """Infer conventions and prepare by them, reading columns once.

    Checks depend on conventions, so a factor that changes is checked again. Inference projects
    invalid rows, so a factor with such rows is checked again unless the caller projects too.
    """
    columns = [_read(factor, frame) for factor in factors]
    checked = [_check(part, project=True) for part in columns]
    inferred = _infer(frame, columns, checked)
    parts = [
        old
        if factor == old.factor and (project or old.values is part.values)
        else _check(part._replace(factor=factor), project)
        for factor, part, old in zip(inferred, columns, checked, strict=True)
    ]
    return inferred, _encode(frame, parts, drop_invalid)


def find_problems(factors: Sequence[Factor], frame: pd.DataFrame) -> list[Problem]:
    """Return all problems of a table's rows."""
    parts = [_check(_read(factor, frame), project=False) for factor in factors]
    return [problem for part in parts for problem in part.problems]


@np.errstate(over="ignore", invalid="ignore")
def describe_problem(frame: pd.DataFrame, problem: Problem) -> str:
    """Describe the first row of a problem, and say how many more there are."""
    row = int(np.argmax(problem.rows))
    more = int(problem.rows.sum()) - 1
    like = f" ({more} more row{'s' if more > 1 else ''} like it.)" if more else ""
    columns = f"column{'s' if len(problem.columns) > 1 else ''} {', '.join(problem.columns)}"
    return f"{row_name(frame, row)}, {columns}: {problem.describe(row)}{like}"


def _read(factor: Factor, frame: pd.DataFrame) -> _Columns:
    return _Columns(factor, *read_numbers(frame, factor.columns), frame)


@np.errstate(over="ignore", invalid="ignore", divide="ignore")
def _check(columns: _Columns, project: bool) -> _CheckedColumns:
    """Project invalid rows if asked; then check all rows. Values stay the same array if valid."""
    factor, values, problems, frame = columns
    problems = list(problems)
    finite = np.flatnonzero(np.isfinite(values).all(axis=1))
    projected = 0
    if project and len(finite):
        invalid = finite[_are_invalid(factor, values[finite])]
        if len(invalid) == 0:
            return _CheckedColumns(factor, values, problems, projected)
        nearest = factor.kind.project(values[invalid])
        values = values.copy()
        values[invalid] = np.where(np.isfinite(nearest), nearest, values[invalid])
        projected = int((~_are_invalid(factor, values[invalid])).sum())
    for check in factor.kind.checks(values[finite]):
        problems.extend(_problems_of(check, factor, values, finite, frame))
    return _CheckedColumns(factor, values, problems, projected)


def _are_invalid(factor: Factor, values: np.ndarray) -> np.ndarray:
    """Whether each row fails a check."""
    each = [c.bad.reshape(len(values), -1).any(axis=1) for c in factor.kind.checks(values)]
    return np.any([np.zeros(len(values), bool), *each], axis=0)


def _problems_of(
    check: Check, factor: Factor, values: np.ndarray, finite: np.ndarray, frame: pd.DataFrame
) -> list[Problem]:
    """Convert a check of the finite rows to problems of the table's rows."""

    def of_all_rows(bad: np.ndarray) -> np.ndarray:
        rows = np.zeros(len(values), bool)
        rows[finite] = bad
        return rows

    if not check.bad.any():
        return []
    if check.bad.ndim == 1:
        rows = of_all_rows(check.bad)
        return [Problem(rows, factor.columns, lambda row: check.describe(values[row]))]

    def describe(row: int, i: int) -> str:
        return check.describe(exact_integer(frame, row, factor.columns[i], float(values[row, i])))

    return [
        Problem(of_all_rows(bad), (column,), lambda row, i=i: describe(row, i))
        for i, (column, bad) in enumerate(zip(factor.columns, check.bad.T, strict=True))
        if bad.any()
    ]


def _infer(
    frame: pd.DataFrame, columns: Sequence[_Columns], checked: Sequence[_CheckedColumns]
) -> tuple[Factor, ...]:
    kept = np.flatnonzero(~_invalid_rows(frame, checked, drop_invalid=True))
    return tuple(
        dataclasses.replace(factor, kind=factor.kind.infer_conventions(values[kept]))
        for factor, values, *_ in columns
    )


def _invalid_rows(
    frame: pd.DataFrame, parts: Sequence[_CheckedColumns], drop_invalid: bool
) -> np.ndarray:
    """Return which rows to drop; raise an error if none remain, or if none may be dropped."""
    if len(frame) == 0:
        raise TableError("The table has no rows, only column names. Add data.")
    problems = [problem for part in parts for problem in part.problems]
    if problems and not drop_invalid:
        raise _error(frame, problems)
    invalid = np.zeros(len(frame), bool)
    for problem in problems:
        invalid |= problem.rows
    if invalid.all():
        raise TableError(f"None of the {len(frame)} rows is valid. {_error(frame, problems)}")
    return invalid


def _error(frame: pd.DataFrame, problems: Sequence[Problem]) -> TableError:
    first = min(problems, key=lambda problem: int(np.argmax(problem.rows)))
    return TableError(describe_problem(frame, first))


def _encode(
    frame: pd.DataFrame, parts: Sequence[_CheckedColumns], drop_invalid: bool
) -> PreparedTable:
    invalid = _invalid_rows(frame, parts, drop_invalid)
    kept = np.flatnonzero(~invalid)
    points = np.concatenate([_encode_columns(frame, part, kept) for part in parts], axis=1)
    return PreparedTable(points, kept, [*_report_projected(parts), *_report_dropped(frame, parts)])


@np.errstate(over="ignore", invalid="ignore")
def _encode_columns(frame: pd.DataFrame, part: _CheckedColumns, kept: np.ndarray) -> np.ndarray:
    """Convert valid values to points; values whose arithmetic overflows are an error."""
    points = part.factor.kind.encode(part.values[kept])
    finite = np.isfinite(points).all(axis=1)
    if not finite.all():
        overflows = np.zeros(len(frame), bool)
        overflows[kept] = ~finite
        problem = Problem(overflows, part.factor.columns, lambda row: _describe_overflow(part, row))
        raise TableError(describe_problem(frame, problem))
    return points


def _describe_overflow(part: _CheckedColumns, row: int) -> str:
    shown = ", ".join(f"{value:.9g}" for value in part.values[row])
    return f"{shown} is too large for floating-point numbers. Correct it or drop the row."


def _report_projected(parts: Sequence[_CheckedColumns]) -> list[str]:
    return [
        f"Projected {part.projected} row{'s' if part.projected > 1 else ''} of "
        f"{', '.join(part.factor.columns)} onto valid values."
        for part in parts
        if part.projected
    ]


def _report_dropped(frame: pd.DataFrame, parts: Sequence[_CheckedColumns]) -> list[str]:
    problems = [problem for part in parts for problem in part.problems]
    if not problems:
        return []
    dropped = int(np.any([problem.rows for problem in problems], axis=0).sum())
    reasons = [f"{int(p.rows.sum())} × {describe_problem(frame, p)}" for p in problems]
    return [f"Dropped {dropped} of {len(frame)} rows.", *reasons]
