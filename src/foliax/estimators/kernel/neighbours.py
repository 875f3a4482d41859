"""Shape each row's kernel by its nearest neighbours."""

from __future__ import annotations

from collections.abc import Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int
from scipy.spatial import KDTree

from ...density.batches import pad_to_power_of_two
from .data import Data
from .families import copies, factors_of
from .shapes import LocalKernels, Tangents
from .tangents import covariances

FLOOR = 1e-4
"""Least deviation of a shape, in units of a bandwidth."""


def local_kernels(
    tangents: Tangents,
    data: Data,
    relative: np.ndarray,
    neighbours: Sequence[int],
    widths: tuple[float, ...],
) -> list[LocalKernels]:
    """Kernels shaped by each row's nearest neighbours, for each number of them."""
    space = tangents.space
    images = copies(space.manifold, data.rows)
    n, order, size = images.shape
    dtype = data.rows.dtype
    rows = jnp.asarray(images.reshape(-1, size), dtype)
    owned = tangents.owners()
    embedded = np.asarray(jax.vmap(space.embed)(rows), float) * relative[space.owners()]
    near = nearest(embedded, max(1, min(max(neighbours), n - 1)), order)
    frames, vectors = _vectors(tangents, rows, jnp.asarray(near))
    vectors = np.asarray(vectors, float) * relative[owned]
    cells = np.flatnonzero(space.rounded())
    gaps = (embedded[near][:, :, cells] - embedded[:, None, cells]) ** 2
    d = len(owned)
    log_rows = np.repeat(np.log(data.weights / data.weights.sum()), order)
    log_rows = log_rows + np.log(relative[owned]).sum() - d / 2 * np.log(2 * np.pi)
    cap = reach(tangents) * relative[owned] / max(widths) if d else None
    found = []
    for k in neighbours:
        v, squares = vectors[:, :k], gaps[:, :k]
        whiten, log_det = np.zeros((len(rows), 0, 0)), np.zeros(len(rows))
        if cap is not None:
            whiten, log_det = covariances(v, d / (d + v.shape[1]), FLOOR, cap)
        level, levels = levels_of(embedded[:, cells], squares.mean(1))
        found.append(
            LocalKernels(
                tangents,
                frames,
                rows,
                jnp.asarray(whiten, dtype),
                jnp.asarray(log_rows + log_det, dtype),
                jnp.asarray(level, jnp.int32),
                tuple(jnp.asarray(pad_to_power_of_two(each), dtype) for each in levels),
                jnp.asarray(widths, dtype),
                jnp.asarray(relative, dtype),
                tuple(int(c) for c in cells),
            )
        )
    return found


def levels_of(
    middles: Float[np.ndarray, "n c"], squares: Float[np.ndarray, "n c"]
) -> tuple[Int[np.ndarray, "n c"], list[Float[np.ndarray, "_ 2"]]]:
    """Each row's pair of a middle and 1/deviation in every column, and the pairs.

    Deviations are rounded to powers of 2^(1/8), so that few pairs occur.
    """
    eighths = np.round(-4 * np.log2(squares + FLOOR**2))
    pairs = np.stack([middles, np.exp2(eighths / 8)], axis=2)
    found = [np.unique(column, axis=0, return_inverse=True) for column in pairs.swapaxes(0, 1)]
    level = [number.reshape(-1) for _, number in found]
    return np.reshape(level, middles.T.shape).T.astype(int), [each for each, _ in found]


def nearest(embedded: Float[np.ndarray, "n e"], k: int, order: int) -> Int[np.ndarray, "n k"]:
    """Each point's k nearest, the nearest first; its own images, `order` in a row, are not."""
    many = min(len(embedded) - 1, k + order - 1)
    near = KDTree(embedded).query(embedded, many + 1)[1]
    own = near // order == np.arange(len(embedded))[:, None] // order
    return np.take_along_axis(near, np.argsort(own, axis=1, kind="stable"), axis=1)[:, :k]


@eqx.filter_jit
def _vectors(
    tangents: Tangents, rows: Float[Array, "n size"], near: Int[Array, "n k"]
) -> tuple[tuple[Array, ...], Float[Array, "n k d"]]:
    """The rows' frames, and the tangent vectors from each row to its neighbours."""
    frames, queries = jax.vmap(tangents.frame)(rows), jax.vmap(tangents.query)(rows)

    def one(frame, chosen):
        choose_components = jax.tree.map(lambda q: q[chosen], queries)
        return jax.vmap(lambda q, _: tangents.log_map(frame, q)[0])(choose_components, chosen)

    return frames, jax.vmap(one)(frames, near)


def reach(tangents: Tangents) -> np.ndarray:
    """A sixth of the way to where tangent coordinates end; infinite for charts."""
    ends = [
        np.full(len(p.scales), np.pi / 6 if np.isfinite(f.log_total_volume()) else np.inf)
        for p, f in zip(tangents.parts, factors_of(tangents.space.manifold), strict=True)
        if p is not None
    ]
    return np.concatenate(ends)
