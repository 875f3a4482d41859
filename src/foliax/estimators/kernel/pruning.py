"""Evaluate kernels at many rows, without kernels that are too far away to matter."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from ...density.batches import pad_to_power_of_two
from .base import AbstractKernels

MIN_PRUNING_WORK = 1_000_000_000
"""Rows times kernels times components, about a second's work, above which pruning pays.

Pruning compiles programs of several sizes, which takes about as long.
"""
MIN_PRUNED_KERNELS = 256
"""Kernels up to which pruning does not pay, for any number of rows."""
MAX_BANDWIDTH_RATIO = 3.0
"""The largest ratio of bandwidths among components that are looked up together."""
BASE_DEPTH_NATS = 30.0
"""Nats below its peak at which a kernel is negligible, besides one nat for each dimension."""


@eqx.filter_jit
def evaluate(kernels: AbstractKernels, rows, groups) -> Float[Array, "n k"]:
    """Evaluate every component at many rows, each row without the group named for it."""
    arrays = jax.tree.leaves(eqx.filter(kernels, eqx.is_array))
    size = max((len(a) for a in arrays if a.ndim), default=1)
    at_once = min(len(rows), max(1, 200_000 // size))
    return jax.lax.map(
        lambda pair: kernels.log_components(pair[0], exclude=pair[1]),
        (rows, groups),
        batch_size=at_once,
    )


def evaluate_pruned(
    kernels: AbstractKernels,
    rows: np.ndarray,
    groups: np.ndarray | None = None,
    *,
    depths: Float[np.ndarray, " k"] | None = None,
) -> Float[np.ndarray, "n k"]:
    """Evaluate every component at many rows, without kernels that are negligible there.

    Rows are evaluated in blocks of neighbours. Each block uses the kernels whose cutoff radius
    meets it.

    Args:
        kernels: The components.
        rows: The rows.
        groups: For each row, the group of kernels to leave out. By default none is left out.
        depths: For each component, how many nats below its peak a kernel is negligible. By default
            `BASE_DEPTH_NATS` and one for each dimension, since mass lies deeper in more dimensions.

    Returns:
        The log density of each row under each component; −inf where all kernels are negligible.
    """
    groups = np.full(len(rows), -1) if groups is None else np.asarray(groups)
    if kernels.n_rows <= MIN_PRUNED_KERNELS or not kernels.centres.size:
        return _evaluate_all(kernels, rows, groups)
    # On the host, where taking some of the rows needs no compiled program for every size.
    kernels = jax.tree.map(lambda a: np.asarray(a) if eqx.is_array(a) else a, kernels)
    if len(rows) * kernels.n_rows * kernels.n_components < MIN_PRUNING_WORK:
        everything = pad_to_power_of_two(np.arange(kernels.n_rows))
        whole = kernels.subset(everything, np.arange(len(everything)) < kernels.n_rows)
        return _evaluate_all(whole, rows, groups)
    if depths is None:
        depths = np.full(kernels.n_components, BASE_DEPTH_NATS + kernels.centres.shape[1])
    return _evaluate_in_blocks(kernels, rows, groups, np.maximum(depths, 1.0))


def _evaluate_in_blocks(
    kernels: AbstractKernels, rows: np.ndarray, groups: np.ndarray, depths: np.ndarray
) -> np.ndarray:
    """Evaluate blocks of neighbouring rows, each with the kernels that reach it."""
    centres = BlockIndex.build(kernels.centres)
    found = np.full((len(rows), kernels.n_components), -np.inf)
    queries = kernels.scaled_embedding(rows)
    blocks = list(split_into_blocks(queries, min(1024, max(256, len(rows) // 1024))))

    def fill(block: np.ndarray, use: np.ndarray, part: AbstractKernels, radii: np.ndarray):
        chosen = centres.within_radii(radii, queries[block])
        if len(chosen):
            found[np.ix_(block, use)] = _evaluate_some(part, chosen, rows[block], groups[block])

    with ThreadPoolExecutor(available_cores()) as pool:
        for mask in group_by_bandwidth(kernels.bandwidths):
            part = kernels.select(mask)
            radii = part.cutoff_radii(depths[mask])
            numbers = np.flatnonzero(mask)
            list(pool.map(lambda b, n=numbers, p=part, r=radii: fill(b, n, p, r), blocks))
    return found


def evaluate_parts(
    parts: Sequence[AbstractKernels], rows: np.ndarray, groups: np.ndarray | None = None
) -> Float[np.ndarray, "n k"]:
    """Evaluate the components of all parts, side by side.

    Rows outside every kernel's cutoff radius use all kernels.

    Args:
        parts: Lists of kernels.
        rows: The rows.
        groups: For each row, the group of kernels to leave out. By default none is left out.

    Returns:
        The log density of each row under each component.
    """
    groups = np.full(len(rows), -1) if groups is None else np.asarray(groups)
    found = np.concatenate([evaluate_pruned(part, rows, groups) for part in parts], axis=1)
    outside = np.flatnonzero(~np.isfinite(found).any(1))
    if len(outside):
        each = [_evaluate_all(part, rows[outside], groups[outside]) for part in parts]
        found[outside] = np.concatenate(each, axis=1)
    return found


def available_cores() -> int:
    """Count the cores that the process may use, where the system tells; otherwise all cores."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _evaluate_all(kernels: AbstractKernels, rows: np.ndarray, groups: np.ndarray) -> np.ndarray:
    values = evaluate(kernels, jnp.asarray(rows), jnp.asarray(groups, jnp.int32))
    return np.asarray(values, float)


