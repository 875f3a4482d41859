"""Shape each row's kernel by its nearest neighbours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int
from scipy.spatial import KDTree

from ...density.batches import pad_to_power_of_two
from .data import DistinctRows
from .shapes import LocalKernels, Tangents
from .space import list_orbits

MIN_DEVIATION = 1e-4
"""The smallest deviation of a kernel, in scaled coordinates: float32 resolves it."""


class _Neighbourhoods(NamedTuple):
    """What the nearest rows say about the shape of each row's kernel, nearest first."""

    frames: tuple[Array, ...]
    vectors: Float[np.ndarray, "n k d"]
    """Scaled tangent coordinates of the neighbours."""
    squared_gaps: Float[np.ndarray, "n k c"]
    """Squared distances to the neighbours in counted and rounded columns."""
    middles: Float[np.ndarray, "n c"]
    """The middles of the rows' own cells."""


def local_kernels(
    tangents: Tangents,
    data: DistinctRows,
    relative: np.ndarray,
    neighbours: Sequence[int],
    widths: tuple[float, ...],
) -> list[LocalKernels]:
    """Build kernels whose covariance is the second moment of each row's nearest rows.

    Args:
        tangents: The manifold's tangent coordinates.
        data: The rows that carry kernels.
        relative: The relative bandwidths.
        neighbours: Numbers of neighbours; each gives one list of kernels.
        widths: Factors of the covariance's deviations; each gives one component of every list.

    Returns:
        A list of kernels for each number of neighbours.
    """
    images = list_orbits(tangents.space.manifold, data.rows)
    (n, order, size), dtype = images.shape, data.rows.dtype
    rows = jnp.asarray(images.reshape(-1, size), dtype)
    most = max(1, min(max(neighbours), n - 1))
    around = _find_neighbourhoods(tangents, rows, relative, most, order)
    index = tangents.bandwidth_index()
    d, weights = len(index), np.repeat(np.log(data.weights / data.weights.sum()), order)
    log_rows = weights + np.log(relative[index]).sum() - d / 2 * np.log(2 * np.pi)
    cap = max_deviations(tangents) * relative[index] / max(widths) if d else None
    found = []
    for k in neighbours:
        v = around.vectors[:, :k]
        whiten, log_det = np.zeros((len(rows), 0, 0)), np.zeros(len(rows))
        if cap is not None:
            whiten, log_det = whitening_matrices(v, d / (d + v.shape[1]), MIN_DEVIATION, cap)
        level, levels = number_levels(around.middles, around.squared_gaps[:, :k].mean(1))
        found.append(
            LocalKernels(
                tangents,
                around.frames,
                rows,
                jnp.asarray(whiten, dtype),
                jnp.asarray(log_rows + log_det, dtype),
                jnp.asarray(level, jnp.int32),
                tuple(jnp.asarray(pad_to_power_of_two(each), dtype) for each in levels),
                jnp.asarray(widths, dtype),
                jnp.asarray(relative, dtype),
                tuple(int(c) for c in np.flatnonzero(tangents.space.rounded_mask())),
            )
        )
    return found


def _find_neighbourhoods(
    tangents: Tangents, rows: Float[Array, "n size"], relative: np.ndarray, k: int, order: int
) -> _Neighbourhoods:
    """Find each row's k nearest rows; every row has `order` consecutive images."""
    space = tangents.space
    embedded = np.asarray(jax.vmap(space.embed)(rows), float) * relative[space.bandwidth_index()]
    near = nearest_neighbours(embedded, k, order)
    frames, vectors = _tangent_vectors(tangents, rows, jnp.asarray(near))
    vectors = np.asarray(vectors, float) * relative[tangents.bandwidth_index()]
    cells = np.flatnonzero(space.rounded_mask())
    gaps = (embedded[near][:, :, cells] - embedded[:, None, cells]) ** 2
    return _Neighbourhoods(frames, vectors, gaps, embedded[:, cells])


