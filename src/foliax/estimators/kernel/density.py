"""A mixture of kernels as a density."""

from __future__ import annotations

import math
from collections.abc import Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key, PRNGKeyArray

from ...density import AbstractDensity, LogProb
from ...density.base import Condition
from ...density.batches import log_prob_in_batches
from ...density.digits import restore_digits
from ...density.mixture import choose_components, sample_by_component
from ...manifolds import AbstractManifold
from ...registry import storable
from .base import AbstractKernels, Point
from .cost import count_reaching_pairs, indexed_work
from .pruning import MIN_PRUNING_WORK, evaluate_pruned
from .scoring import log_sums
from .space import Space

MIN_INDEXING_WORK = 100_000_000
"""Rows times kernels times components, about two seconds' work, above which an index pays.

The programs for it take about as long to compile.
"""
MIN_INDEXED_KERNELS = 256
"""Kernels of a part up to which an index does not pay, for any number of rows."""
MAX_ROWS_AT_ONCE = 1_000_000
"""Rows that are evaluated at once, since their components are held in memory."""
NEGLIGIBLE_NATS = 16.0
"""Nats below the density at which a kernel changes no digit of float32."""
MAX_PILOT_ROWS, MIN_PILOT_ROWS = 256, 16
"""Rows that are evaluated without pruning, to learn how low the density is at most rows."""


