"""Kernels with their own covariance at each row."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from ...manifolds.product import pieces
from ...manifolds.tangent import AbstractTangent
from ...registry import storable
from .base import AbstractKernels, Point
from .space import Space
from .terms import (
    log_cell,
    log_sum,
    sample_row,
    select_levels,
    sum_level_masses,
)

PAIR_WORK_UNITS = 1.5e-8
"""Work units of one kernel of one width at one row: tangent coordinates, and an exponential."""


@storable("rivals.Tangents")
class Tangents(eqx.Module):
    """Tangent coordinates of a space: those of its families, concatenated; cells have none."""

    space: Space
    parts: tuple[AbstractTangent | None, ...]

    def __init__(self, space: Space):
        self.space = space
        self.parts = tuple(family.tangent() for family in space.families)

    def bandwidth_index(self) -> np.ndarray:
        """The index of the bandwidth of each tangent coordinate."""
        starts = np.cumsum([0, *(family.n_bandwidths for family in self.space.families)])
        found = [
            np.array(p.scales) + start
            for p, start in zip(self.parts, starts, strict=False)
            if p is not None
        ]
        return np.concatenate(found) if found else np.zeros(0, int)

    def frame(self, y: Point) -> tuple[Array, ...]:
        """Compute the frames at y of all families that have tangent coordinates."""
        return tuple(p.frame(v) for p, (_, v) in self._with(y) if p is not None)

    def query(self, y: Point) -> tuple[Array, ...]:
        """Compute what `log_map` needs to know of y, for the same families."""
        return tuple(p.query(v) for p, (_, v) in self._with(y) if p is not None)

    def log_map(self, frame: tuple[Array, ...], query: tuple[Array, ...]) -> tuple[Array, Array]:
        """Compute the tangent coordinates v, and log_volume = log |dy/dv|."""
        present = [p for p in self.parts if p is not None]
        each = [p.log_map(f, q) for p, f, q in zip(present, frame, query, strict=True)]
        vectors = [v for v, _ in each] or [jnp.zeros(0)]
        return jnp.concatenate(vectors), sum((w for _, w in each), jnp.zeros(()))

    @property
    def max_chord_ratio(self) -> float:
        """The largest ratio of a chord between embedded points to the length of v."""
        return max((p.max_chord_ratio for p in self.parts if p is not None), default=1.0)

    def log_shrinkages(self, relative: Float[np.ndarray, " s"]) -> tuple[float, float]:
        """Numbers c, s such that −log_volume ≤ min(c‖v‖², s), for coordinates times `relative`."""
        index, present = self.bandwidth_index(), [p for p in self.parts if p is not None]
        each = np.array([p.max_log_shrinkage for p in present for _ in p.scales])
        rate = max(each / (np.pi * relative[index]) ** 2, default=0.0)
        return float(rate), sum(p.max_log_shrinkage for p in present)

    def _with(self, y: Point):
        return list(zip(self.parts, self.space.split(y), strict=True))


@storable("rivals.LocalKernels")
class LocalKernels(AbstractKernels):
    """f_h(y) = Σ_i w_i N(W_i a∘v_i(y); 0, h²)·det(W_i a)/volume, one component for each width h.

    v_i are tangent coordinates around row i, a the relative bandwidths, and W_i whitens the second
    moments of the nearest rows. In counted and rounded columns a kernel is a normal of deviation
    h·s_i, integrated over cells. Each column has few `levels`, pairs of a middle and 1/s_i, and
    each row has the number of its `level`.
    """

    tangents: Tangents
    frames: tuple[Float[Array, "n _"], ...]
    rows: Float[Array, "n size"]
    whiten: Float[Array, "n d d"]
    log_scale: Float[Array, " n"]
    level: Int[Array, "n c"]
    levels: tuple[Float[Array, "_ 2"], ...]
    widths: Float[Array, " h"]
    relative: Float[Array, " s"]
    cells: tuple[int, ...] = eqx.field(static=True)

    def log_components(self, y: Point, *, exclude: Int[Array, ""] | int = -1) -> Float[Array, " k"]:
        base, squared, masses = self._distances(y)
        logs = jax.lax.map(
            lambda each: log_sum(self._log_terms(base, squared, *each)), (self.widths, masses)
        )
        return logs + self.tangents.space.log_jacobian(y)

    def log_terms(self, y: Point) -> Float[Array, "n k"]:
        base, squared, masses = self._distances(y)
        return jax.vmap(lambda *each: self._log_terms(base, squared, *each), out_axes=1)(
            self.widths, masses
        )

    def _log_terms(self, base: Array, squared: Array, h: Array, masses: list[Array]) -> Array:
        d = self.whiten.shape[1]
        logs = base - 0.5 * squared / h**2 - d * jnp.log(h)
        return logs + sum_level_masses(masses, self.level)

    def _distances(self, y: Point) -> tuple[Array, Array, list[Array]]:
        """Compute log weights over volumes, squared distances, and log masses of cells."""
        space = self.tangents.space
        query = self.tangents.query(y)
        a = self.relative[self.tangents.bandwidth_index()]
        v, log_volume = jax.vmap(lambda f, _: self.tangents.log_map(f, query))(
            self.frames, self.log_scale
        )
        v = v * a
        d = v.shape[1]
        # Sums of products of whole columns are one loop over the rows, which is faster than einsum.
        white = [sum(self.whiten[:, i, j] * v[:, j] for j in range(i + 1)) for i in range(d)]
        squared = jnp.asarray(sum((w**2 for w in white), jnp.zeros_like(self.log_scale)))
        cells = np.array(self.cells, int)
        relative = self.relative[space.bandwidth_index()[cells]]
        edges = space.cell_edges(y) * relative[:, None]
        cell_widths = space.cell_widths(y) * relative

        def log_masses(edge, width, level):
            ends = (edge - level[:, :1]) * level[:, 1:]
            return jax.vmap(lambda h: log_cell(ends, 1 / h**2, width * level[:, 1]))(self.widths)

        masses = [log_masses(*each) for each in zip(edges, cell_widths, self.levels, strict=True)]
        return self.log_scale - log_volume, squared, masses

    def term_bounds(self) -> tuple[Float[np.ndarray, "n h"], Float[np.ndarray, "n h"]]:
        """Bound the terms by the widest deviations, and shrinking volumes by c‖v‖².

        Kernels so broad that this leaves no curvature have the largest shrinkage in their heights.
        """
        whiten, widths = np.asarray(self.whiten, float), np.asarray(self.widths, float)
        heights = np.asarray(self.log_scale, float)[:, None] - whiten.shape[1] * np.log(widths)
        least = np.linalg.eigvalsh(np.swapaxes(whiten, 1, 2) @ whiten)[:, :1]
        rate, most = self.tangents.log_shrinkages(np.asarray(self.relative))
        full = least / widths**2
        is_narrow = full > 2 * rate
        curvatures = np.where(is_narrow, full - 2 * rate, full)
        heights = np.where(is_narrow, heights, heights + most)
        return heights, curvatures / self.tangents.max_chord_ratio**2

    def tables(self) -> tuple[Any, ...]:
        return _fields_by_row(self)

    def with_tables(self, tables: tuple[Any, ...]) -> LocalKernels:
        return eqx.tree_at(_fields_by_row, self, tables)

    @property
    def has_cells(self) -> bool:
        return bool(self.cells)

    @property
    def n_components(self) -> int:
        return len(self.widths)

    @property
    def pair_work(self) -> float:
        return PAIR_WORK_UNITS

    @property
    def bandwidths(self) -> Float[np.ndarray, " h"]:
        """The median over rows of the geometric mean of a kernel's deviations."""
        diagonal = np.diagonal(np.asarray(self.whiten, float), axis1=1, axis2=2)
        logs = np.concatenate([np.log(diagonal), np.log(np.asarray(self.sharpness()))], axis=1)
        return np.asarray(self.widths, float) * np.exp(-np.median(logs.mean(1)))

    def select(self, mask: Bool[np.ndarray, " k"]) -> LocalKernels:
        return eqx.tree_at(lambda p: p.widths, self, self.widths[mask])

    def take(self, chosen: Int[np.ndarray, " m"]) -> LocalKernels:
        """Keep the kernels of some rows, and normalise their weights."""
        return eqx.tree_at(_fields_by_row, self, _take_rows(self, jnp.asarray(chosen)))

    def sample(self, component: Int[Array, ""], *, key: PRNGKeyArray) -> Point:
        k1, k2, k3 = jax.random.split(key, 3)
        h = self.widths[component]
        space = self.tangents.space
        row = sample_row(self.log_rows(), key=k1)
        noise = jax.random.normal(k2, (self.whiten.shape[1],), self.rows.dtype)
        v = h * jax.scipy.linalg.solve_triangular(self.whiten[row], noise, lower=True)
        v = v / self.relative[self.tangents.bandwidth_index()]
        precision = jnp.ones(space.n_bandwidths, v.dtype)
        cells = np.array(self.cells, int)
        if len(cells):
            index = space.bandwidth_index()[cells]
            sharpness = self.sharpness(self.level[row]) * self.relative[index]
            precision = precision.at[index].set((sharpness / h) ** 2)
        return self._step(row, v, precision, k3)

    @property
    def n_rows(self) -> int:
        return len(self.rows)

    @property
    def centres(self) -> Float[np.ndarray, "n e"]:
        return self.scaled_embedding(np.asarray(self.rows))

    def scaled_embedding(self, rows: np.ndarray) -> Float[np.ndarray, "m e"]:
        return self.tangents.space.scaled_embedding(rows, np.asarray(self.relative))

    def cutoff_radii(self, depths: Float[np.ndarray, " h"]) -> Float[np.ndarray, " n"]:
        """Radii of chords, which are at most √2 times as long as tangent vectors (on rotations)."""
        narrow = np.linalg.svd(np.asarray(self.whiten, float), compute_uv=False)
        return (np.sqrt(4 * depths) * np.asarray(self.widths)).max() / narrow[:, -1]

    @property
    def log_peaks(self) -> Float[np.ndarray, " h"]:
        """A bound that allows for exp(log_volume), which is at least 1e-3 per dimension."""
        d = self.whiten.shape[1]
        total = float(jax.nn.logsumexp(self.log_scale)) + d * np.log(1e3)
        return total - d * np.log(np.asarray(self.widths, float))

    def subset(self, chosen: Int[np.ndarray, " c"], valid: Bool[np.ndarray, " c"]) -> LocalKernels:
        frames, rows, whiten, log_scale, level = jax.tree.map(
            lambda a: a[chosen], _fields_by_row(self)
        )
        log_scale = np.where(valid, log_scale, -np.inf)
        level, levels = select_levels(np.asarray(level), self.levels)
        some = eqx.tree_at(_fields_by_row, self, (frames, rows, whiten, log_scale, level))
        return eqx.tree_at(lambda p: p.levels, some, levels) if levels else some

    def sharpness(self, level: Int[Array, "... c"] | None = None) -> Float[Array, "... c"]:
        """Compute 1/s of each rounded column: for all rows, or for given levels."""
        level = self.level if level is None else level
        columns = [m[level[..., c], 1] for c, m in enumerate(self.levels)]
        return jnp.stack(columns, -1) if columns else jnp.zeros(level.shape, self.rows.dtype)

    def log_rows(self) -> Float[Array, " n"]:
        """Compute the rows' log weights from `log_scale`, which includes the determinants."""
        diagonal = jnp.diagonal(self.whiten, axis1=1, axis2=2)
        a = self.relative[self.tangents.bandwidth_index()]
        d = self.whiten.shape[1]
        return (
            self.log_scale
            - jnp.log(diagonal).sum(1)
            - jnp.log(a).sum()
            + 0.5 * d * jnp.log(2 * jnp.pi)
        )

    def _step(self, row, v: Array, precision: Array, key: PRNGKeyArray) -> Point:
        """Move from a row by tangent coordinates v, and in rounded columns by a random step."""
        space, parts = self.tangents.space, self.tangents.parts
        present = [p for p in parts if p is not None]
        steps = iter(pieces(v, [len(p.scales) for p in present]))
        frames = iter(self.frames)
        kappas = pieces(precision, [family.n_bandwidths for family in space.families])
        keys = jax.random.split(key, len(parts))
        found = []
        for part, (family, y), kappa, k, factor in zip(
            parts, space.split(self.rows[row]), kappas, keys, space.manifold.factors, strict=True
        ):
            if part is None:
                point = family.sample(y, kappa, key=k)
            else:
                point = part.exp_map(next(frames)[row], next(steps))
            found.append(factor.representative(point))
        return jnp.concatenate(found)


def _fields_by_row(kernels: LocalKernels) -> tuple:
    return (
        kernels.frames,
        kernels.rows,
        kernels.whiten,
        kernels.log_scale,
        kernels.level,
    )


@eqx.filter_jit
def _take_rows(kernels: LocalKernels, chosen: Int[Array, " m"]) -> tuple:
    log_rows = kernels.log_rows()
    share = jax.nn.logsumexp(log_rows[chosen]) - jax.nn.logsumexp(log_rows)
    frames, rows, whiten, log_scale, level = jax.tree.map(
        lambda a: a[chosen], _fields_by_row(kernels)
    )
    return frames, rows, whiten, log_scale - share, level
