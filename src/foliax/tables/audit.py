"""Find what in a table will harm a density estimate, before anything is fitted."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pandas as pd

from .column_names import split_name
from .columns import read_numbers
from .constant import find_constant_columns
from .correlated import find_correlated_columns
from .factor import Factor
from .finding import Finding
from .outliers import find_outliers
from .prepare import describe_problem, find_problems
from .rounding import find_step
from .schema import Schema

MIN_ROWS = 50
"""Rows below which any density is a rough guess."""
MIN_ROWS_PER_DIMENSION = 20
"""Rows for each dimension below which a flexible density overfits."""
MAX_COMPARED_ROWS = 20_000
"""Rows in which pairs of columns are compared: sorting every pair takes time."""
MIN_COMPARED_ROWS = 50
"""Rows below which columns are not compared: ranks of few rows prove nothing."""
MAX_COMPARED_COLUMNS = 200
"""Columns whose pairs are compared, so that it takes seconds, also for thousands of columns."""


class _FactorValues(NamedTuple):
    """A factor and its values in the rows that have a number in every column."""

    factor: Factor
    values: np.ndarray


def audit(frame: pd.DataFrame, schema: Schema, blocks: np.ndarray | None = None) -> list[Finding]:
    """Look for problems in a table.

    Args:
        frame: The table.
        schema: What its columns are.
        blocks: The number of each row's block, or None if rows count as independent.

    Returns:
        The findings, errors first; an empty list for clean data.
    """
    values = [read_numbers(frame, factor.columns).values for factor in schema.factors]
    finite = np.isfinite(np.concatenate(values, axis=1)).all(axis=1)
    parts = [_FactorValues(f, v[finite]) for f, v in zip(schema.factors, values, strict=True)]
    found = [*_find_invalid(frame, schema), *_find_small_sample(schema, int(finite.sum()))]
    if finite.sum() >= 2:
        for check in (
            _find_suspicions,
            _find_misnamed,
            _find_constant,
            _find_duplicates,
            _find_grids,
            _find_functions,
            _find_outliers,
        ):
            found.extend(check(parts))
        for correlated in find_correlated_columns(frame, schema.factors, values, blocks):
            found.append(Finding("warning", *correlated))
    return sorted(found, key=lambda finding: ("error", "warning").index(finding.severity))


def _find_invalid(frame: pd.DataFrame, schema: Schema) -> Iterator[Finding]:
    for problem in find_problems(schema.factors, frame):
        bad = int(problem.rows.sum())
        message = f"{bad} of {len(frame)} rows {'is' if bad == 1 else 'are'} invalid"
        yield Finding("error", problem.columns, message, describe_problem(frame, problem))


def _find_small_sample(schema: Schema, rows: int) -> Iterator[Finding]:
    dim = schema.manifold().dim
    enough = max(MIN_ROWS, MIN_ROWS_PER_DIMENSION * dim)
    if rows < enough:
        yield Finding(
            "warning",
            (),
            f"{rows} rows for {dim} dimensions is a small sample",
            f"A flexible density will follow single points; below about {enough} rows prefer a "
            "simple one and judge it by held-out likelihood.",
        )


def _find_suspicions(parts: list[_FactorValues]) -> Iterator[Finding]:
    for factor, values in parts:
        for message, consequence in factor.kind.suspicions(values):
            yield Finding("error", factor.columns, message, consequence)


def _find_misnamed(parts: list[_FactorValues]) -> Iterator[Finding]:
    """Find columns whose names stand for another role than the schema's."""
    for factor, _ in parts:
        for role, column in zip(factor.kind.roles, factor.columns, strict=False):
            others = [r for r in factor.kind.roles if r != role and _stands_for(column, r)]
            if others and not _stands_for(column, role):
                yield Finding(
                    "warning",
                    (column,),
                    f"by its name it is {others[0]}, but the schema says {role}",
                    "Exchanged columns put every point in the wrong place. Check the schema.",
                )


def _stands_for(column: str, role: str) -> bool:
    return any(t == role or (len(role) > 2 and t.startswith(role)) for t in split_name(column))


