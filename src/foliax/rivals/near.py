"""Kernels at many points, without those too far away to count."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from ..density import padded
from .kernels import AbstractKernels

LARGE = 5_000_000_000
"""Rows times kernels times components, some seconds' work, from which leaving out pays.

It compiles programs of many sizes, which takes as long.
"""
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


@eqx.filter_jit
def _components_of_some(
    kernels: AbstractKernels, chosen: Int[Array, " c"], count: Int[Array, ""], rows, groups
) -> Float[Array, "n k"]:
    return components_of(kernels.near(chosen, jnp.arange(len(chosen)) < count), rows, groups)


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
    if len(rows) * kernels.count * kernels.components < LARGE:
        return _all(kernels, rows, groups)
    places = kernels.places
    if not places.size:
        return _all(kernels, rows, groups)
    if depths is None:
        # What counts lies the deeper, the more dimensions there are.
        depths = np.full(kernels.components, 30.0 + places.shape[1])
    depths = np.maximum(depths, 1.0)
    found = np.full((len(rows), kernels.components), -np.inf)
    queries = kernels.placed(rows)
    blocks = list(blocks_of(queries, min(1024, max(256, len(rows) // 1024))))

    def fill(block: np.ndarray, use: np.ndarray, part: AbstractKernels, reach: np.ndarray):
        chosen = within_reach(places, reach, queries[block])
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
    rows, groups, chosen = padded(rows), padded(groups), padded(chosen)
    if len(chosen) >= kernels.count:
        return _all(kernels, rows, groups)[:m]
    values = _components_of_some(
        kernels,
        jnp.asarray(chosen, jnp.int32),
        jnp.asarray(count, jnp.int32),
        jnp.asarray(rows),
        jnp.asarray(groups, jnp.int32),
    )
    return np.asarray(values, float)[:m]


def blocks_of(points: Float[np.ndarray, "n e"], size: int) -> Iterator[Int[np.ndarray, " _"]]:
    """Numbers of neighbouring points, at most so many at once: halves along the widest side."""
    waiting = [np.arange(len(points))]
    while waiting:
        block = waiting.pop()
        if len(block) <= size:
            yield block
            continue
        own = points[block]
        side = np.argmax(np.ptp(own, axis=0))
        order = np.argpartition(own[:, side], len(block) // 2)
        waiting += np.array_split(block[order], 2)


def within_reach(
    places: Float[np.ndarray, "n e"], reach: Float[np.ndarray, " n"], block: np.ndarray
) -> Int[np.ndarray, " _"]:
    """The kernels that may reach a point of the block."""
    centre = (block.min(0) + block.max(0)) / 2
    radius = np.sqrt(((block - centre) ** 2).sum(1).max())
    squared = ((places - centre) ** 2).sum(1)
    return np.flatnonzero(squared <= (radius + reach) ** 2)


def bands(breadths: Float[np.ndarray, " k"]) -> Iterator[Bool[np.ndarray, " k"]]:
    """Components of like breadth, as masks."""
    left = np.ones(len(breadths), bool)
    while left.any():
        least = breadths[left].min()
        use = left & (breadths <= BAND * least)
        yield use
        left &= ~use
