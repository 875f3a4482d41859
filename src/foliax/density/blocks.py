"""Blocks of rows that depend on each other: a split never separates the rows of a block."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
from jaxtyping import Int, PRNGKeyArray

from ..manifolds.consecutive import consecutive_blocks

MIN_HELD_OUT_BLOCKS = 3
"""Blocks to hold out, if there are three times as many: one block alone may be unlike the rest."""
MAX_BLOCK_FRACTION = 0.5
"""Fraction of the rows above which a block is never held out: too few would be left to fit."""


class TooFewBlocksError(ValueError):
    """All rows that are left to fit are of one block, where at least two are needed."""


def as_blocks(blocks: Any, n: int) -> Int[np.ndarray, " n"]:
    """Check the blocks of n rows and number their labels.

    Args:
        blocks: One label for each row, or a number N for N consecutive parts. 0 makes every row a
            block of its own, which declares the rows independent.
        n: The number of rows.

    Returns:
        The number of each row's block, counted from 0.

    Raises:
        ValueError: The labels do not fit the rows, or there are fewer than two blocks.
    """
    if np.ndim(blocks) == 0:
        return consecutive_blocks(n, blocks)
    labels = np.asarray(blocks)
    if labels.shape != (n,):
        raise ValueError(f"There are {n} rows and block labels of shape {labels.shape}.")
    distinct, numbers = np.unique(labels, return_inverse=True)
    if len(distinct) < 2:
        raise ValueError(
            "All rows have the same block label, but a split needs at least 2 blocks. Use other "
            "labels, or a number of consecutive parts."
        )
    return numbers.reshape(-1).astype(np.int64)


def split_blocks(
    blocks: Int[np.ndarray, " n"], fraction: float, key: PRNGKeyArray, max_held_out: int | None
) -> tuple[np.ndarray, np.ndarray]:
    """Choose whole blocks to hold out.

    Random blocks are held out until they contain enough rows. At least `MIN_HELD_OUT_BLOCKS` are,
    but no more than a third of the blocks for that reason.

    Args:
        blocks: The label of each row's block.
        fraction: The share of the rows to hold out.
        key: Chooses the blocks, and the order of the rows.
        max_held_out: Return no more held-out rows than this. Other rows of held-out blocks belong
            to neither part.

    Returns:
        The numbers of the rows to fit and of those to hold out, both in random order.

    Raises:
        TooFewBlocksError: There are fewer than two blocks.
    """
    n = len(blocks)
    labels, block, sizes = np.unique(blocks, return_inverse=True, return_counts=True)
    if len(labels) < 2:
        raise TooFewBlocksError(
            f"The {n} rows belong to one block, so that none can be held out. Use more blocks."
        )
    key, row_key = jax.random.split(key)
    order = np.asarray(jax.random.permutation(key, len(labels)))
    order = order[sizes[order] <= MAX_BLOCK_FRACTION * n]
    wanted = max(1, min(max_held_out or n, round(fraction * n)))
    enough = 1 + int(np.searchsorted(np.cumsum(sizes[order]), wanted))
    count = max(enough, min(MIN_HELD_OUT_BLOCKS, len(labels) // 3))
    held = np.isin(block.reshape(-1), order[: min(count, len(order), len(labels) - 1)])
    rows = np.asarray(jax.random.permutation(row_key, n))
    return rows[~held[rows]], rows[held[rows]][:max_held_out]


def describe_split(
    blocks: Int[np.ndarray, " n"], held_out: Int[np.ndarray, " h"], fraction: float
) -> str:
    """Say how many blocks are held out if that makes the share far from what was asked.

    Args:
        blocks: The label of each row's block.
        held_out: The numbers of the rows that are held out.
        fraction: The share that was asked.

    Returns:
        A sentence; "" if the share is between half and one and a half of `fraction`.
    """
    share = len(held_out) / len(blocks)
    if abs(share - fraction) <= fraction / 2:
        return ""
    count, held = len(np.unique(blocks)), len(np.unique(blocks[held_out]))
    return (
        f"{held} of {count} blocks {'is' if held == 1 else 'are'} held out, {share:.0%} of the "
        f"rows instead of {fraction:.0%}, because no split separates a block. More and smaller "
        "blocks come closer."
    )


def describe_lack_of_blocks(blocks: Int[np.ndarray, " n"], held_out: Int[np.ndarray, " h"]) -> str:
    """Say that one block is left to fit because the others are held out; "" if more are left."""
    count, held = len(np.unique(blocks)), len(np.unique(blocks[held_out]))
    if count - held > 1:
        return ""
    return (
        f"The rows have {count} blocks, and {held} of them {'is' if held == 1 else 'are'} held "
        f"out, so that {count - held} is left to fit. The model needs at least 2."
    )


def assign_folds(
    blocks: Int[np.ndarray, " n"], folds: int, *, key: PRNGKeyArray | None = None
) -> Int[np.ndarray, " n"]:
    """Assign whole blocks to folds of similar numbers of rows.

    Args:
        blocks: The label of each row's block.
        folds: The number of folds; with fewer blocks, each block is a fold.
        key: Chooses the order of blocks of the same size; by default that of their labels.

    Returns:
        The number of each row's fold.
    """
    _, block, sizes = np.unique(blocks, return_inverse=True, return_counts=True)
    rows_in_fold = np.zeros(min(folds, len(sizes)), int)
    fold = np.zeros(len(sizes), int)
    order = np.arange(len(sizes))
    if key is not None:
        order = np.asarray(jax.random.permutation(key, len(sizes)))
    for number in order[np.argsort(-sizes[order], kind="stable")]:
        fold[number] = np.argmin(rows_in_fold)
        rows_in_fold[fold[number]] += sizes[number]
    return fold[block.reshape(-1)]
