"""What in a table will harm a density estimate, in plain language, before anything is fitted."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Literal, NamedTuple

import numpy as np
import pandas as pd

from .clean import describe, troubles_of
from .columns import numbers
from .factor import Factor
from .grids import grid_step
from .names import tokens
from .schema import Schema

Severity = Literal["warning", "error"]


class Finding(NamedTuple):
    """One finding: which columns, what is there, and what it does to a density estimate."""

    severity: Severity
    columns: tuple[str, ...]
    message: str
    consequence: str

    def __str__(self) -> str:
        where = f"{', '.join(self.columns)}: " if self.columns else ""
        return f"{self.severity}: {where}{self.message}. {self.consequence}"


class _Part(NamedTuple):
    """A factor and its values in the rows where all of them are numbers."""

    factor: Factor
    values: np.ndarray


def audit(frame: pd.DataFrame, schema: Schema) -> list[Finding]:
    """Findings, the gravest first; none for clean data."""
    values = [numbers(frame, factor.columns).values for factor in schema.factors]
    finite = np.isfinite(np.concatenate(values, axis=1)).all(axis=1)
    parts = [_Part(f, v[finite]) for f, v in zip(schema.factors, values, strict=True)]
    found = [*_invalid(frame, schema), *_tiny(schema, int(finite.sum()))]
    if finite.sum() >= 2:
        for check in (
            _suspicious,
            _misnamed,
            _constant,
            _duplicates,
            _grids,
            _functions,
            _outliers,
        ):
            found.extend(check(parts))
    return sorted(found, key=lambda finding: ("error", "warning").index(finding.severity))


def _invalid(frame: pd.DataFrame, schema: Schema) -> Iterator[Finding]:
    for trouble in troubles_of(schema.factors, frame):
        bad = int(trouble.rows.sum())
        message = f"{bad} of {len(frame)} rows {'is' if bad == 1 else 'are'} invalid"
        yield Finding("error", trouble.columns, message, describe(frame, trouble))


def _tiny(schema: Schema, rows: int) -> Iterator[Finding]:
    dim = schema.manifold().dim
    wanted = max(50, 20 * dim)
    if rows < wanted:
        yield Finding(
            "warning",
            (),
            f"{rows} rows for {dim} dimensions is a small sample",
            f"A flexible density will follow single points; below about {wanted} rows prefer a "
            "simple one and judge it by held-out likelihood.",
        )


def _suspicious(parts: list[_Part]) -> Iterator[Finding]:
    for factor, values in parts:
        for message, consequence in factor.kind.suspicions(values):
            yield Finding("error", factor.columns, message, consequence)


def _misnamed(parts: list[_Part]) -> Iterator[Finding]:
    """Columns whose names say another role of the same kind than the one they are given."""
    for factor, _ in parts:
        for role, column in zip(factor.kind.roles, factor.columns, strict=False):
            others = [r for r in factor.kind.roles if r != role and _says(column, r)]
            if others and not _says(column, role):
                yield Finding(
                    "warning",
                    (column,),
                    f"by its name it is {others[0]}, but the schema says {role}",
                    "Exchanged columns put every point in the wrong place. Check the schema.",
                )


def _says(column: str, role: str) -> bool:
    return any(t == role or (len(role) > 2 and t.startswith(role)) for t in tokens(column))


def _constant(parts: list[_Part]) -> Iterator[Finding]:
    for factor, values in parts:
        for column, column_values in zip(factor.columns, values.T, strict=True):
            if np.ptp(column_values) == 0:
                yield Finding(
                    "warning" if not factor.kind.continuous else "error",
                    (column,),
                    f"every value is {column_values[0]:.9g}",
                    "A continuous density becomes infinitely high there. Leave the column out.",
                )


def _duplicates(parts: list[_Part]) -> Iterator[Finding]:
    """Rows that repeat, where some column is continuous, so that they should not."""
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
            "weights, or declare rounded columns as such.",
        )


def _grids(parts: list[_Part]) -> Iterator[Finding]:
    for factor, values in parts:
        if not factor.kind.continuous:
            continue
        for column, column_values in zip(factor.columns, values.T, strict=True):
            step = grid_step(column_values)
            if step is not None:
                distinct = len(np.unique(column_values))
                yield Finding(
                    "warning",
                    (column,),
                    f"all {len(column_values)} values are multiples of {step:g}, only {distinct} "
                    "of them distinct",
                    "A continuous density can grow spikes on the grid, and its likelihood is then "
                    f"without meaning. On a line, declare rounded(…, step={step:g}); for angles, "
                    "judge fits by samples rather than by likelihood, or add the rounding back.",
                )


def _functions(parts: list[_Part]) -> Iterator[Finding]:
    """Pairs of columns where one is nearly a smooth function of the other.

    In the order of a, neighbouring ranks of b differ by ½ mean(Δ²) / variance of what they would
    at random: von Neumann's ratio of the ranks, about 1 − R² of b given a.
    """
    columns = [
        (i, name, column[:MOST_ROWS])
        for i, (factor, values) in enumerate(parts)
        for name, column in zip(factor.columns, values.T, strict=True)
    ]
    for (i, first, a), (j, second, b) in itertools.combinations(columns, 2):
        if len(a) < 50 or (i == j and parts[i].factor.kind.bound):
            continue
        # Ranks of an exact function on two branches still differ by 2: a ratio of 24 / n².
        if min(_von_neumann(a, b), _von_neumann(b, a)) < 0.002 + 30 / len(a) ** 2:
            yield Finding(
                "error",
                (first, second),
                "one is almost exactly a function of the other",
                "The data lie on a curve, and a density per area grows without limit there. Leave "
                "one of the columns out.",
            )


MOST_ROWS = 20_000
"""Of how many rows functions are looked for: sorting every pair of columns takes time."""


def _von_neumann(a: np.ndarray, b: np.ndarray) -> float:
    if np.ptp(a) == 0 or np.ptp(b) == 0:
        return 1.0
    # Rows in random order first: ties in a must not inherit an order of the table.
    shuffled = np.random.default_rng(0).permutation(len(a))
    ranks = np.unique(b, return_inverse=True)[1].astype(float)
    ordered = ranks[shuffled][np.argsort(a[shuffled], kind="stable")]
    return float(np.mean(np.diff(ordered) ** 2) / (2 * np.var(ranks)))


def _outliers(parts: list[_Part]) -> Iterator[Finding]:
    """Values more than 10 robust standard deviations from the median."""
    for factor, values in parts:
        spread = factor.kind.spread(values)
        if spread is None:
            continue
        for column, shown, line in zip(factor.columns, values.T, spread.T, strict=True):
            away = _deviations(line[np.isfinite(line)])
            far = np.flatnonzero(away > 10)
            if len(far):
                worst = shown[np.isfinite(line)][np.argmax(away)]
                yield Finding(
                    "warning",
                    (column,),
                    f"{len(far)} of {len(line)} values are very far from the rest, up to "
                    f"{worst:.6g} (median {np.median(shown):.6g})",
                    "They stretch the scale on which the density is fitted and can dominate its "
                    "loss. Check them; if they are real and positive, declare positive(…).",
                )


def _deviations(line: np.ndarray) -> np.ndarray:
    """Distances from the median over 1.4826 × the median distance on the same side of it.

    Each side has its own scale, so that a skew such as that of magnitudes is no outlier.
    """
    centred = line - np.median(line)
    scales = [np.median(np.abs(side)) for side in (centred[centred <= 0], centred[centred >= 0])]
    scale = 1.4826 * np.where(centred > 0, scales[1], scales[0])
    return np.abs(centred) / np.where(scale > 0, scale, np.inf)
