"""The scale-mixture kernel: one mixture of kernels of many bandwidths at every row."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Sequence

import equinox as eqx
import jax
import numpy as np
from jaxtyping import PRNGKeyArray

from ...density import Dataset
from ...density.blocks import split_blocks
from ...manifolds import AbstractManifold
from ...registry import storable
from ...training import Callback, Record
from ..base import AbstractEstimator, FitResult, named_estimator
from .bandwidths import (
    add_broad_concentrations,
    find_relative_bandwidths,
    leave_one_out,
    select_concentrations,
)
from .components import ScaleKernels
from .cost import (
    MIN_SCORED_ROWS,
    SCORING_WORK_UNITS,
    has_kernels,
    kernel_scale,
    scale_mixture_work,
)
from .data import DistinctRows, fraction_within, merge_nearby_rows
from .density import KernelDensity
from .mixing import (
    add_background,
    drop_negligible,
    fit_mixture,
    fit_weights,
    keep_broad_component,
    prune_components,
    split_by_part,
)
from .pruning import evaluate_parts
from .space import Space

CUBE_SIDE_BANDWIDTHS = 0.7
"""The side of the cubes whose rows share one kernel, in bandwidths: the density hardly changes."""
REACH_NATS = 20.0
"""Nats below its peak at which a kernel hardly contributes."""
MAX_KERNEL_FACTOR = 5
"""Kernels of one κ are at most this many times `max_rows`, unless few of them reach a row."""


@named_estimator("kernel")
@storable("rivals.ScaleMixtureKernel", renamed_fields={"chance": "min_gain"})
@dataclasses.dataclass(frozen=True)
class ScaleMixtureKernel(AbstractEstimator):
    """p = π₀·uniform + Σ_k π_k Σ_i w_i K(· | y_i, κ_k), with κ_k from `smallest` to `largest`.

    The density is exactly normalised on spheres, tori, SO(n), reals, half-lines, intervals, counts,
    rounded values, their products and quotients.

    The weights π maximise the leave-one-out likelihood by EM. A row is left out with its exact
    copies, since copies would drive the likelihood to infinity. Where all columns are counted or
    rounded the likelihood is bounded, so only one copy is left out. Several bandwidths (factors of
    a product, angles of a torus) are scaled by relative bandwidths of the greatest likelihood.
    Rows in blocks are left out by whole blocks.

    The uniform component has a weight of at least 0.01, so that no row costs more than ln 100 nats
    below the uniform density. Where the volume is infinite, the kernels of the smallest κ have it.

    More than `max_rows` rows are split: a fifth of them, at most `max_rows`, fits the weights of
    kernels built from the others. Then all rows carry kernels, and rows in one cube of 0.7
    bandwidths share one. If this still leaves more than 5 `max_rows` kernels for a κ, and more than
    `max_rows`/4 of them within reach of a row, the rows are subsampled.

    Args:
        smallest: The smallest concentration κ. 0.5 is almost uniform on a sphere.
        largest: The largest concentration. Float32 resolves no sharper kernel on a sphere.
        max_rows: The number of rows up to which every row carries its own kernel and is scored.
        min_gain: Nats of total log-likelihood that the sharpest concentrations must gain to be
            kept. A few rows that are close by chance gain 5, and would only make spikes. Components
            of small weight must gain 1 nat (with more than `max_rows` rows: `min_gain`), except the
            broadest one and those of few kernels.
        ratio: The ratio of consecutive concentrations.

    Raises:
        ValueError: A setting is out of range.
    """

    smallest: float = 0.5
    largest: float = 1.4e8
    max_rows: int = 20_000
    min_gain: float = 5.0
    ratio: float = 2.0

    def __post_init__(self):
        if not (0 < self.smallest < self.largest and self.max_rows >= 2 and self.min_gain >= 0):
            raise ValueError(
                "ScaleMixtureKernel needs 0 < smallest < largest, max_rows >= 2 and min_gain >= 0, "
                f"got {self.smallest}, {self.largest}, {self.max_rows} and {self.min_gain}."
            )
        if not 1 < self.ratio <= self.largest / self.smallest:
            raise ValueError(
                f"ScaleMixtureKernel needs 1 < ratio <= largest/smallest, got {self.ratio}."
            )

    def _fit(
        self,
        data: Dataset,
        *,
        key: PRNGKeyArray,
        validation: Dataset | None = None,
        callbacks: Sequence[Callback] = (),
    ) -> FitResult[KernelDensity]:
        began = time.monotonic()
        manifold = data.manifold
        space = Space(manifold)
        rows = DistinctRows.from_rows(space, data.rows, data.weights, data.blocks, data.names)
        kappas = add_broad_concentrations(space, rows, self.kappas())
        relative = find_relative_bandwidths(space, rows, kappas, key)
        if len(rows.rows) > self.max_rows:
            return self._fit_many_rows(space, rows, relative, kappas, key, began)
        kappas = select_concentrations(space, rows, relative, kappas, key)
        kernels = ScaleKernels(space, *rows[:3], kappas, relative)
        scores = leave_one_out(kernels, rows)
        return build_result(*fit_mixture(manifold, (kernels,), scores, rows, self.min_gain), began)

    @property
    def keeps_broad_component(self) -> bool:
        return True

    def serves(self, manifold: AbstractManifold) -> bool:
        return has_kernels(manifold)

    def fit_work(self, n: int, manifold: AbstractManifold) -> float:
        return scale_mixture_work(n, self.max_rows, manifold)

    def min_work(self, n: int, manifold: AbstractManifold) -> float:
        return self.within(0.0, n, manifold).fit_work(n, manifold)

    def within(self, work: float, n: int, manifold: AbstractManifold) -> ScaleMixtureKernel:
        per_row = kernel_scale(manifold) * SCORING_WORK_UNITS
        rows = int((work - scale_mixture_work(n, 0, manifold)) / per_row)
        most = min(self.max_rows, max(MIN_SCORED_ROWS, rows))
        return self if n <= most else dataclasses.replace(self, max_rows=most)

    def uses_all_rows(self, n: int) -> bool:
        return n <= self.max_rows

    def _fit_many_rows(
        self,
        space: Space,
        data: DistinctRows,
        relative: np.ndarray,
        kappas: np.ndarray,
        key: PRNGKeyArray,
        began: float,
    ) -> FitResult[KernelDensity]:
        """Fit weights on held-out rows, then build the kernels from all rows."""
        data = data.take(np.asarray(jax.random.permutation(key, len(data.rows))))
        held, others = self._hold_out(data, key)
        pairs = [kappas[k : k + 2] for k in range(0, len(kappas), 2)]
        parts = [self._merged_kernels(space, others, relative, pair) for pair in pairs]
        scores = evaluate_parts(parts, held.rows)
        parts, scores = add_background(space.manifold, parts, scores)
        shares, _ = fit_weights(parts, scores, held, self.min_gain)
        shares, _ = prune_components(parts, shares, scores, held, self.min_gain)
        shares, best = keep_broad_component(parts, shares, scores, held)
        # Only parts that have any weight are rebuilt from all rows.
        whole = [
            self._merged_kernels(space, data, relative, pair) if own.any() else part
            for pair, part, own in zip(pairs, parts, split_by_part(parts, shares), strict=False)
        ]
        parts = [*whole, *parts[len(pairs) :]]
        density = KernelDensity(space.manifold, *drop_negligible(parts, shares))
        result = build_result(density, best, began)
        most = max((part.n_rows for part in density.parts), default=0)
        result.record.events.append(
            f"{len(data.rows)} distinct rows carry kernels, at most {most} for a bandwidth, since "
            f"nearby rows share one; {len(held.rows)} held-out rows fitted the weights."
        )
        return result

    def _hold_out(self, data: DistinctRows, key: PRNGKeyArray) -> tuple[DistinctRows, DistinctRows]:
        """Hold out a fifth of the rows, or of the blocks; the rows are in random order."""
        if data.in_blocks:
            kept, held = split_blocks(data.groups, 0.2, key, self.max_rows)
        else:
            n_held = min(self.max_rows, len(data.rows) // 5)
            held, kept = np.split(np.arange(len(data.rows)), [n_held])
        return data.take(held), data.take(kept)

    def _merged_kernels(
        self, space: Space, data: DistinctRows, relative: np.ndarray, kappas: np.ndarray
    ) -> ScaleKernels:
        """Build kernels that the rows of a cube share, from a subsample if they are too many."""
        centres = merge_nearby_rows(
            space, data, relative, CUBE_SIDE_BANDWIDTHS / np.sqrt(kappas[-1])
        )
        most = MAX_KERNEL_FACTOR * self.max_rows
        if len(centres.rows) > most:
            reach = np.sqrt(2 * REACH_NATS / kappas[0])
            fraction = fraction_within(space, centres, relative, reach)
            most = max(most, int(self.max_rows / 4 / max(fraction, 1e-9)))
        if len(centres.rows) > most:
            centres = data.take(np.arange(most))
        return ScaleKernels(space, *centres[:3], kappas, relative)

    def kappas(self) -> np.ndarray:
        """Compute the concentrations, ascending."""
        steps = np.log(self.largest / self.smallest) / np.log(self.ratio)
        # The small number keeps a whole number of steps from being rounded down.
        return self.smallest * self.ratio ** np.arange(1 + int(np.floor(steps + 1e-9)))


def build_result(density: KernelDensity, best: float, began: float) -> FitResult[KernelDensity]:
    """Build the result of a fit; the rows that the density stores count as parameters.

    Args:
        density: The fitted density.
        best: Its mean held-out log density.
        began: When the fit began, by `time.monotonic`.

    Returns:
        The density and the record of its fit.
    """
    stored = jax.tree.leaves(eqx.filter(density.parts, eqx.is_inexact_array))
    size = sum(a.size for a in stored) + sum(len(w) for w in density.log_weights) - 1
    record = Record(size, stopped="weights converged")
    record.best_validation, record.seconds = -best, time.monotonic() - began
    return FitResult(density, record)
