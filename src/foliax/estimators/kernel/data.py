"""Weighted rows without duplicates."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from scipy.spatial import KDTree

from ...density.blocks import TooFewBlocksError
from ...manifolds.points import as_points
from ...manifolds.row_errors import RowNames
from ..base import FitError
from .space import Space

MAX_COUNTED_ROWS = 20_000
"""Rows of the subsample in which neighbours are counted: their search tree takes milliseconds."""
MAX_BLOCK_WEIGHT = 0.9
"""The largest share of a block: a tenth of the weight must be left when the block is left out."""
N_COUNTING_ROWS = 300
"""Rows whose neighbours are counted: the mean count is then known to a few per cent."""


class DistinctRows(NamedTuple):
    """Distinct rows, their weights, and the group with which each is left out."""

    rows: np.ndarray
    weights: np.ndarray
    groups: np.ndarray
    leave_out_copies: bool
    """Whether leaving out a row leaves out its copies too.

    Otherwise copies would drive a continuous likelihood to infinity. The likelihood of counted and
    rounded values is bounded, so there only one copy is left out.
    """
    in_blocks: bool = False
    """Whether the groups are blocks of rows, which are left out as a whole."""
    names: RowNames | None = None
    """How errors name the rows, each by its first copy; None for their positions."""

    @staticmethod
    def from_rows(
        space: Space, rows: Any, weights: Any, blocks: Any = None, names: RowNames | None = None
    ) -> DistinctRows:
        """Merge copies of rows.

        Args:
            space: The manifold and its kernel families.
            rows: Points of the manifold.
            weights: A non-negative weight for each row, or None for equal weights.
            blocks: The label of each row's block, or None for independent rows. A row with copies
                in several blocks belongs to the first of them. Copies of counted and rounded values
                stay in their own blocks.
            names: How errors name the rows; None for their positions.

        Returns:
            The distinct rows of positive weight.

        Raises:
            ValueError: The weights are not valid.
            FitError: Fewer than two distinct rows are left, or almost all are in one block.
        """
        rows = np.asarray(jnp.asarray(as_points(space.manifold, rows)))
        weights = np.ones(len(rows)) if weights is None else np.asarray(weights, float)
        if weights.shape != (len(rows),) or not (weights >= 0).all() or not weights.sum() > 0:
            raise ValueError(
                f"Weights must be {len(rows)} non-negative numbers that are not all zero."
            )
        leave_out_copies = not space.rounded_mask().all()
        used = weights > 0
        names = (names or RowNames(np.arange(len(rows)))).take(used)
        rows, weights = rows[used], weights[used]
        if blocks is not None:
            blocks = np.asarray(blocks)[used]
            return _merge_within_blocks(rows, weights, blocks, leave_out_copies, names)
        distinct, first, which = np.unique(rows, axis=0, return_index=True, return_inverse=True)
        total = np.bincount(which.reshape(-1), weights)
        if len(distinct) < 2 and leave_out_copies:
            raise FitError(
                f"A kernel estimate needs at least 2 distinct rows of {space.manifold}; "
                f"there is {len(distinct)}."
            )
        groups = np.arange(len(distinct))
        return DistinctRows(distinct, total, groups, leave_out_copies, names=names.take(first))

    def take(self, chosen: np.ndarray) -> DistinctRows:
        """Take some of the rows, by their numbers."""
        names = None if self.names is None else self.names.take(chosen)
        rows, weights, groups = (part[chosen] for part in self[:3])
        return self._replace(rows=rows, weights=weights, groups=groups, names=names)


class OneBlockError(FitError, TooFewBlocksError):
    """All rows to fit are of one block."""


def _merge_within_blocks(
    rows: np.ndarray,
    weights: np.ndarray,
    blocks: np.ndarray,
    leave_out_copies: bool,
    names: RowNames,
) -> DistinctRows:
    """Merge copies, and group the distinct rows by their blocks."""
    columns = rows if leave_out_copies else np.concatenate([rows, blocks[:, None]], axis=1)
    _, first, which = np.unique(columns, axis=0, return_index=True, return_inverse=True)
    total = np.bincount(which.reshape(-1), weights)
    each = np.bincount(np.unique(blocks[first], return_inverse=True)[1], total)
    share = each.max() / total.sum()
    if len(each) == 1:
        raise OneBlockError(
            "A kernel estimate leaves out each block in turn, and all rows to fit are of one "
            "block. Use more blocks."
        )
    if share > MAX_BLOCK_WEIGHT:
        raise FitError(
            f"A kernel estimate leaves out each block in turn, and one of {len(each)} blocks holds "
            f"{share:.0%} of the weight of all distinct rows. Use more blocks of similar sizes."
        )
    return DistinctRows(
        rows[first],
        total,
        blocks[first],
        leave_out_copies,
        in_blocks=True,
        names=names.take(first),
    )


def merge_nearby_rows(
    space: Space, data: DistinctRows, relative: np.ndarray, side: float
) -> DistinctRows:
    """Replace the rows in each cube by the first of them, with the weight of all.

    Args:
        space: The manifold and its kernel families.
        data: The rows.
        relative: The relative bandwidths.
        side: The side of the cubes, in scaled embedded coordinates.

    Returns:
        One row for each cube that holds any.
    """
    embedded = space.scaled_embedding(data.rows, relative, cells=True)
    cubes = np.floor(embedded / side).astype(np.int64).view(np.uint64)
    # One hash for each cube. Two of a million cubes collide with probability 1 in 30 million.
    factors = np.random.default_rng(0).integers(0, 2**64, cubes.shape[1], np.uint64) | 1
    hashes = ((cubes * factors) ^ (cubes * factors >> np.uint64(29))).sum(1, dtype=np.uint64)
    _, first, which = np.unique(hashes, return_index=True, return_inverse=True)
    return data.take(first)._replace(weights=np.bincount(which, data.weights))


def fraction_within(space: Space, data: DistinctRows, relative: np.ndarray, radius: float) -> float:
    """Estimate the mean fraction of the rows that lie within a radius of a row.

    Args:
        space: The manifold and its kernel families.
        data: The rows.
        relative: The relative bandwidths.
        radius: The radius, in scaled embedded coordinates.

    Returns:
        The fraction, from a subsample of the rows.
    """
    some = np.random.default_rng(0).permutation(len(data.rows))[:MAX_COUNTED_ROWS]
    points = space.scaled_embedding(data.rows[some], relative).astype(float)
    if not points.size:
        return 1.0
    # Choose rows by weight, since a merged row stands for several.
    chosen = np.random.default_rng(1).choice(
        len(some), N_COUNTING_ROWS, p=data.weights[some] / data.weights[some].sum()
    )
    near = KDTree(points).query_ball_point(points[chosen], radius, return_length=True)
    return float(np.mean(near)) / len(some)