def _find_constant(parts: list[_FactorValues]) -> Iterator[Finding]:
    for factor, values in parts:
        for found in find_constant_columns(factor, values):
            yield Finding("error" if factor.kind.continuous else "warning", *found)


def _find_duplicates(parts: list[_FactorValues]) -> Iterator[Finding]:
    """Find repeated rows if some column is continuous, so that repetitions should be rare."""
    if not any(factor.kind.continuous for factor, _ in parts):
        return
    rows = pd.DataFrame(np.concatenate([values for _, values in parts], axis=1))
    repeats = int(rows.duplicated().sum())
    if repeats:
        share = repeats / len(rows)
        yield Finding(
            "error" if share > 0.05 else "warning",
            (),
            f"{repeats} of {len(rows)} rows repeat an earlier row exactly",
            "A continuous density rewards itself without limit for spikes on repeated rows, and "
            "copies on both sides of a split make held-out scores too good. Remove them, give them "
            "weights, or declare rounded columns as rounded.",
        )


def _find_grids(parts: list[_FactorValues]) -> Iterator[Finding]:
    for factor, values in parts:
        if not factor.kind.continuous:
            continue
        for column, column_values in zip(factor.columns, values.T, strict=True):
            step = find_step(column_values)
            if step is not None:
                distinct = len(np.unique(column_values))
                yield Finding(
                    "warning",
                    (column,),
                    f"all {len(column_values)} values are multiples of {step:g}, only {distinct} "
                    "of them distinct",
                    "A continuous density can grow spikes on the grid, which makes its likelihood "
                    f"meaningless. On a line, declare rounded(…, step={step:g}); for angles, "
                    "judge fits by samples rather than by likelihood, or add the rounding back.",
                )


def _find_functions(parts: list[_FactorValues]) -> Iterator[Finding]:
    """Find pairs of columns where one is nearly a smooth function of the other.

    The test is von Neumann's ratio of ranks, ½ mean(Δ²) / variance, where Δ are the differences of
    neighbouring ranks of b in the order of a. It is about 1 − R² of b given a.
    """
    columns = [
        (i, name, column[:MAX_COMPARED_ROWS])
        for i, (factor, values) in enumerate(parts)
        for name, column in zip(factor.columns, values.T, strict=True)
    ][:MAX_COMPARED_COLUMNS]
    rows = len(columns[0][2])
    if rows < MIN_COMPARED_ROWS:
        return
    varying = [(i, name, _rank(values)) for i, name, values in columns if np.ptp(values) > 0]
    for (i, first, a), (j, second, b) in itertools.combinations(varying, 2):
        if i == j and parts[i].factor.kind.constrained:
            continue
        # Ranks of an exact function on two branches still differ by 2: a ratio of 24 / n².
        if min(_von_neumann_ratio(a, b), _von_neumann_ratio(b, a)) < 0.002 + 30 / rows**2:
            yield Finding(
                "error",
                (first, second),
                "one is almost exactly a function of the other",
                "The data lie on a curve, and a density per area grows without limit there. Leave "
                "one of the columns out.",
            )


class _Ranks(NamedTuple):
    """The ranks of a column's values, the order that sorts them, and their variance."""

    ranks: np.ndarray
    order: np.ndarray
    variance: float


def _rank(values: np.ndarray) -> _Ranks:
    # Shuffle the rows first: ties must not inherit the order of the table.
    shuffled = np.random.default_rng(0).permutation(len(values))
    ranks = np.unique(values, return_inverse=True)[1].astype(float)[shuffled]
    return _Ranks(ranks, np.argsort(ranks, kind="stable"), float(np.var(ranks)))


def _von_neumann_ratio(a: _Ranks, b: _Ranks) -> float:
    return float(np.mean(np.diff(b.ranks[a.order]) ** 2) / (2 * b.variance))


def _find_outliers(parts: list[_FactorValues]) -> Iterator[Finding]:
    for factor, values in parts:
        yield from find_outliers(factor, values)
