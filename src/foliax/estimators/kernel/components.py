"""Kernels at the rows, one component for each concentration."""

from __future__ import annotations

import abc
import math
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from ...density.batches import pad_to_power_of_two
from ...registry import storable
from .families import copies
from .space import Space

Point = Float[Array, " size"]
Scalar = Float[Array, ""]


class AbstractKernels(eqx.Module):
    """A list of normalised densities, the components of a mixture, evaluated together."""

    @abc.abstractmethod
    def log_components(self, y: Point, *, leave: Int[Array, ""] | int = -1) -> Float[Array, " k"]:
        """Log densities of y under each, without the rows whose group is `leave`."""

    @property
    @abc.abstractmethod
    def components(self) -> int:
        """How many there are."""

    @property
    @abc.abstractmethod
    def breadths(self) -> Float[np.ndarray, " k"]:
        """The bandwidth of each, typically."""

    @abc.abstractmethod
    def only(self, use: Bool[np.ndarray, " k"]) -> AbstractKernels:
        """Some of the components."""

    @abc.abstractmethod
    def draw(self, component: Int[Array, ""], *, key: PRNGKeyArray) -> Point:
        """One draw of a component."""

    @property
    @abc.abstractmethod
    def count(self) -> int:
        """How many rows carry kernels."""

    @property
    @abc.abstractmethod
    def places(self) -> Float[np.ndarray, "n e"]:
        """Where the rows are that carry kernels: scaled embedded coordinates, but for cells."""

    @abc.abstractmethod
    def placed(self, rows: np.ndarray) -> Float[np.ndarray, "m e"]:
        """The same coordinates of other rows."""

    @abc.abstractmethod
    def reach(self, depths: Float[np.ndarray, " k"]) -> Float[np.ndarray, " n"]:
        """How far away all of each row's kernels are so many nats below their peaks."""

    @property
    @abc.abstractmethod
    def log_peaks(self) -> Float[np.ndarray, " k"]:
        """What no component exceeds anywhere, but for the volume of charts."""

    @abc.abstractmethod
    def near(self, chosen: Int[np.ndarray, " c"], valid: Bool[np.ndarray, " c"]) -> AbstractKernels:
        """Some of the rows' terms of every component; those that are not valid are nought."""


