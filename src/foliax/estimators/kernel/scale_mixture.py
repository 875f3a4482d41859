"""The kernel density whose bandwidths are mixed per row."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Sequence

import equinox as eqx
import jax
import numpy as np
from jaxtyping import PRNGKeyArray

from ...density import Dataset
from ...registry import storable
from ...training import Callback, Record
from ..base import AbstractEstimator, FitResult, named_estimator
from .bandwidths import find_relative, leave_one_out, useful
from .components import ScaleKernels
from .data import Data, merged, share_within
from .density import KernelDensity
from .mixing import by_part, fewest, mixed, pruned, weighed, with_background
from .pruning import components_of_parts
from .space import Space

SIDE = 0.7
"""Of the cubes whose rows carry one kernel, in bandwidths."""
DEPTH = 20.0
"""Nats below its peak from which a kernel hardly counts."""


@named_estimator("kernel")
@storable("rivals.ScaleMixtureKernel")
@dataclasses.dataclass(frozen=True)
class ScaleMixtureKernel(AbstractEstimator):
    """p = π₀·uniform + Σ_k π_k Σ_i w_i K(· | y_i, κ_k), κ_k from `smallest` to `largest`.

    Each κ is `ratio` times the one before. Exactly normalised on spheres, tori, SO(n), reals,
    half-lines, intervals, counts, rounded values, their products and quotients. The weights π
    maximise the leave-one-out likelihood of the rows by EM. A row leaves together with its exact
    copies, so that copies cannot drive the likelihood to infinity; where all of a row is counted or
    rounded, whose likelihood is bounded, it leaves alone. With several bandwidths (factors of a
    product, angles of a torus) their ratios are found by the same likelihood, of at most 1,000 rows
    under at most 8,000 kernels. Beyond `max_rows` a fifth of the rows, and so many at the most,
    weigh kernels made of the rest; then all carry kernels, those in one cube of 0.7 bandwidths as
    one; where this leaves more than 5 `max_rows` for a κ and `max_rows`/4 within reach of a row, so
    many random rows as do not. The sharpest κ are left out where all of them together gain no more
    than `chance` nats of log-likelihood: so much comes of a few rows that happen to be near each
    other, and only spikes would come of it. Likewise those of the smallest weights, for one nat
    (beyond `max_rows` for `chance`), but for the broadest and for those of few kernels.
    """

    smallest: float = 0.5
    largest: float = 1.4e8
    max_rows: int = 20_000
    chance: float = 5.0
    ratio: float = 2.0

    def __post_init__(self):
        if not (0 < self.smallest < self.largest and self.max_rows >= 2 and self.chance >= 0):
            raise ValueError(
                "ScaleMixtureKernel needs 0 < smallest < largest, max_rows >= 2 and chance >= 0, "
                f"got {self.smallest}, {self.largest}, {self.max_rows} and {self.chance}."
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
        rows = Data.of(space, data.rows, data.weights)
        relative = find_relative(space, rows, self.kappas(), key)
        if len(rows.rows) > self.max_rows:
            return self._of_many(space, rows, relative, key, began)
        kappas = useful(space, rows, relative, self.kappas(), key)
        kernels = ScaleKernels(space, *rows[:3], kappas, relative)
        scores = leave_one_out(kernels, rows)
        return fitted(*mixed(manifold, (kernels,), scores, rows, self.chance), began)

    def uses_all_rows(self, n: int) -> bool:
        return n <= self.max_rows

    def _of_many(
        self, space: Space, data: Data, relative: np.ndarray, key: PRNGKeyArray, began: float
    ) -> FitResult[KernelDensity]:
        """Weights by rows set aside, and kernels of all rows, fewer the broader the kernels are."""
        data = data.take(np.asarray(jax.random.permutation(key, len(data.rows))))
        aside = min(self.max_rows, len(data.rows) // 5)
        held, others = data.take(np.arange(aside)), data.take(np.arange(aside, len(data.rows)))
        pairs = [self.kappas()[k : k + 2] for k in range(0, len(self.kappas()), 2)]
        parts = [self._merged(space, others, relative, pair) for pair in pairs]
        scores = components_of_parts(parts, held.rows)
        parts, scores = with_background(space.manifold, parts, scores)
        shares, best = weighed(parts, scores, held, self.chance)
        shares, best = fewest(parts, shares, scores, held, self.chance)
        # Of all rows now, but only what has any weight.
        whole = [
            self._merged(space, data, relative, pair) if own.any() else part
            for pair, part, own in zip(pairs, parts, by_part(parts, shares), strict=False)
        ]
        parts = [*whole, *parts[len(pairs) :]]
        found = fitted(KernelDensity(space.manifold, *pruned(parts, shares)), best, began)
        carried = max((part.count for part in found.density.parts), default=0)
        found.record.events.append(
            f"{len(data.rows)} distinct rows carry kernels, near ones together, {carried} at the "
            f"most for a bandwidth; {aside} of them weighed those of the others."
        )
        return found

    def _merged(
        self, space: Space, data: Data, relative: np.ndarray, kappas: np.ndarray
    ) -> ScaleKernels:
        """Kernels of all rows, of those in a cube as one; of fewer rows where it were too many."""
        centres = merged(space, data, relative, SIDE / np.sqrt(kappas[-1]))
        most = 5 * self.max_rows
        if len(centres.rows) > most:
            reach = np.sqrt(2 * DEPTH / kappas[0])
            crowding = share_within(space, centres, relative, reach)
            most = max(most, int(self.max_rows / 4 / max(crowding, 1e-9)))
        if len(centres.rows) > most:
            centres = data.take(np.arange(most))
        return ScaleKernels(space, *centres[:3], kappas, relative)

    def kappas(self) -> np.ndarray:
        """The concentrations."""
        steps = np.log(self.largest / self.smallest) / np.log(self.ratio)
        # A whole number of steps must not be lost to rounding.
        return self.smallest * self.ratio ** np.arange(1 + int(np.floor(steps + 1e-9)))


def fitted(density: KernelDensity, best: float, began: float) -> FitResult[KernelDensity]:
    """The density with its record; rows that it stores count as parameters."""
    stored = jax.tree.leaves(eqx.filter(density.parts, eqx.is_inexact_array))
    size = sum(a.size for a in stored) + sum(len(w) for w in density.log_weights) - 1
    record = Record(size, stopped="weights converged")
    record.best_validation, record.seconds = -best, time.monotonic() - began
    return FitResult(density, record)
