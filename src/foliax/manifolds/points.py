"""Checks that rows are points of a manifold."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from .base import AbstractManifold
from .row_errors import name_by_number


class OffManifoldError(ValueError):
    """Rows that are not points of the manifold.

    Args:
        reason: What is wrong and how to fix it. If there is a row, it follows the row's name.
        row: Number of the first such row, from 0; None if the whole array is wrong.
        name: The row as the user counts it; by default its number.
    """

    def __init__(self, reason: str, row: int | None = None, name: str | None = None):
        named = "" if row is None else name or name_by_number(row)
        super().__init__(named + reason)
        self.reason, self.row = reason, row


def check_points(manifold: AbstractManifold, rows: np.ndarray, *, tol: float = 1e-4) -> None:
    """Check that all rows are points of the manifold.

    Args:
        manifold: Where the rows must lie.
        rows: An array of shape (n, size).
        tol: Largest violation to accept; the default allows for values rounded to float32.

    Raises:
        OffManifoldError: A row is invalid. The message names the first one, what is wrong with
            it and how to fix it.
    """
    rows = np.asarray(rows)
    if rows.ndim != 2 or rows.shape[1] != manifold.size:
        raise OffManifoldError(
            f"Points of {manifold} are rows of {manifold.size} numbers; got shape {rows.shape}."
        )
    finite = np.isfinite(rows)
    if not finite.all():
        row, column = np.argwhere(~finite)[0]
        raise OffManifoldError(
            f", column {column}: value is {rows[row, column]}. Drop or fill missing values first.",
            int(row),
        )
    if len(rows) == 0:
        return
    # In float64, so that large offsets and fine steps are not violations.
    with jax.enable_x64(True):
        bad = np.asarray(_violations(manifold, jnp.asarray(rows))) > tol
    _refuse(manifold, rows, bad)


def check_points_on_device(manifold: AbstractManifold, rows: np.ndarray, *, tol: float = 1e-4):
    """Raise `OffManifoldError` where rows are no points in the precision that models compute in."""
    with np.errstate(over="ignore"):
        on_device = jnp.asarray(rows)
    overflows = ~np.isfinite(np.asarray(on_device)).all(axis=1)
    if overflows.any():
        row = int(np.argmax(overflows))
        raise OffManifoldError(
            f": {rows[row]} is too large for {on_device.dtype}. Drop or rescale it.", row
        )
    bad = np.asarray(_violations(manifold, on_device)) > tol
    _refuse(manifold, rows, bad)


def _refuse(manifold: AbstractManifold, rows: np.ndarray, bad: np.ndarray) -> None:
    if bad.any():
        row = int(np.argmax(bad))
        raise OffManifoldError(
            f" ({bad.sum()} of {len(rows)} rows like it): {manifold.describe_violation(rows[row])}",
            row,
        )


def as_points(manifold: AbstractManifold, rows: Any) -> np.ndarray:
    """Convert rows, also lists and integers, to an array of floats and check them."""
    rows = np.asarray(rows)
    if not np.issubdtype(rows.dtype, np.floating):
        rows = rows.astype(float)
    check_points(manifold, rows)
    return rows


@eqx.filter_jit
def _violations(manifold: AbstractManifold, rows: Float[Array, "n size"]) -> Float[Array, " n"]:
    return jax.vmap(manifold.violation)(rows)
