"""The cost model of kernels: work units of their fits, and pairs that an evaluation takes."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from ...manifolds import AbstractManifold
from ..base import UnsupportedManifoldError
from .base import AbstractKernels
from .pruning import (
    BASE_DEPTH_NATS,
    MIN_PRUNED_KERNELS,
    group_by_bandwidth,
    split_into_blocks,
)
from .scoring import (
    MAX_BLOCK_ROWS,
    TILE_KERNELS,
    bound_terms,
    split_into_layers,
    within_share,
)
from .space import Space

START_WORK_UNITS = 1.0
"""Work units of a fit to few rows, mostly compiling."""
BANDWIDTH_WORK_UNITS = 2.0
"""Work units of the search for each relative bandwidth."""
MERGING_WORK_UNITS = 4e-5
"""Work units of each row that carries a kernel, on S²: it is put into cubes of many sizes."""
SCORING_WORK_UNITS = 8e-4
"""Work units of each scored row, on S²: kernels of all rows that reach it."""
SHAPING_START_WORK_UNITS = 6.0
"""Work units of a fit of the local kernel to few rows, on S², mostly compiling."""
SHAPING_WORK_UNITS = 2.2e-3
"""Work units of each row of the local kernel, on S²: covariances in all folds, and kernels."""
DIMENSION_SHARE = 0.5
"""The cost of each dimension, over that of S²."""
MIN_SCORED_ROWS = 5000
"""The least `max_rows` of a kernel of more rows; fewer would also leave it few kernels."""
MIN_SHAPED_ROWS = 2000
"""The least rows of a local kernel of a subsample: fewer rarely show structure."""
N_PROBED_CENTRES = 256
"""Kernels at whose centres the reach of others is measured: its error is below a tenth."""
N_BLOCKS = 1024
"""Blocks of rows that are evaluated together, at most."""
INDEXED_PAIR_RATIO = 1.5
"""The cost of a kernel of the index, over that of a full sum, whose components share distances."""
BOUND_WORK_UNITS = 2e-8
"""Work units of the bound of one kernel of one component in the box of a block."""
N_PROBED_BLOCKS = 16
"""Blocks of rows whose kernels are counted: the error of the mean is about a tenth."""
N_PROBED_ROWS = 8
"""Rows of each block at which the density is estimated; the lowest decides what is listed."""
MAX_PROBED_KERNELS = 4096
"""Kernels that are counted; counting them takes a tenth of a second."""


def kernel_scale(manifold: AbstractManifold) -> float:
    """Cost of a row on a manifold, over that on S².

    A group of g elements makes g kernels of a row. Most of them are too far away to matter.
    """
    return DIMENSION_SHARE * max(1, manifold.dim) * manifold.orbit_size**0.5


def has_kernels(manifold: AbstractManifold) -> bool:
    """Whether every factor of a manifold has a kernel family."""
    try:
        Space(manifold)
    except UnsupportedManifoldError:
        return False
    return True


def scale_mixture_work(n: int, max_rows: int, manifold: AbstractManifold) -> float:
    """Work units of fitting a scale-mixture kernel.

    Args:
        n: The number of rows, which all carry kernels.
        max_rows: The number of rows that are scored at most.
        manifold: One that kernels serve.
    """
    rows = MERGING_WORK_UNITS * n + SCORING_WORK_UNITS * min(n, max_rows)
    search = BANDWIDTH_WORK_UNITS * (Space(manifold).n_bandwidths - 1)
    return START_WORK_UNITS + search + kernel_scale(manifold) * rows


def local_kernel_work(n: int, manifold: AbstractManifold) -> float:
    """Work units of fitting a local kernel to n rows."""
    start = SHAPING_START_WORK_UNITS * DIMENSION_SHARE * max(2, manifold.dim)
    return start + kernel_scale(manifold) * SHAPING_WORK_UNITS * n


def indexed_work(part: AbstractKernels, log_weights: Float[np.ndarray, " k"]) -> float:
    """Estimate the work units of scoring a row by the index: bounds of all terms, and some terms.

    Args:
        part: A list of kernels that have centres.
        log_weights: The log weights of its components.
    """
    bounds = part.n_rows * part.n_components / MAX_BLOCK_ROWS
    padding = part.n_components * TILE_KERNELS / 2
    pairs = count_scored_pairs(part, log_weights) + padding
    return BOUND_WORK_UNITS * bounds + INDEXED_PAIR_RATIO * part.pair_work * pairs


def count_scored_pairs(part: AbstractKernels, log_weights: Float[np.ndarray, " k"]) -> float:
    """Estimate how many kernels, of all components, the index evaluates for a typical row.

    Some of the kernels are listed for some blocks of other kernels' centres, which stand for the
    rows. Bounds stand for the terms, and the part alone for the density.
    """
    n, centres = part.n_rows, part.centres.astype(np.float32)
    order = np.random.default_rng(0).permutation(n)
    kernels, rows = np.split(order, [min(MAX_PROBED_KERNELS, n // 2)])
    layers = split_into_layers(part.subset(kernels, np.ones(len(kernels), bool)), log_weights)
    size = max(1, MAX_BLOCK_ROWS * len(rows) // n)
    blocks = list(split_into_blocks(centres[rows], size))
    listed = []
    for number in np.linspace(0, len(blocks) - 1, N_PROBED_BLOCKS, dtype=int):
        block = centres[rows[blocks[number]]]
        low, high = block.min(0, keepdims=True), block.max(0, keepdims=True)
        bounds = bound_terms(layers, [(low, high)] * len(layers), 0)
        some = block[:N_PROBED_ROWS]
        points = [(some, some)] * len(layers)
        logs = [np.logaddexp.reduce(bound_terms(layers, points, k)) for k in range(len(some))]
        listed.append(len(within_share(bounds - min(logs))))
    return float(np.mean(listed)) * n / len(kernels)


def count_reaching_pairs(kernels: AbstractKernels) -> float:
    """Estimate how many kernels, of all components, a typical row is evaluated with.

    Pruning skips those that do not reach the block of neighbours that the row belongs to. There
    are about `N_BLOCKS` blocks, each twice as wide as neighbours among `N_BLOCKS` rows are apart.
    """
    n, centres = kernels.n_rows, kernels.centres
    if n <= MIN_PRUNED_KERNELS or not centres.size:
        return float(n * kernels.n_components)
    depths = np.full(kernels.n_components, BASE_DEPTH_NATS + centres.shape[1])
    order = np.random.default_rng(0).permutation(n)
    probed, others = order[:N_PROBED_CENTRES], order[:MAX_PROBED_KERNELS]
    gaps = centres[probed][:, None] - centres[others]
    distance = np.sqrt((gaps**2).sum(-1))
    width = 2 * np.partition(distance[:, :N_BLOCKS], 1, axis=1)[:, 1:2]
    pairs = 0.0
    for mask in group_by_bandwidth(kernels.bandwidths):
        radii = kernels.select(mask).cutoff_radii(depths[mask])[others]
        pairs += n * mask.sum() * float((distance - width <= radii).mean())
    return pairs
