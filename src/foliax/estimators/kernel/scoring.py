"""Score rows by a mixture of kernels, without the kernels that change no digit of the total.

Blocks of neighbouring rows share a list of kernels. A bound of each kernel's term in the box of a
block decides whether it is listed, and all terms that are left out are at most `MAX_SHARE_LEFT_OUT`
of the density. Lists are evaluated in tiles of one size, so that few programs are compiled.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from .base import AbstractKernels
from .pruning import available_cores, split_into_blocks

MAX_BLOCK_ROWS = 80
"""Rows of a block at most. Fewer have shorter lists, but more of them."""
ROWS_STEP = 8
"""Blocks are padded to a multiple of this number of rows."""
TILE_KERNELS = 64
"""Kernels that a tile evaluates at the rows of a block; half a tile of each list is padding."""
TILES_AT_ONCE = 64
"""Tiles of one call, whose terms stay in the processor's cache."""
BLOCKS_AT_ONCE = 256
"""Blocks whose lists are held in memory by a thread."""
MAX_SHARE_LEFT_OUT = 4e-7
"""The share of a row's density that may be left out: below the resolution of float32 near 1."""
MIN_LOG_TERM = -80.0
"""Nats below the largest term at which terms of a tile are counted at most: exp is slow where its
results are subnormal, and these terms change nothing."""
N_HISTOGRAM_NATS = 16
"""Nats above the safe cutoff within which a higher cutoff is searched; kernels left out are fewer
than exp(16)."""


class Layer(NamedTuple):
    """One component of a list of kernels: terms of all its rows, and bounds of the terms."""

    kernels: AbstractKernels
    tables: tuple
    log_weight: float
    centres: Float[np.ndarray, "e n"]
    heights: Float[np.ndarray, " n"]
    """Bounds of the weighted log terms at the centres."""
    half_curvatures: Float[np.ndarray, " n"]
    """What the bounds lose with the squared distance from the centres."""


class Tiles(NamedTuple):
    """Numbers of kernels, in tiles of one size, each for the rows of one block."""

    kernels: Int[np.ndarray, "t c"]
    valid: Bool[np.ndarray, "t c"]
    block: Int[np.ndarray, " t"]