def number_levels(
    middles: Float[np.ndarray, "n c"], squares: Float[np.ndarray, "n c"]
) -> tuple[Int[np.ndarray, "n c"], list[Float[np.ndarray, "_ 2"]]]:
    """Number the pairs (middle, 1/deviation) that occur in each counted or rounded column.

    Deviations are rounded to powers of 2^(1/8), so that few pairs occur.

    Args:
        middles: The middle of each row's cell in each column.
        squares: The mean squared distance to the neighbours in each column.

    Returns:
        For each row and column the number of its pair, and for each column the pairs.
    """
    eighths = np.round(-4 * np.log2(squares + MIN_DEVIATION**2))
    pairs = np.stack([middles, np.exp2(eighths / 8)], axis=2)
    found = [np.unique(column, axis=0, return_inverse=True) for column in pairs.swapaxes(0, 1)]
    level = [number.reshape(-1) for _, number in found]
    return np.reshape(level, middles.T.shape).T.astype(int), [each for each, _ in found]


def nearest_neighbours(
    embedded: Float[np.ndarray, "n e"], k: int, order: int
) -> Int[np.ndarray, "n k"]:
    """Find each point's k nearest points, nearest first, without its own images.

    Args:
        embedded: The points; `order` consecutive ones are images of one row.
        k: The number of neighbours.
        order: The number of images of each row.

    Returns:
        Numbers of points.
    """
    many = min(len(embedded) - 1, k + order - 1)
    near = KDTree(embedded).query(embedded, many + 1)[1]
    own = near // order == np.arange(len(embedded))[:, None] // order
    return np.take_along_axis(near, np.argsort(own, axis=1, kind="stable"), axis=1)[:, :k]


@eqx.filter_jit
def _tangent_vectors(
    tangents: Tangents, rows: Float[Array, "n size"], near: Int[Array, "n k"]
) -> tuple[tuple[Array, ...], Float[Array, "n k d"]]:
    """Compute the rows' frames, and the tangent vectors from each row to its neighbours."""
    frames, queries = jax.vmap(tangents.frame)(rows), jax.vmap(tangents.query)(rows)

    def one(frame, chosen):
        others = jax.tree.map(lambda q: q[chosen], queries)
        return jax.vmap(lambda q, _: tangents.log_map(frame, q)[0])(others, chosen)

    return frames, jax.vmap(one)(frames, near)


def max_deviations(tangents: Tangents) -> np.ndarray:
    """A sixth of the distance at which tangent coordinates end; infinite for charts."""
    ends = [
        np.full(len(p.scales), np.pi / 6 if np.isfinite(f.log_total_volume()) else np.inf)
        for p, f in zip(tangents.parts, tangents.space.manifold.factors, strict=True)
        if p is not None
    ]
    return np.concatenate(ends)


def whitening_matrices(
    v: Float[np.ndarray, "n k d"], shrink: float, floor: float, cap: Float[np.ndarray, " d"]
) -> tuple[Float[np.ndarray, "n d d"], Float[np.ndarray, " n"]]:
    """Compute lower-triangular W with W M Wᵀ = I for the second moments M of each row's vectors.

    Args:
        v: k tangent vectors for each row.
        shrink: The weight of the multiple of the identity towards which M is shrunk.
        floor: The smallest deviation.
        cap: The largest deviation of each coordinate, so that the end of a manifold is at least six
            deviations away. Wider kernels are narrowed as a whole.

    Returns:
        The matrices W, and log det W.
    """
    k, d = v.shape[1:]
    moments = np.einsum("nki,nkj->nij", v, v) / k
    mean = np.trace(moments, axis1=1, axis2=2) / d
    moments = (1 - shrink) * moments + (shrink * mean + floor**2)[:, None, None] * np.eye(d)
    widest = np.sqrt(moments[:, range(d), range(d)] / cap**2).max(1)
    moments = moments / np.maximum(widest, 1.0)[:, None, None] ** 2
    whiten = np.linalg.inv(np.linalg.cholesky(moments))
    return whiten, np.log(whiten[:, range(d), range(d)]).sum(1)
