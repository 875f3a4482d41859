"""Kernels at many points, without those too far away to count."""

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
from .components import AbstractKernels

LARGE = 1_000_000_000
"""Rows times kernels times components, a second's work, from which leaving out pays.

It compiles programs of some sizes, which takes as long.
"""
FEW = 256
"""Kernels of which leaving out some does not pay, however many rows there are."""
BAND = 3.0
"""Components are looked up together whose breadths differ by no more than this factor."""


@eqx.filter_jit
def components_of(kernels: AbstractKernels, rows, groups) -> Float[Array, "n k"]:
    """Log densities of many rows under each component, without the groups named."""
    arrays = jax.tree.leaves(eqx.filter(kernels, eqx.is_array))
    size = max((len(a) for a in arrays if a.ndim), default=1)
    at_once = min(len(rows), max(1, 200_000 // size))
    return jax.lax.map(
        lambda pair: kernels.log_components(pair[0], leave=pair[1]),
        (rows, groups),
        batch_size=at_once,
    )


def components_near(
    kernels: AbstractKernels,
    rows: np.ndarray,
    groups: np.ndarray | None = None,
    *,
    depths: Float[np.ndarray, " k"] | None = None,
) -> Float[np.ndarray, "n k"]:
    """`components_of`, to so many nats below the peak of each component, which is −inf beyond.

    Rows are taken in blocks of neighbours, and of the kernels only those whose reach meets a block.
    """
    groups = np.full(len(rows), -1) if groups is None else np.asarray(groups)
    if kernels.count <= FEW or not kernels.places.size:
        return _all(kernels, rows, groups)
    # On the host, so that picking some of many rows is no program to compile for every number.
    kernels = jax.tree.map(lambda a: np.asarray(a) if eqx.is_array(a) else a, kernels)
    if len(rows) * kernels.count * kernels.components < LARGE:
        everything = pad_to_power_of_two(np.arange(kernels.count))
        return _all(
            kernels.near(everything, np.arange(len(everything)) < kernels.count), rows, groups
        )
    places = Places.of(kernels.places)
    if depths is None:
        # What counts lies the deeper, the more dimensions there are.
        depths = np.full(kernels.components, 30.0 + places.points.shape[1])
    depths = np.maximum(depths, 1.0)
    found = np.full((len(rows), kernels.components), -np.inf)
    queries = kernels.placed(rows)
    blocks = list(blocks_of(queries, min(1024, max(256, len(rows) // 1024))))

    def fill(block: np.ndarray, use: np.ndarray, part: AbstractKernels, reach: np.ndarray):
        chosen = places.within_reach(reach, queries[block])
        if len(chosen):
            found[np.ix_(block, use)] = _some(part, chosen, rows[block], groups[block])

    with ThreadPoolExecutor(cores()) as pool:
        for use in bands(kernels.breadths):
            part = kernels.only(use)
            reach = part.reach(depths[use])
            numbers = np.flatnonzero(use)
            list(pool.map(lambda b, n=numbers, p=part, r=reach: fill(b, n, p, r), blocks))
    return found


def components_of_parts(
    parts: Sequence[AbstractKernels], rows: np.ndarray, groups: np.ndarray | None = None
) -> Float[np.ndarray, "n k"]:
    """`components_near` of all parts side by side; a row that nothing reaches is near to all."""
    groups = np.full(len(rows), -1) if groups is None else np.asarray(groups)
    found = np.concatenate([components_near(part, rows, groups) for part in parts], axis=1)
    lonely = np.flatnonzero(~np.isfinite(found).any(1))
    if len(lonely):
        each = [_all(part, rows[lonely], groups[lonely]) for part in parts]
        found[lonely] = np.concatenate(each, axis=1)
    return found


def cores() -> int:
    """Those that the process may use, where the system tells."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _all(kernels: AbstractKernels, rows: np.ndarray, groups: np.ndarray) -> np.ndarray:
    values = components_of(kernels, jnp.asarray(rows), jnp.asarray(groups, jnp.int32))
    return np.asarray(values, float)


def _some(
    kernels: AbstractKernels, chosen: np.ndarray, rows: np.ndarray, groups: np.ndarray
) -> np.ndarray:
    m, count = len(rows), len(chosen)
    chosen = pad_to_power_of_two(chosen)
    if len(chosen) >= kernels.count:
        return _all(kernels, pad_to_power_of_two(rows), pad_to_power_of_two(groups))[:m]
    some = kernels.near(chosen, np.arange(len(chosen)) < count)
    return _all(some, pad_to_power_of_two(rows), pad_to_power_of_two(groups))[:m]


def blocks_of(points: Float[np.ndarray, "n e"], size: int) -> Iterator[Int[np.ndarray, " _"]]:
    """Numbers of neighbouring points, at most so many at once: halves along the widest side."""
    # Columns apart, which are quick to go through, and kept in the order of the blocks.
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


class Places(NamedTuple):
    """Points in blocks of neighbours, so that those near a box are found without asking all."""

    points: Float[np.ndarray, "n e"]
    blocks: list[Int[np.ndarray, " _"]]
    low: Float[np.ndarray, "b e"]
    """The least coordinates of each block."""
    high: Float[np.ndarray, "b e"]

    @staticmethod
    def of(points: Float[np.ndarray, "n e"], size: int = 128) -> Places:
        """Blocks of so many points at the most."""
        blocks = list(blocks_of(points, size))
        ordered = points[np.concatenate(blocks)]
        starts = np.cumsum([0, *map(len, blocks[:-1])], dtype=int)
        low, high = (f.reduceat(ordered, starts) for f in (np.minimum, np.maximum))
        return Places(points, blocks, low, high)

    def within_reach(
        self, reach: Float[np.ndarray, " n"], box: Float[np.ndarray, "m e"]
    ) -> Int[np.ndarray, " _"]:
        """The numbers of those no farther than they reach from the box that holds these points."""
        low, high = box.min(0), box.max(0)

        def squared(least: np.ndarray, most: np.ndarray) -> np.ndarray:
            return (np.maximum(np.maximum(low - most, least - high), 0) ** 2).sum(1)

        met = np.flatnonzero(squared(self.low, self.high) <= reach.max() ** 2)
        some = np.concatenate([np.zeros(0, int), *(self.blocks[b] for b in met)])
        own = self.points[some]
        return some[squared(own, own) <= reach[some] ** 2]


def bands(breadths: Float[np.ndarray, " k"]) -> Iterator[Bool[np.ndarray, " k"]]:
    """Components of like breadth, as masks."""
    left = np.ones(len(breadths), bool)
    while left.any():
        least = breadths[left].min()
        use = left & (breadths <= BAND * least)
        yield use
        left &= ~use
