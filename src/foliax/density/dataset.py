"""Rows of a manifold with their weights and conditions: what every estimator is fitted to."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from ..manifolds import AbstractManifold
from ..manifolds.points import as_points
from ..manifolds.row_errors import RowNames
from .blocks import as_blocks, split_blocks

Sampler = Callable[[PRNGKeyArray, int], Float[Array, "n size"]]
"""Draws n fresh rows by a key."""


@dataclasses.dataclass(frozen=True, eq=False)
class Dataset:
    """Rows of a manifold, checked once.

    Args:
        rows: An (n, size) array of points, or a sampler (key, n) -> rows that draws fresh ones.
        manifold: Where the points lie.
        weights: One non-negative number for each row; by default all rows count the same.
        condition: An (n, c) array of features that the density is conditional on.
        blocks: A label for each row, or a number N for N consecutive parts. Rows of one block
            depend on each other, so that no split separates them. By default rows are independent.
        row_names: How errors name the rows; by default "Row 0", "Row 1", …. Splits keep the names.

    Raises:
        OffManifoldError: A row is no point of the manifold.
        ValueError: Weights, condition or blocks do not fit the rows.
    """

    rows: Any
    manifold: AbstractManifold
    weights: Any = None
    condition: Any = None
    blocks: Any = None
    row_names: RowNames | None = None

    def __post_init__(self):
        if self.is_sampler:
            if any(part is not None for part in (self.weights, self.condition, self.blocks)):
                raise ValueError(
                    "A sampler's draws have no weights, condition or blocks: pass them only with "
                    "rows."
                )
            return
        rows = as_points(self.manifold, self.rows)
        object.__setattr__(self, "rows", rows)
        if self.weights is not None:
            object.__setattr__(self, "weights", _checked_weights(self.weights, len(rows)))
        if self.condition is not None:
            object.__setattr__(self, "condition", _checked_condition(self.condition, len(rows)))
        if self.blocks is not None:
            object.__setattr__(self, "blocks", as_blocks(self.blocks, len(rows)))

    @property
    def is_sampler(self) -> bool:
        """Whether rows are drawn afresh instead of stored."""
        return callable(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def replace(self, **changes: Any) -> Dataset:
        """A copy with other fields, which are not checked again."""
        copy = object.__new__(Dataset)
        for field in dataclasses.fields(self):
            value = changes.get(field.name, getattr(self, field.name))
            object.__setattr__(copy, field.name, value)
        return copy

    def take(self, chosen: np.ndarray) -> Dataset:
        """Some of the rows, by number."""
        parts = {name: getattr(self, name) for name in ("rows", "weights", "condition", "blocks")}
        some = {k: None if v is None else v[chosen] for k, v in parts.items()}
        return self.replace(**some, row_names=self.names.take(chosen))

    @property
    def names(self) -> RowNames:
        """How errors name the rows."""
        return self.row_names or RowNames(np.arange(len(self)))

    def split(
        self, fraction: float, *, key: PRNGKeyArray, max_held_out: int | None = None
    ) -> tuple[Dataset, Dataset]:
        """Split at random into rows to fit and rows to hold out, by whole blocks if there are any.

        Args:
            fraction: The share of the rows to hold out.
            key: Chooses them.
            max_held_out: Hold out no more rows than this.

        Returns:
            The rows to fit, and those held out.

        Raises:
            ValueError: Nothing would be left to fit.
        """
        kept, held_out = split_numbers(len(self), fraction, key, max_held_out, self.blocks)
        return self.take(kept), self.take(held_out)


def split_numbers(
    n: int,
    fraction: float,
    key: PRNGKeyArray,
    max_held_out: int | None = None,
    blocks: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Split the numbers 0 … n − 1 at random into those to fit and those to hold out.

    Args:
        n: The number of rows.
        fraction: The share of the rows to hold out.
        key: Chooses them.
        max_held_out: Hold out no more rows than this.
        blocks: The label of each row's block, for a split by whole blocks.

    Returns:
        (rows to fit, rows to hold out), both in random order.

    Raises:
        ValueError: Nothing would be left to fit.
    """
    if blocks is not None:
        return split_blocks(blocks, fraction, key, max_held_out)
    held_out = max(1, min(max_held_out or n, round(fraction * n)))
    if n - held_out < 1:
        raise ValueError(f"{n} rows are too few to hold out {fraction:.0%} of them.")
    order = np.asarray(jax.random.permutation(key, n))
    return order[held_out:], order[:held_out]


def _checked_weights(weights: Any, n: int) -> np.ndarray:
    weights = np.asarray(weights, float)
    if weights.shape != (n,):
        raise ValueError(f"There are {n} rows and weights of shape {weights.shape}.")
    if not (np.isfinite(weights) & (weights >= 0)).all() or not weights.sum() > 0:
        raise ValueError("Weights must be finite, non-negative and not all zero.")
    return weights


def _checked_condition(condition: Any, n: int) -> np.ndarray:
    condition = np.asarray(condition, float)
    if condition.ndim != 2 or len(condition) != n:
        raise ValueError(
            f"There are {n} rows and a condition of shape {condition.shape}: it needs one row of "
            "features for each."
        )
    if not np.isfinite(condition).all():
        row = int(np.argmin(np.isfinite(condition).all(axis=1)))
        raise ValueError(f"Row {row} of the condition is not finite: {condition[row]}.")
    return condition
