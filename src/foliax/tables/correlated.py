"""Rows that depend on each other: blocks that a column labels, and a test of the rows' order."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from ..manifolds.consecutive import consecutive_blocks
from ..manifolds.serial import Part, SerialCorrelation, serial_correlations
from .errors import TableError, shorten
from .factor import Factor
from .prepare import find_problems
from .row_names import row_name


class CorrelatedColumns(NamedTuple):
    """Columns whose consecutive rows are much alike: what was found, and what to do."""

    columns: tuple[str, ...]
    message: str
    consequence: str


def find_correlated_columns(
    frame: pd.DataFrame,
    factors: Sequence[Factor],
    values: Sequence[np.ndarray],
    blocks: np.ndarray | None = None,
) -> Iterator[CorrelatedColumns]:
    """Find factors whose consecutive rows are far nearer to each other than random rows.

    Args:
        frame: The table.
        factors: What its columns are.
        values: The numbers of each factor's columns. Invalid rows are left out.
        blocks: The number of each row's block, or None. With blocks, only blocks that are too short
            are findings.
    """
    valid = np.ones(len(frame), bool)
    for problem in find_problems(factors, frame):
        valid &= ~problem.rows
    parts = [
        Part(factor.kind.manifold(), factor.kind.encode(own[valid]), own[valid])
        for factor, own in zip(factors, values, strict=True)
    ]
    for factor, found in zip(factors, serial_correlations(parts), strict=True):
        if found is None:
            continue
        if blocks is None:
            yield CorrelatedColumns(factor.columns, *_describe(found))
        elif (rows := _rows_in_run(blocks[valid])) < found.length:
            yield CorrelatedColumns(
                factor.columns,
                f"blocks have about {rows} consecutive rows, but rows stay near each other for "
                f"about {found.length}",
                "Held-out blocks then resemble their neighbours, and scores are too good. Use "
                f"fewer blocks, such as --blocks {found.blocks}.",
            )


def _describe(found: SerialCorrelation) -> tuple[str, str]:
    which = "consecutive rows are"
    if found.lag > 1:
        which = f"rows alternate between {found.lag} series, and rows {found.lag} apart are"
    return (
        f"{which} far nearer to each other than random rows: their median distance is "
        f"{100 * found.ratio:.2g} % of that of random pairs",
        "The rows depend on each other, as in a time series. Random held-out rows then have close "
        "neighbours among the fitted rows, and every score is too good. Use --blocks with the "
        f"column that labels independent parts, or --blocks {found.blocks} for consecutive parts; "
        "in Python, pass blocks. If the order of the rows has no meaning, use --blocks 0.",
    )


def _rows_in_run(blocks: np.ndarray) -> int:
    """The median number of consecutive rows of one block; all rows if every row is a block."""
    ends = np.flatnonzero(np.append(np.diff(blocks) != 0, True))
    runs = np.diff(ends, prepend=-1)
    return len(blocks) if len(runs) == len(blocks) else int(np.median(runs))


def _check_labels(frame: pd.DataFrame, column: str) -> None:
    """Raise `TableError` for a label that is a list or a map, as Parquet has them."""
    if frame[column].dtype != object:
        return
    for row, label in enumerate(frame[column]):
        if not isinstance(label, Hashable):
            raise TableError(
                f"{row_name(frame, row)}, column {column}: the label of the block is "
                f"{shorten(repr(label), 60)}. It must be one number, time or text."
            )


def read_blocks(frame: pd.DataFrame, text: str) -> np.ndarray:
    """Read the blocks of rows from a column, or divide the rows into consecutive parts.

    Args:
        frame: The rows.
        text: The name of a column that labels blocks, or else the number of consecutive parts. 0
            makes every row a block of its own.

    Returns:
        The number of each row's block.

    Raises:
        TableError: There is no such column, a label is missing, or the labels make no blocks.
    """
    n = len(frame)
    if text not in frame.columns:
        if not text.isdecimal():
            known = ", ".join(str(name) for name in frame.columns)
            raise TableError(
                f"The table has no column '{text}' for blocks. It has: {known}. Name one of them, "
                "or pass a number of consecutive parts."
            )
        try:
            return consecutive_blocks(n, int(text))
        except ValueError as error:
            raise TableError(str(error)) from error
    missing = frame[text].isna().to_numpy()
    if missing.any():
        raise TableError(
            f"{row_name(frame, int(np.argmax(missing)))}, column {text}: the label of the block is "
            "missing. Fill it in, or remove the row."
        )
    _check_labels(frame, text)
    numbers, labels = pd.factorize(frame[text])
    if not 2 <= len(labels) < n:
        each = "the same value in all rows" if len(labels) < 2 else "another value in every row"
        raise TableError(
            f"Column {text} has {each}, so that it labels no blocks. Name another column, or pass "
            "a number of consecutive parts, such as --blocks 20."
        )
    return numbers