@storable("rivals.ScaleKernels")
class ScaleKernels(AbstractKernels):
    """f_k(y) = Σ_i w_i K(y | y_i, κ_k), K = exp(−½κ_k Σ_s a_s² ‖e_s(y) − e_s(y_i)‖²)/C.

    One component for each κ. `relative`: the a_s, one for each bandwidth of the space. A column of
    cells has few `levels`, of which each row has one: cells' masses are found once for each level.
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
        images = copies(space.manifold, rows)
        order = images.shape[1]
        dtype = jnp.asarray(rows).dtype
        self.space = space
        self.rows = jnp.asarray(images.reshape(-1, images.shape[2]), dtype)
        owners = space.owners()
        self.embedded = jax.vmap(space.embed)(self.rows) * jnp.asarray(relative[owners], dtype)
        self.log_rows = jnp.asarray(np.repeat(np.log(weights / weights.sum()), order), dtype)
        self.groups = jnp.asarray(np.repeat(groups, order), jnp.int32)
        self.kappas = jnp.asarray(kappas, dtype)
        self.relative = jnp.asarray(relative, dtype)
        masses = [space.log_mass(k * relative**2) for k in kappas.astype(float)]
        self.log_masses = jnp.asarray(masses, dtype)
        self.cells = tuple(int(i) for i in np.flatnonzero(space.rounded()))
        columns = np.asarray(self.embedded)[:, list(self.cells)].T
        found = [np.unique(column, return_inverse=True) for column in columns]
        self.levels = tuple(jnp.asarray(pad_to_power_of_two(levels)) for levels, _ in found)
        level = [number for _, number in found]
        self.level = jnp.asarray(np.reshape(level, columns.shape).T, jnp.int32)

    def log_components(self, y: Point, *, leave: Int[Array, ""] | int = -1) -> Float[Array, " k"]:
        owners = self.space.owners()
        a = self.relative[owners]
        smooth = np.setdiff1d(np.arange(len(owners)), self.cells)
        here = self.space.embed(y) * a
        # A coordinate at a time, which is one loop over the rows: an array of gaps is slower.
        squared = sum(((here[j] - self.embedded[:, j]) ** 2 for j in smooth), jnp.zeros(()))
        base = jnp.where(self.groups == leave, -jnp.inf, self.log_rows)
        cells = np.array(self.cells, int)
        edges = self.space.edges(y) * a[cells, None]
        masses = [
            jax.vmap(lambda kappa, e=e, m=m: log_cell(e - m[:, None], kappa))(self.kappas)
            for e, m in zip(edges, self.levels, strict=True)
        ]

        def one(kappa_and_masses):
            kappa, masses = kappa_and_masses
            return log_sum(base - 0.5 * kappa * squared + of_levels(masses, self.level))

        logs = jax.lax.map(one, (self.kappas, masses))
        return logs - self.log_masses + self.space.log_jacobian(y)

    @property
    def breadths(self) -> Float[np.ndarray, " k"]:
        return 1 / np.sqrt(np.asarray(self.kappas, float))

    @property
    def components(self) -> int:
        return len(self.kappas)

    def only(self, use: Bool[np.ndarray, " k"]) -> ScaleKernels:
        return eqx.tree_at(
            lambda p: (p.kappas, p.log_masses), self, (self.kappas[use], self.log_masses[use])
        )

    def draw(self, component: Int[Array, ""], *, key: PRNGKeyArray) -> Point:
        k1, k2 = jax.random.split(key)
        row = drawn_row(self.log_rows, key=k1)
        kappa = self.kappas[component] * self.relative**2
        return self.space.draw(self.rows[row], kappa, key=k2)

    @property
    def count(self) -> int:
        return len(self.rows)

    @property
    def places(self) -> Float[np.ndarray, "n e"]:
        smooth = np.setdiff1d(np.arange(self.embedded.shape[1]), self.cells)
        return np.asarray(self.embedded)[:, smooth]

    def placed(self, rows: np.ndarray) -> Float[np.ndarray, "m e"]:
        return self.space.placed(rows, np.asarray(self.relative))

    def reach(self, depths: Float[np.ndarray, " k"]) -> Float[np.ndarray, " n"]:
        return np.full(len(self.rows), np.sqrt(2 * depths / np.asarray(self.kappas)).max())

    @property
    def log_peaks(self) -> Float[np.ndarray, " k"]:
        return float(jax.nn.logsumexp(self.log_rows)) - np.asarray(self.log_masses, float)

    def near(self, chosen: Int[np.ndarray, " c"], valid: Bool[np.ndarray, " c"]) -> ScaleKernels:
        level, levels = levels_in(np.asarray(self.level)[chosen], self.levels)
        some = eqx.tree_at(
            lambda p: (p.rows, p.embedded, p.log_rows, p.groups, p.level),
            self,
            (
                self.rows[chosen],
                self.embedded[chosen],
                np.where(valid, self.log_rows[chosen], -np.inf),
                self.groups[chosen],
                level,
            ),
        )
        return eqx.tree_at(lambda p: p.levels, some, levels) if levels else some


def drawn_row(logs: Float[Array, " n"], *, key: PRNGKeyArray) -> Int[Array, ""]:
    """A row's number, by weights exp(logs): first a block of about √n rows, then a row of it.

    As exact as a draw from all, of a small part of the work where many rows are drawn.
    """
    side = math.isqrt(len(logs) - 1) + 1
    blocks = jnp.pad(logs, (0, side * side - len(logs)), constant_values=-jnp.inf)
    blocks = blocks.reshape(side, side)
    k1, k2 = jax.random.split(key)
    block = jax.random.categorical(k1, jax.nn.logsumexp(blocks, axis=1))
    return block * side + jax.random.categorical(k2, blocks[block])


def levels_in(
    level: Int[np.ndarray, "n c"], levels: tuple[Any, ...]
) -> tuple[Int[np.ndarray, "n c"], tuple[np.ndarray, ...]]:
    """The levels that occur among some rows, and those rows' numbers in them."""
    found = [np.unique(column, return_inverse=True) for column in level.T]
    kept = tuple(
        pad_to_power_of_two(np.asarray(m)[used]) for m, (used, _) in zip(levels, found, strict=True)
    )
    numbers = np.reshape([number for _, number in found], level.T.shape).T
    return numbers.astype(np.int32), kept


def of_levels(
    masses: list[Float[Array, " _"]], level: Int[Array, "n c"]
) -> Float[Array, " n"] | Scalar:
    """The log masses of every row's cells, all columns' together, given those of the levels."""
    found = [jnp.take(each, level[:, c], mode="clip") for c, each in enumerate(masses)]
    return sum(found, jnp.zeros(()))


def log_sum(logs: Float[Array, " n"]) -> Scalar:
    """logsumexp, −inf where all are; without the gradients' bookkeeping."""
    top = logs.max()
    top = jnp.where(jnp.isfinite(top), top, 0)
    return jnp.log(jnp.exp(logs - top) @ jnp.ones_like(logs)) + top


def log_cell(ends: Float[Array, "n 2"], kappa: Scalar) -> Float[Array, " n"]:
    """log ∫ of a centred normal of precision κ between two ends.

    By the tail on the nearer side, so that nothing cancels; narrow cells by the midpoint rule with
    its first correction, whose error is below 1e-6 for widths under 0.1 deviations.
    """
    ends = ends * jnp.sqrt(kappa)
    low, high = ends[:, 0], ends[:, 1]
    flipped = low + high > 0
    low, high = jnp.where(flipped, -high, low), jnp.where(flipped, -low, high)
    log_high = jax.scipy.special.log_ndtr(high)
    log_low = jax.scipy.special.log_ndtr(low)
    by_tails = log_high + jnp.log1p(-jnp.exp(jnp.minimum(log_low - log_high, -1e-7)))
    narrow = high - low < 0.1
    width = jnp.where(narrow, high - low, 0.1)
    middle = jnp.where(narrow, (high + low) / 2, 0.0)
    correction = (middle**2 - 1) * width**2 / 24
    by_middle = -0.5 * middle**2 + jnp.log(width) - 0.5 * jnp.log(2 * jnp.pi)
    return jnp.where(narrow, by_middle + jnp.log1p(jnp.maximum(correction, -0.5)), by_tails)