def _evaluate_some(
    kernels: AbstractKernels, chosen: np.ndarray, rows: np.ndarray, groups: np.ndarray
) -> np.ndarray:
    m, count = len(rows), len(chosen)
    chosen = pad_to_power_of_two(chosen)
    if len(chosen) >= kernels.n_rows:
        return _evaluate_all(kernels, pad_to_power_of_two(rows), pad_to_power_of_two(groups))[:m]
    some = kernels.subset(chosen, np.arange(len(chosen)) < count)
    return _evaluate_all(some, pad_to_power_of_two(rows), pad_to_power_of_two(groups))[:m]


def split_into_blocks(
    points: Float[np.ndarray, "n e"], size: int
) -> Iterator[Int[np.ndarray, " _"]]:
    """Split points into blocks of neighbours by halving along the widest side.

    Args:
        points: The points.
        size: The largest number of points in a block.

    Yields:
        The numbers of the points of each block.
    """
    # Contiguous columns, kept in the order of the blocks, are fast to scan.
    waiting = [(np.arange(len(points)), np.ascontiguousarray(points.T))]
    while waiting:
        block, columns = waiting.pop()
        if len(block) <= size:
            yield block
            continue
        side = np.argmax(columns.max(1) - columns.min(1))
        half = len(block) // 2
        order = np.argpartition(columns[side], half)
        waiting += [(block[o], columns[:, o]) for o in (order[:half], order[half:])]


class BlockIndex(NamedTuple):
    """Points in blocks of neighbours, so that points near a box are found without a full scan."""

    points: Float[np.ndarray, "n e"]
    blocks: list[Int[np.ndarray, " _"]]
    low: Float[np.ndarray, "b e"]
    """The smallest coordinates of each block."""
    high: Float[np.ndarray, "b e"]
    """The largest coordinates of each block."""

    @staticmethod
    def build(points: Float[np.ndarray, "n e"], size: int = 128) -> BlockIndex:
        """Index points in blocks of at most `size`: small enough to prune, few enough to scan."""
        blocks = list(split_into_blocks(points, size))
        ordered = points[np.concatenate(blocks)]
        starts = np.cumsum([0, *map(len, blocks[:-1])], dtype=int)
        low, high = (f.reduceat(ordered, starts) for f in (np.minimum, np.maximum))
        return BlockIndex(points, blocks, low, high)

    def within_radii(
        self, radii: Float[np.ndarray, " n"], others: Float[np.ndarray, "m e"]
    ) -> Int[np.ndarray, " _"]:
        """Find the points whose own radius reaches the bounding box of other points.

        Args:
            radii: A radius for each indexed point.
            others: The points that span the box.

        Returns:
            The numbers of the points found.
        """
        low, high = others.min(0), others.max(0)

        def squared(least: np.ndarray, most: np.ndarray) -> np.ndarray:
            return (np.maximum(np.maximum(low - most, least - high), 0) ** 2).sum(1)

        met = np.flatnonzero(squared(self.low, self.high) <= radii.max() ** 2)
        some = np.concatenate([np.zeros(0, int), *(self.blocks[b] for b in met)])
        own = self.points[some]
        return some[squared(own, own) <= radii[some] ** 2]


def group_by_bandwidth(
    bandwidths: Float[np.ndarray, " k"],
) -> Iterator[Bool[np.ndarray, " k"]]:
    """Group components whose bandwidths differ by at most `MAX_BANDWIDTH_RATIO`, as masks."""
    left = np.ones(len(bandwidths), bool)
    while left.any():
        mask = left & (bandwidths <= MAX_BANDWIDTH_RATIO * bandwidths[left].min())
        yield mask
        left &= ~mask
