"""The local kernel: each row's kernel has the covariance of the rows around it."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int, PRNGKeyArray
from scipy.spatial import KDTree

from ...density import Dataset
from ...density.blocks import assign_folds
from ...manifolds import AbstractManifold
from ...registry import storable
from ...training import Callback
from ..base import AbstractEstimator, FitResult, named_estimator
from .bandwidths import add_broad_concentrations, find_relative_bandwidths
from .base import AbstractKernels
from .components import ScaleKernels
from .cost import (
    MIN_SHAPED_ROWS,
    SHAPING_WORK_UNITS,
    has_kernels,
    kernel_scale,
    local_kernel_work,
)
from .data import DistinctRows
from .density import KernelDensity
from .mixing import fit_mixture
from .neighbours import local_kernels
from .pruning import evaluate_parts
from .scale_mixture import ScaleMixtureKernel, build_result
from .shapes import Tangents
from .space import Space

STRATUM_NEIGHBOUR = 12
"""The neighbour whose distance measures the local density: near, yet not changed by few rows."""
MIN_STRATUM_ROWS = 300
"""Rows of a stratum, enough to fit its weights."""


@named_estimator("local kernel")
@storable(
    "rivals.LocalKernel",
    renamed_fields={"most_weighed": "max_scored_rows", "crowds": "strata"},
)
@dataclasses.dataclass(frozen=True)
class LocalKernel(AbstractEstimator):
    """A mixture of the scale-mixture kernel and kernels with the covariance of their neighbours.

    A covariance is the second moment of the tangent vectors to the nearest rows. The kernel is a
    wrapped normal of it, exactly normalised, since tangent coordinates end at least six deviations
    away. Weights are fitted by EM on cross-validated log densities. Leave-one-out would not do,
    because the covariances of a row's neighbours depend on the row. A fold holds whole blocks, if
    the rows are in blocks. Where all columns are counted or rounded, covariances add nothing, and
    the result is the scale-mixture kernel. A broad component has a weight of at least 0.01, as in
    `ScaleMixtureKernel`.

    Args:
        neighbours: Numbers of neighbours. The defaults cover small samples of one mode as well as
            long structures.
        widths: Factors of the covariance's deviations, around the optimum for a normal density.
        scales: The scale-mixture kernel of the same mixture.
        folds: Folds of the cross-validation. Ten make kernels of 90 % of the rows.
        max_scored_rows: The number of rows that fit the weights. More hardly change them.
        strata: The number of local-density strata of equal size. Weights are fitted separately for
            each stratum, since rows in a cluster need other widths than rows between clusters. Each
            stratum has at least `MIN_STRATUM_ROWS` rows.

    Raises:
        ValueError: `strata` is below 1.
    """

    neighbours: tuple[int, ...] = (3, 6, 12, 24, 48, 96)
    widths: tuple[float, ...] = (0.25, 0.4, 0.6, 0.9, 1.3, 2.0)
    scales: ScaleMixtureKernel = dataclasses.field(default_factory=ScaleMixtureKernel)
    folds: int = 10
    max_scored_rows: int = 6000
    strata: int = 3

    def __post_init__(self):
        if self.strata < 1:
            raise ValueError(f"LocalKernel needs strata >= 1, got {self.strata}.")

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
        tangents = Tangents(space)
        rows = DistinctRows.from_rows(space, data.rows, data.weights, data.blocks, data.names)
        if not rows.leave_out_copies:
            return self.scales.fit(data, key=key)
        kappas = add_broad_concentrations(space, rows, self.scales.kappas())
        relative = find_relative_bandwidths(space, rows, kappas, key)
        order = np.asarray(jax.random.permutation(key, len(rows.rows)))[: self.scales.max_rows]
        rows = rows.take(order)
        # All rows have as many strata as the rows of a training fold.
        folds = self._folds(rows)
        training = len(rows.rows) - max(map(len, folds))
        count = min(self.strata, max(1, training // MIN_STRATUM_ROWS))
        scores, scored = self._cross_validate(tangents, rows, folds, kappas, relative, count)
        parts = self._build_parts(tangents, rows, kappas, relative, count)
        mixed = fit_mixture(manifold, parts, scores, scored, self.scales.min_gain)
        return build_result(*mixed, began)

    @property
    def keeps_broad_component(self) -> bool:
        return True

    def serves(self, manifold: AbstractManifold) -> bool:
        return has_kernels(manifold)

    def fit_work(self, n: int, manifold: AbstractManifold) -> float:
        return local_kernel_work(min(n, self.scales.max_rows), manifold)

    def min_work(self, n: int, manifold: AbstractManifold) -> float:
        return self.within(0.0, n, manifold).fit_work(n, manifold)

    def within(self, work: float, n: int, manifold: AbstractManifold) -> LocalKernel:
        per_row = kernel_scale(manifold) * SHAPING_WORK_UNITS
        rows = int((work - local_kernel_work(0, manifold)) / per_row)
        most = min(self.scales.max_rows, max(MIN_SHAPED_ROWS, rows))
        if n <= most:
            return self
        return dataclasses.replace(self, scales=dataclasses.replace(self.scales, max_rows=most))

    def uses_all_rows(self, n: int) -> bool:
        return self.scales.uses_all_rows(n)

    def _build_parts(
        self,
        tangents: Tangents,
        data: DistinctRows,
        kappas: np.ndarray,
        relative: np.ndarray,
        count: int,
    ) -> tuple[AbstractKernels, ...]:
        """Build the kernels of each stratum."""
        shaped = local_kernels(tangents, data, relative, self.neighbours, self.widths)
        parts: list[AbstractKernels] = []
        for chosen in density_strata(tangents.space, data, relative, count):
            some = data.take(chosen)
            parts.append(
                ScaleKernels(
                    tangents.space,
                    some.rows,
                    some.weights,
                    some.groups,
                    kappas,
                    relative,
                )
            )
            images = len(shaped[0].rows) // len(data.rows)
            each = (chosen[:, None] * images + np.arange(images)).reshape(-1)
            parts += [part.take(each) for part in shaped]
        return tuple(parts)

    def _cross_validate(
        self,
        tangents: Tangents,
        data: DistinctRows,
        folds: list[Int[np.ndarray, " _"]],
        kappas: np.ndarray,
        relative: np.ndarray,
        count: int,
    ) -> tuple[Float[np.ndarray, "m k"], DistinctRows]:
        """Evaluate components at rows of the folds that they are built without; also the rows."""
        scores, scored = [], []
        for held in folds:
            kept = np.setdiff1d(np.arange(len(data.rows)), held)
            held = held[: max(1, self.max_scored_rows // len(folds))]
            parts = self._build_parts(tangents, data.take(kept), kappas, relative, count)
            scores.append(evaluate_parts(parts, data.rows[held]))
            scored.append(held)
        return np.concatenate(scores), data.take(np.concatenate(scored))

    def _folds(self, data: DistinctRows) -> list[Int[np.ndarray, " _"]]:
        """The rows of each fold: equal numbers of rows, or whole blocks."""
        n = len(data.rows)
        if data.in_blocks:
            fold = assign_folds(data.groups, self.folds)
            return [np.flatnonzero(fold == number) for number in range(fold.max() + 1)]
        folds = min(self.folds, n)
        return list(np.arange(n // folds * folds).reshape(folds, -1))


def density_strata(
    space: Space, data: DistinctRows, relative: np.ndarray, count: int
) -> list[Int[np.ndarray, " _"]]:
    """Split rows into strata of equal size by their local density, the densest stratum first.

    Args:
        space: The manifold and its kernel families.
        data: The rows.
        relative: The relative bandwidths.
        count: The number of strata.

    Returns:
        The numbers of the rows of each stratum.
    """
    if count == 1:
        return [np.arange(len(data.rows))]
    embedded = np.asarray(jax.vmap(space.embed)(jnp.asarray(data.rows)), float)
    embedded = embedded * relative[space.bandwidth_index()]
    distance = KDTree(embedded).query(embedded, STRATUM_NEIGHBOUR + 1)[0][:, -1]
    return np.array_split(np.argsort(distance, kind="stable"), count)