def log_sums(
    parts: Sequence[AbstractKernels],
    log_weights: Sequence[Float[np.ndarray, " _"]],
    rows: Float[np.ndarray, "n size"],
    floor: Float[np.ndarray, " n"],
) -> Float[np.ndarray, " n"]:
    """Compute the log of a weighted sum of components at many rows, without the volume of charts.

    Args:
        parts: Lists of kernels that have centres.
        log_weights: For each part, the log weights of its components.
        rows: The rows; all are finite.
        floor: The log of other terms of the same total, −inf for none.

    Returns:
        The log sums. With the other terms, their error is at most `MAX_SHARE_LEFT_OUT` plus the
        rounding of the terms.
    """
    layers = [
        layer
        for part, own in zip(parts, log_weights, strict=True)
        for layer in split_into_layers(part, np.asarray(own, float))
    ]
    queries = [np.asarray(part.scaled_embedding(rows), np.float32) for part in parts]
    places = np.repeat(np.arange(len(parts)), [len(own) for own in log_weights])
    blocks = _pad(list(split_into_blocks(queries[0], MAX_BLOCK_ROWS)))
    found = np.empty(len(rows))

    def fill(some: Int[np.ndarray, "b r"]) -> None:
        boxes = [(q[some].min(1), q[some].max(1)) for q in queries]
        own = [boxes[place] for place in places]
        found[some] = _log_sums_of_blocks(layers, own, rows[some], floor[some])

    groups = np.array_split(blocks, -(-len(blocks) // BLOCKS_AT_ONCE))
    if len(groups) == 1:
        # JAX's double precision holds for its own thread only.
        fill(blocks)
        return found
    with ThreadPoolExecutor(available_cores()) as pool:
        list(pool.map(fill, groups))
    return found


def split_into_layers(part: AbstractKernels, log_weights: Float[np.ndarray, " k"]) -> list[Layer]:
    """Split a list of kernels into its components, on the host."""
    part = jax.tree.map(lambda a: np.asarray(a) if eqx.is_array(a) else a, part)
    heights, curvatures = part.term_bounds()
    # Bounds are in single precision, which is faster and changes them by less than they are loose.
    centres, tables = np.ascontiguousarray(part.centres.T, np.float32), part.tables()
    heights = (heights + log_weights).T.astype(np.float32, order="C")
    halves = (curvatures / 2).T.astype(np.float32, order="C")
    return [
        Layer(part.select(mask), tables, log_weights[k], centres, heights[k], halves[k])
        for k, mask in enumerate(np.eye(len(log_weights), dtype=bool))
    ]


def _pad(blocks: list[Int[np.ndarray, " _"]]) -> Int[np.ndarray, "b r"]:
    """Repeat rows of blocks until all have one size, of few that are ever compiled."""
    size = -(-max(map(len, blocks)) // ROWS_STEP) * ROWS_STEP
    return np.stack([np.resize(block, size) for block in blocks])


def _log_sums_of_blocks(
    layers: list[Layer],
    boxes: list[tuple[np.ndarray, np.ndarray]],
    rows: Float[np.ndarray, "b r size"],
    floor: Float[np.ndarray, "b r"],
) -> Float[np.ndarray, "b r"]:
    """Choose the kernels of each block by a first sum of its nearest ones, and sum them."""
    n_blocks = len(rows)
    bounds = [bound_terms(layers, boxes, block) for block in range(n_blocks)]
    first = [_nearest(layers, bound) for bound in bounds]
    low = np.logaddexp(floor, _sum_chosen(layers, first, rows)).min(1)
    chosen = [within_share(bound - level) for bound, level in zip(bounds, low, strict=True)]
    return _sum_chosen(layers, chosen, rows)


def bound_terms(layers: list[Layer], boxes: list, block: int) -> Float[np.ndarray, " m"]:
    """Bound the weighted log terms of all kernels in the box of a block, layer by layer."""
    found, squared, seen = [], np.zeros(0, np.float32), None
    for layer, (low, high) in zip(layers, boxes, strict=True):
        if layer.centres is not seen:
            seen = layer.centres
            squared = sum(
                np.maximum(np.maximum(least - c, c - most), 0) ** 2
                for c, least, most in zip(seen, low[block], high[block], strict=True)
            )
        found.append(layer.heights - layer.half_curvatures * squared)
    return np.concatenate(found)


def _nearest(layers: list[Layer], bound: Float[np.ndarray, " m"]) -> Int[np.ndarray, " _"]:
    """Number the kernels of the largest bounds, all of the layer whose bounds have most mass."""
    ends = np.cumsum([len(layer.heights) for layer in layers])
    mass = np.add.reduceat(np.exp(bound - bound.max()), np.concatenate([[0], ends[:-1]]))
    layer = int(mass.argmax())
    size = len(layers[layer].heights)
    own = bound[ends[layer] - size : ends[layer]]
    count = min(TILE_KERNELS, size)
    return ends[layer] - size + np.sort(np.argpartition(-own, count - 1)[:count])


def within_share(relative: Float[np.ndarray, " m"]) -> Int[np.ndarray, " _"]:
    """Number the terms without the smallest ones, which are `MAX_SHARE_LEFT_OUT` in total at most.

    Half of the share is for terms below a safe cutoff, and half for those above it.
    """
    cutoff = np.log(0.5 * MAX_SHARE_LEFT_OUT / len(relative))
    near = np.flatnonzero(relative >= cutoff)
    nats = relative[near] - cutoff
    low = nats < N_HISTOGRAM_NATS
    bins = (nats[low] * 2).astype(int)
    sums = np.bincount(bins, np.exp(relative[near[low]]), 2 * N_HISTOGRAM_NATS)
    dropped = int((np.cumsum(sums) <= 0.5 * MAX_SHARE_LEFT_OUT).sum())
    return near[nats >= dropped / 2]


def _sum_chosen(
    layers: list[Layer], chosen: list[Int[np.ndarray, " _"]], rows: Float[np.ndarray, "b r size"]
) -> Float[np.ndarray, "b r"]:
    """Sum the chosen terms of each block; numbers count through all layers."""
    ends = np.cumsum([len(layer.heights) for layer in layers])
    cuts = [np.searchsorted(numbers, ends) for numbers in chosen]
    total = np.full(rows.shape[:2], -np.inf)
    for k, layer in enumerate(layers):
        start = ends[k] - len(layer.heights)
        lists = [
            numbers[cut[k - 1] if k else 0 : cut[k]] - start
            for numbers, cut in zip(chosen, cuts, strict=True)
        ]
        tiles = build_tiles(lists)
        if len(tiles.block):
            total = np.logaddexp(total, layer.log_weight + _sum_tiles(layer, tiles, rows))
    return total


def build_tiles(lists: Sequence[Int[np.ndarray, " _"]]) -> Tiles:
    """Cut the list of each block into tiles, and pad the last one by its first kernel."""
    counts = np.array([-(-len(numbers) // TILE_KERNELS) for numbers in lists])
    total = int(counts.sum())
    kernels = np.zeros(total * TILE_KERNELS, int)
    valid = np.zeros(total * TILE_KERNELS, bool)
    starts = (np.cumsum(counts) - counts) * TILE_KERNELS
    for start, numbers in zip(starts, lists, strict=True):
        kernels[start : start + len(numbers)] = numbers
        valid[start : start + len(numbers)] = True
    shape = (total, TILE_KERNELS)
    block = np.repeat(np.arange(len(lists)), counts)
    return Tiles(kernels.reshape(shape), valid.reshape(shape), block)


def _sum_tiles(
    layer: Layer, tiles: Tiles, rows: Float[np.ndarray, "b r size"]
) -> Float[np.ndarray, "b r"]:
    """Sum the terms of each block's tiles: each tile in single precision, its total in double."""
    tops, sums = [], []
    for start in range(0, len(tiles.block), TILES_AT_ONCE):
        stop = min(start + TILES_AT_ONCE, len(tiles.block))
        padded = np.resize(np.arange(start, stop), TILES_AT_ONCE)
        numbers = tiles.kernels[padded]
        tables = jax.tree.map(lambda a, n=numbers: np.asarray(a)[n], layer.tables)
        valid, some = map(jnp.asarray, (tiles.valid[padded], rows[tiles.block[padded]]))
        top, total = _evaluate_tiles(layer.kernels, tables, valid, some)
        tops.append(np.asarray(top, float)[: stop - start])
        sums.append(np.asarray(total, float)[: stop - start])
    logs = np.concatenate(tops) + np.log(np.concatenate(sums))
    found = np.full(rows.shape[:2], -np.inf)
    present, first = np.unique(tiles.block, return_index=True)
    found[present] = np.logaddexp.reduceat(logs, first, axis=0)
    return found


@eqx.filter_jit
def _evaluate_tiles(
    kernels: AbstractKernels,
    tables: tuple,
    valid: Bool[Array, "t c"],
    rows: Float[Array, "t r size"],
) -> tuple[Float[Array, "t r"], Float[Array, "t r"]]:
    """Compute the largest log term of every row, and the sum of exp(term − largest)."""

    def one_pair(tables, y):
        alone = jax.tree.map(lambda a: a[None], tables)
        return kernels.with_tables(alone).log_terms(y)[0, 0]

    def one_tile(tables, valid, rows):
        # Rows are the inner loop, in which the numbers of a kernel are constants.
        of_rows = jax.vmap(one_pair, in_axes=(None, 0))
        logs = jax.vmap(of_rows, in_axes=(0, None))(tables, rows)
        logs = jnp.where(valid[:, None], logs, -jnp.inf)
        top = logs.max(0)
        return top, jnp.exp(jnp.maximum(logs - top, MIN_LOG_TERM)).sum(0)

    return jax.vmap(one_tile)(tables, valid, rows)