@storable("rivals.KernelDensity")
class KernelDensity(AbstractDensity):
    """A mixture of the components of several lists of kernels. It is exact.

    Args:
        manifold: The manifold.
        parts: Lists of kernels.
        log_weights: For each part, the log weights of its components.
    """

    manifold: AbstractManifold
    parts: tuple[AbstractKernels, ...]
    log_weights: tuple[Float[Array, " _"], ...]

    def _log_prob(
        self, y: Point, *, condition: Condition = None, key: PRNGKeyArray | None = None
    ) -> LogProb:
        logs = [p.log_components(y) + w for p, w in zip(self.parts, self.log_weights, strict=True)]
        value = jax.nn.logsumexp(jnp.concatenate(logs))
        return LogProb(value, jnp.zeros_like(value))

    def log_prob_rows(
        self,
        rows: np.ndarray,
        row_ids: np.ndarray,
        *,
        condition: np.ndarray | None = None,
        key: PRNGKeyArray,
        batch_size: int,
    ) -> LogProb:
        pairs = len(rows) * sum(part.n_rows * part.n_components for part in self.parts)
        indexed = [has_index(part) for part in self.parts]
        if any(part.has_cells for part in self.parts) and pairs >= MIN_PRUNING_WORK:
            return self._log_prob_pruned(rows, row_ids, key, batch_size)
        if pairs < MIN_INDEXING_WORK or not any(indexed):
            return log_prob_in_batches(self, rows, row_ids, None, key, batch_size)
        # Equal rows are evaluated once, so that they have equal densities.
        distinct, numbers = np.unique(rows, axis=0, return_inverse=True)
        finite = np.isfinite(distinct).all(1)
        value = np.empty(len(distinct))
        value[finite] = self._log_totals(distinct[finite], indexed) if finite.any() else 0.0
        if not finite.all():
            lost = distinct[~finite]
            value[~finite], _ = log_prob_in_batches(
                self, lost, np.arange(len(lost)), None, key, batch_size
            )
        value = value[numbers.reshape(-1)]
        return LogProb(value, np.zeros_like(value))

    def _log_totals(self, rows: np.ndarray, indexed: Sequence[bool]) -> np.ndarray:
        """Sum parts of many kernels by an index of their centres, and other parts as a whole."""
        members = list(zip(self.parts, map(np.asarray, self.log_weights), indexed, strict=True))
        others = np.full(len(rows), -np.inf)
        for part, own, is_indexed in members:
            if not is_indexed:
                logs = evaluate_pruned(part, rows) + own
                others = np.logaddexp(others, np.logaddexp.reduce(logs, axis=1))
        charts = np.asarray(log_jacobians(Space(self.manifold), jnp.asarray(rows)), float)
        parts = [part for part, _, is_indexed in members if is_indexed]
        weights = [own for _, own, is_indexed in members if is_indexed]
        return np.logaddexp(others, charts + log_sums(parts, weights, rows, others - charts))

    def _log_prob_pruned(
        self, rows: np.ndarray, row_ids: np.ndarray, key: PRNGKeyArray, batch_size: int
    ) -> LogProb:
        """Evaluate rows by the kernels within cutoff radii, which pilot rows decide."""
        pairs = sum(part.n_rows * part.n_components for part in self.parts)
        charts = np.asarray(log_jacobians(Space(self.manifold), jnp.asarray(rows)))
        # Fewer pilot rows where kernels are many, so that they take a few seconds at most.
        pilots = min(len(rows), MAX_PILOT_ROWS, max(MIN_PILOT_ROWS, 4 * MIN_PRUNING_WORK // pairs))
        some = np.random.default_rng(0).choice(len(rows), pilots, replace=False)
        pilot, _ = log_prob_in_batches(self, rows[some], row_ids[some], None, key, batch_size)
        low = float(np.quantile(pilot - charts[some], 0.02))
        if not np.isfinite(low):
            return log_prob_in_batches(self, rows, row_ids, None, key, batch_size)
        value, left = np.full(len(rows), -np.inf), np.arange(len(rows))
        for level in (low, low - 20):
            batches = math.ceil(len(left) / MAX_ROWS_AT_ONCE)
            for some in np.array_split(left, batches) if len(left) else ():
                value[some] = self._log_probs_above(rows[some], level)
            left = left[~(value[left] - charts[left] >= level)]
        if len(left):
            value[left], _ = log_prob_in_batches(
                self, rows[left], row_ids[left], None, key, batch_size
            )
        return LogProb(value, np.zeros_like(value))

    def _log_probs_above(self, rows: np.ndarray, level: float) -> np.ndarray:
        """Evaluate rows, exactly where the density in the charts is above exp(level)."""
        value = np.full(len(rows), -np.inf)
        for part, own in zip(self.parts, map(np.asarray, self.log_weights), strict=True):
            depths = part.log_peaks + own - level + NEGLIGIBLE_NATS
            logs = evaluate_pruned(part, rows, depths=depths) + own
            with np.errstate(invalid="ignore"):  # A row that is not a number stays so.
                value = np.logaddexp(value, np.logaddexp.reduce(logs, axis=1))
        return value

    def sample_rows(
        self, keys: Key[Array, " n"], *, condition: np.ndarray | None = None
    ) -> np.ndarray:
        if not len(keys):
            return np.zeros((0, self.manifold.size), np.float32)
        numbers, rest = choose_components(jnp.concatenate(self.log_weights), keys)
        ends = np.cumsum([len(w) for w in self.log_weights])
        part = np.searchsorted(ends, numbers, side="right")
        starts = np.concatenate([[0], ends])

        def some(p: int, which: np.ndarray) -> np.ndarray:
            own = jnp.asarray(numbers[which] - starts[p], jnp.int32)
            return np.asarray(_sample_part(self.parts[p], own, rest[which]))

        rows = sample_by_component(part, len(self.parts), some)
        return restore_digits(self.manifold, rows, keys)

    def _sample(self, *, condition: Condition = None, key: PRNGKeyArray) -> Point:
        k1, k2 = jax.random.split(key)
        number = jax.random.categorical(k1, jnp.concatenate(self.log_weights))
        sizes = [len(w) for w in self.log_weights]
        starts = np.cumsum([0, *sizes[:-1]])
        which = (number >= starts).sum() - 1
        draws = [
            lambda n, key, part=part, start=start: part.sample(n - start, key=key)
            for part, start in zip(self.parts, starts, strict=True)
        ]
        return jax.lax.switch(which, draws, number, k2)

    @property
    def work(self) -> int:
        """The number of rows, in units of 24: a processor's cache must hold them."""
        arrays = jax.tree.leaves(eqx.filter(self.parts, eqx.is_array))
        return max(1, max((len(a) for a in arrays if a.ndim), default=1) // 24)

    @property
    def evaluation_work(self) -> float:
        return sum(
            indexed_work(part, np.asarray(own))
            if has_index(part)
            else part.pair_work * count_reaching_pairs(part)
            for part, own in zip(self.parts, self.log_weights, strict=True)
        )

    def refine(self) -> KernelDensity:
        return self


@eqx.filter_jit
def _sample_part(
    part: AbstractKernels, components: Int[Array, " n"], keys: Key[Array, " n"]
) -> Float[Array, "n size"]:
    return jax.lax.map(
        lambda pair: part.sample(pair[0], key=pair[1]), (components, keys), batch_size=1024
    )


@eqx.filter_jit
def log_jacobians(space: Space, rows: Float[Array, "n size"]) -> Float[Array, " n"]:
    """Compute log |de/dy| of the charts in which kernels are flat, at each row."""
    return jax.vmap(space.log_jacobian)(rows)


def has_index(part: AbstractKernels) -> bool:
    """Whether kernels are many, and have centres that an index can tell apart.

    An index would compute the mass of a cell for each kernel, which is slower than for each level.
    """
    return part.n_rows > MIN_INDEXED_KERNELS and part.centres.size > 0 and not part.has_cells
