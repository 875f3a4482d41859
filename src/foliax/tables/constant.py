"""Find columns with one value, at which a continuous density would be infinitely high."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd

from ..manifolds import AbstractManifold
from .columns import read_numbers
from .errors import TableError
from .factor import Factor

ROUNDING = 16 * np.finfo(float).eps
"""Relative distance below which points are equal: 0 and 360 degrees differ by 2.4e-16."""
FIRST_ROWS = 1000
"""Rows whose points are compared first, since those of most tables differ."""


class Constant(NamedTuple):
    """Columns that hold one value or one point.

    Attributes:
        columns: The columns.
        message: What was found.
        consequence: What it does to a density estimate, and what to do about it.
    """

    columns: tuple[str, ...]
    message: str
    consequence: str


def find_constant_columns(factor: Factor, values: np.ndarray) -> Iterator[Constant]:
    """Find columns of a factor that hold one value, or columns that together hold one point.

    Args:
        factor: The factor.
        values: Finite numbers in its columns, of shape (rows, width).

    Yields:
        What was found.
    """
    is_constant = np.ptp(values, axis=0) == 0
    for column, value in zip(
        np.array(factor.columns)[is_constant], values[0, is_constant], strict=True
    ):
        yield Constant((str(column),), f"every value is {value:.9g}", _consequence(factor))
    if factor.kind.continuous and not is_constant.any() and _is_one_point(factor, values):
        yield Constant(factor.columns, "all rows are the same point", _consequence(factor))


def check_columns_vary(factors: Sequence[Factor], frame: pd.DataFrame) -> None:
    """Refuse rows to which no continuous density can be fitted, since a column has one value.

    Args:
        factors: The factors.
        frame: Valid rows of the table. A single row is not checked.

    Raises:
        TableError: A continuous column has one value; the message names it.
    """
    if len(frame) < 2:
        return
    for factor in factors:
        if factor.kind.continuous:
            for found in find_constant_columns(factor, read_numbers(frame, factor.columns).values):
                what = "Columns" if len(found.columns) > 1 else "Column"
                columns = ", ".join(found.columns)
                raise TableError(f"{what} {columns}: {found.message}. {found.consequence}")


def _consequence(factor: Factor) -> str:
    if not factor.kind.continuous:
        return "It tells nothing about the rows. Leave the column out."
    what = "column" if factor.kind.width == 1 else "columns"
    return (
        f"A continuous density becomes infinitely high there. Leave the {what} out, or declare a "
        "constant number as rounded(…, step=…)."
    )


@np.errstate(over="ignore", invalid="ignore", divide="ignore")
def _is_one_point(factor: Factor, values: np.ndarray) -> bool:
    """Whether all points are equal although values differ, as longitudes at a pole do."""
    axis = 0 if _has_plain_coordinates(factor.kind.manifold()) else None
    for some in (values[:FIRST_ROWS], values):
        points = factor.kind.encode(some)
        if not (np.ptp(points, axis=0) <= ROUNDING * np.abs(points).max(axis)).all():
            return False
    return True


def _has_plain_coordinates(manifold: AbstractManifold) -> bool:
    """Whether each coordinate has a size of its own; those of embedded points and angles share one.

    Angles have more features than dimensions, since they are periodic.
    """
    features = jax.eval_shape(manifold.features, jnp.zeros(manifold.size))
    return manifold.size == manifold.dim == features.shape[0]
