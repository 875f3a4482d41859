"""Kernels of the same shape at every row, one component for each concentration."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from ...density.batches import pad_to_power_of_two
from ...registry import storable
from .base import AbstractKernels, Point
from .space import Space, list_orbits
from .terms import log_cell, log_sum, sample_row, select_levels, sum_level_masses

MIN_BANDWIDTH_SPACINGS = 32.0
"""The smallest bandwidth at a row, in the spacings of float32 numbers there.

The rounding of a distance then changes a log density by 0.02 at one bandwidth from the row.
"""


def _upgrade(fields: dict[str, Any]) -> dict[str, Any]:
    """Fields of older files, whose rows carry kernels of all concentrations."""
    return {"finest": None} | fields


@storable("rivals.ScaleKernels", upgrade=_upgrade)
class ScaleKernels(AbstractKernels):
    """f_k(y) = Σ_i w_i K(y | y_i, κ_k), K = exp(−½κ_k Σ_s a_s² ‖e_s(y) − e_s(y_i)‖²)/C.

    There is one component for each κ. `relative` has the a_s, one for each bandwidth of the space.
    A counted or rounded column has few different values, its `levels`, and each row has the number
    of its `level`: the mass of a cell is computed once for each level.

    Float32 numbers far from 0 are sparse. A row there carries only kernels that are broader than
    their spacing, κ <= `finest`. Sharper ones would be spikes with more than their mass.

    Args:
        space: The manifold and its kernel families.
        rows: The rows that carry kernels.
        weights: A positive weight for each row.
        groups: A number for each row. Rows of one group are left out together.
        kappas: The concentrations κ.
        relative: The relative bandwidths a.
    """

    space: Space
    rows: Float[Array, "n size"]
    embedded: Float[Array, "n e"]
    log_rows: Float[Array, " n"]
    groups: Int[Array, " n"]
    kappas: Float[Array, " k"]
    relative: Float[Array, " s"]
    log_masses: Float[Array, " k"]
    levels: tuple[Float[Array, " _"], ...]
    level: Int[Array, "n c"]
    finest: Float[Array, " n"] | None
    cells: tuple[int, ...] = eqx.field(static=True)

    def __init__(
        self,
        space: Space,
        rows: np.ndarray,
        weights: np.ndarray,
        groups: np.ndarray,
        kappas: np.ndarray,
        relative: np.ndarray,
    ):
        images = list_orbits(space.manifold, rows)
        order = images.shape[1]
        dtype = jnp.asarray(rows).dtype
        self.space = space
        self.rows = jnp.asarray(images.reshape(-1, images.shape[2]), dtype)
        index = space.bandwidth_index()
        self.embedded = jax.vmap(space.embed)(self.rows) * jnp.asarray(relative[index], dtype)
        self.log_rows = jnp.asarray(np.repeat(np.log(weights / weights.sum()), order), dtype)
        self.groups = jnp.asarray(np.repeat(groups, order), jnp.int32)
        self.cells = tuple(int(i) for i in np.flatnonzero(space.rounded_mask()))
        finest = find_finest(np.delete(np.asarray(self.embedded), self.cells, axis=1))
        # If no row resolves a concentration, all of its kernels are as sharp as they can be.
        kappas = np.minimum(kappas, finest.max())
        self.kappas = jnp.asarray(kappas, dtype)
        self.relative = jnp.asarray(relative, dtype)
        masses = [space.log_mass(k * relative**2) for k in kappas.astype(float)]
        self.finest = None
        if (finest < kappas.max()).any():
            self.finest = jnp.asarray(finest, dtype)
            shares = self._weights_carried()
            masses += np.log(shares.sum(0) / np.exp(np.asarray(self.log_rows, float)).sum())
        self.log_masses = jnp.asarray(masses, dtype)
        columns = np.asarray(self.embedded)[:, list(self.cells)].T
        found = [np.unique(column, return_inverse=True) for column in columns]
        self.levels = tuple(jnp.asarray(pad_to_power_of_two(levels)) for levels, _ in found)
        level = [number for _, number in found]
        self.level = jnp.asarray(np.reshape(level, columns.shape).T, jnp.int32)

    def log_components(self, y: Point, *, exclude: Int[Array, ""] | int = -1) -> Float[Array, " k"]:
        squared, masses = self._distances(y)
        left = jnp.where(self.groups == exclude, -jnp.inf, self.log_rows)

        def one(kappa_and_masses):
            kappa, masses = kappa_and_masses
            base = self._carried(left, kappa)
            return log_sum(base - 0.5 * kappa * squared + sum_level_masses(masses, self.level))

        logs = jax.lax.map(one, (self.kappas, masses))
        return logs - self.log_masses + self.space.log_jacobian(y)

    def log_terms(self, y: Point) -> Float[Array, "n k"]:
        squared, masses = self._distances(y)

        def one(kappa, log_mass, masses):
            cells = sum_level_masses(masses, self.level)
            return self._carried(self.log_rows, kappa) - log_mass - 0.5 * kappa * squared + cells

        return jax.vmap(one, out_axes=1)(self.kappas, self.log_masses, masses)

    def _distances(self, y: Point) -> tuple[Float[Array, " n"], list[Float[Array, "k _"]]]:
        """Compute squared distances to all rows, and the log masses of cells for each level."""
        index = self.space.bandwidth_index()
        a = self.relative[index]
        smooth = np.setdiff1d(np.arange(len(index)), self.cells)
        here = self.space.embed(y) * a
        # One coordinate at a time is one loop over the rows, which is faster than an array of gaps.
        squared = sum(
            ((here[j] - self.embedded[:, j]) ** 2 for j in smooth), jnp.zeros_like(self.log_rows)
        )
        cells = np.array(self.cells, int)
        edges = self.space.cell_edges(y) * a[cells, None]
        widths = self.space.cell_widths(y) * a[cells]
        masses = [
            jax.vmap(lambda kappa, e=e, w=w, m=m: log_cell(e - m[:, None], kappa, w))(self.kappas)
            for e, w, m in zip(edges, widths, self.levels, strict=True)
        ]
        return squared, masses

    def _carried(self, log_rows: Float[Array, " n"], kappa: Float[Array, ""]) -> Float[Array, " n"]:
        """The log weights of the rows, −inf for those that carry no kernel of this κ."""
        if self.finest is None:
            return log_rows
        return jnp.where(kappa <= self.finest, log_rows, -jnp.inf)

    def _weights_carried(self) -> Float[np.ndarray, "n k"]:
        """The weight of each row in each component, 0 where it carries no kernel."""
        weights = np.exp(np.asarray(self.log_rows, float))[:, None]
        if self.finest is None:
            return np.broadcast_to(weights, (len(weights), len(self.kappas)))
        return np.where(np.asarray(self.kappas) <= np.asarray(self.finest)[:, None], weights, 0.0)

    def row_shares(self) -> Float[np.ndarray, "n k"]:
        """The share of each row in the mass of each component."""
        weights = self._weights_carried()
        return weights if self.finest is None else weights / weights.sum(0)

    def term_bounds(self) -> tuple[Float[np.ndarray, "n k"], Float[np.ndarray, "n k"]]:
        kappas = np.asarray(self.kappas, float)
        heights = np.asarray(self.log_rows, float)[:, None] - np.asarray(self.log_masses, float)
        if self.finest is not None:
            heights = np.where(kappas <= np.asarray(self.finest)[:, None], heights, -np.inf)
        return heights, np.broadcast_to(kappas, heights.shape)

    def tables(self) -> tuple[Any, ...]:
        return _fields_by_row(self)

    def with_tables(self, tables: tuple[Any, ...]) -> ScaleKernels:
        return eqx.tree_at(_fields_by_row, self, tables)

    @property
    def has_cells(self) -> bool:
        return bool(self.cells)

    @property
    def n_components(self) -> int:
        return len(self.kappas)

    @property
    def bandwidths(self) -> Float[np.ndarray, " k"]:
        return 1 / np.sqrt(np.asarray(self.kappas, float))

    def select(self, mask: Bool[np.ndarray, " k"]) -> ScaleKernels:
        return eqx.tree_at(
            lambda p: (p.kappas, p.log_masses), self, (self.kappas[mask], self.log_masses[mask])
        )

    def sample(self, component: Int[Array, ""], *, key: PRNGKeyArray) -> Point:
        k1, k2 = jax.random.split(key)
        row = sample_row(self._carried(self.log_rows, self.kappas[component]), key=k1)
        kappa = self.kappas[component] * self.relative**2
        return self.space.sample(self.rows[row], kappa, key=k2)

    @property
    def n_rows(self) -> int:
        return len(self.rows)

    @property
    def centres(self) -> Float[np.ndarray, "n e"]:
        smooth = np.setdiff1d(np.arange(self.embedded.shape[1]), self.cells)
        return np.asarray(self.embedded)[:, smooth]

    def scaled_embedding(self, rows: np.ndarray) -> Float[np.ndarray, "m e"]:
        return self.space.scaled_embedding(rows, np.asarray(self.relative))

    def cutoff_radii(self, depths: Float[np.ndarray, " k"]) -> Float[np.ndarray, " n"]:
        return np.full(len(self.rows), np.sqrt(2 * depths / np.asarray(self.kappas)).max())

    @property
    def log_peaks(self) -> Float[np.ndarray, " k"]:
        return float(jax.nn.logsumexp(self.log_rows)) - np.asarray(self.log_masses, float)

    def subset(self, chosen: Int[np.ndarray, " c"], valid: Bool[np.ndarray, " c"]) -> ScaleKernels:
        level, levels = select_levels(np.asarray(self.level)[chosen], self.levels)
        taken = (
            self.rows[chosen],
            self.embedded[chosen],
            np.where(valid, self.log_rows[chosen], -np.inf),
            self.groups[chosen],
            level,
        )
        finest = () if self.finest is None else (self.finest[chosen],)
        some = eqx.tree_at(_fields_by_row, self, (*taken, *finest))
        return eqx.tree_at(lambda p: p.levels, some, levels) if levels else some


def _fields_by_row(kernels: ScaleKernels) -> tuple:
    found = (kernels.rows, kernels.embedded, kernels.log_rows, kernels.groups, kernels.level)
    return found if kernels.finest is None else (*found, kernels.finest)


def find_finest(coordinates: Float[np.ndarray, "n e"]) -> Float[np.ndarray, " n"]:
    """Find the largest κ of each row's kernels that float32 resolves; inf without coordinates.

    Args:
        coordinates: Embedded and scaled rows, in float32.
    """
    if not coordinates.size:
        return np.full(len(coordinates), np.inf)
    spacing = np.spacing(np.abs(coordinates)).max(1).astype(float)
    return (MIN_BANDWIDTH_SPACINGS * spacing) ** -2.0
