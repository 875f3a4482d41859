"""Weights of rows from a column of a table."""

from __future__ import annotations

import numpy as np
import pandas as pd

from .columns import Problem, get_column, read_numbers
from .errors import TableError
from .prepare import describe_problem
from .row_names import row_name

MIN_OTHERS_SHARE = float(np.finfo(np.float32).eps)
"""Share of the largest weight below which the sum of all others is lost in single precision."""

WEIGHT_RANGE = (1e-30, 1e30)
"""Largest weights that single precision can hold, with room for sums over the rows."""


def read_weights(frame: pd.DataFrame, column: str, kept: np.ndarray) -> np.ndarray:
    """Read the weights of rows.

    Args:
        frame: The table, as it was read.
        column: The column with the weights.
        kept: Positions of the rows whose weights are needed.

    Returns:
        A non-negative weight for each of these rows. Weights that single precision cannot hold are
        scaled to a mean of 1.

    Raises:
        TableError: There is no such column, or a weight is invalid, or one outweighs all others;
            the message names the row of the file.
    """
    try:
        get_column(frame, column)
    except TableError as error:
        raise TableError(f"The weights: {error}") from None
    numbers = read_numbers(frame, [column])
    weights = numbers.values[kept, 0]
    invalid = np.zeros(len(frame), bool)
    invalid[kept] = ~(np.isfinite(weights) & (weights >= 0))
    if invalid.any():
        problem = Problem(invalid, (column,), lambda row: _describe(frame, column, row))
        raise TableError(describe_problem(frame, problem))
    largest = weights.max()
    if largest == 0:
        raise TableError(f"Column {column}: all weights are 0. Correct them.")
    scaled = weights / largest
    others = scaled.sum() - 1
    if others < MIN_OTHERS_SHARE and (scaled > 0).sum() > 1:
        row = row_name(frame, int(kept[np.argmax(weights)]))
        raise TableError(
            f"{row}, column {column}: the weight {largest:.9g} is so large that all other rows "
            "count nothing beside it. Correct it."
        )
    low, high = WEIGHT_RANGE
    return weights if low <= largest <= high else scaled / scaled.mean()


def _describe(frame: pd.DataFrame, column: str, row: int) -> str:
    value = get_column(frame, column).iloc[row]
    what = "is missing" if value is None or value is pd.NA or value != value else f"is '{value}'"
    return f"the weight {what}, but weights must be finite and non-negative. Correct it."
