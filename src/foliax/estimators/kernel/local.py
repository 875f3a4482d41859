"""The local kernel: each row's kernel has the shape of the rows around it."""

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
from ...registry import storable
from ...training import Callback
from ..base import AbstractEstimator, FitResult, named_estimator
from .bandwidths import find_relative
from .components import AbstractKernels, ScaleKernels
from .data import Data
from .density import KernelDensity
from .mixing import mixed
from .neighbours import local_kernels
from .pruning import components_of_parts
from .scale_mixture import ScaleMixtureKernel, fitted
from .shapes import Tangents
from .space import Space

CROWD = 12
LEAST = 300
"""Rows of a crowd, at the least."""


@named_estimator("local kernel")
@storable("rivals.LocalKernel")
@dataclasses.dataclass(frozen=True)
class LocalKernel(AbstractEstimator):
    """The scale-mixture kernel and kernels shaped by each row's nearest rows, in one mixture.

    A shape is the second moment of the tangent vectors to the `neighbours` nearest rows, widened
    by `widths`; a wrapped normal law of it, exactly normalised (its reach ends six deviations
    away at the least). Weights: EM on rows that were set aside in turn, in `folds` folds, when the
    kernels and their shapes were made; leaving one row out would not do, because its neighbours'
    shapes have seen it. Rows in a crowd and lone rows, in `crowds` equal parts by the distance to
    the 12th neighbour (of `LEAST` rows each), have weights of their own: a cluster's rows want
    other widths than what lies between clusters. Where all of a row is counted or rounded, shapes
    have nothing to add, and it is the scale-mixture kernel.
    """

    neighbours: tuple[int, ...] = (3, 6, 12, 24, 48, 96)
    widths: tuple[float, ...] = (0.25, 0.4, 0.6, 0.9, 1.3, 2.0)
    scales: ScaleMixtureKernel = dataclasses.field(default_factory=ScaleMixtureKernel)
    folds: int = 10
    most_weighed: int = 6000
    crowds: int = 3

    def __post_init__(self):
        if self.crowds < 1:
            raise ValueError(f"LocalKernel needs crowds >= 1, got {self.crowds}.")

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
        rows = Data.of(space, data.rows, data.weights)
        if not rows.together:
            return self.scales.fit(data, key=key)
        relative = find_relative(space, rows, self.scales.kappas(), key)
        order = np.asarray(jax.random.permutation(key, len(rows.rows)))[: self.scales.max_rows]
        rows = rows.take(order)
        # As many crowds for all rows as for those of a fold.
        count = min(self.crowds, max(1, (len(rows.rows) - len(rows.rows) // self.folds) // LEAST))
        scores, weighed = self._cross_fitted(tangents, rows, relative, count)
        parts = self._parts(tangents, rows, relative, count)
        return fitted(*mixed(manifold, parts, scores, weighed, self.scales.chance), began)

    def uses_all_rows(self, n: int) -> bool:
        return self.scales.uses_all_rows(n)

    def _parts(
        self, tangents: Tangents, data: Data, relative: np.ndarray, count: int
    ) -> tuple[AbstractKernels, ...]:
        shaped = local_kernels(tangents, data, relative, self.neighbours, self.widths)
        parts: list[AbstractKernels] = []
        for chosen in crowds(tangents.space, data, relative, count):
            some = data.take(chosen)
            parts.append(
                ScaleKernels(
                    tangents.space,
                    some.rows,
                    some.weights,
                    some.groups,
                    self.scales.kappas(),
                    relative,
                )
            )
            images = len(shaped[0].rows) // len(data.rows)
            each = (chosen[:, None] * images + np.arange(images)).reshape(-1)
            parts += [part.take(each) for part in shaped]
        return tuple(parts)

    def _cross_fitted(
        self, tangents: Tangents, data: Data, relative: np.ndarray, count: int
    ) -> tuple[Float[np.ndarray, "m k"], Data]:
        """Log densities of rows under components made without their fold, and these rows."""
        n = len(data.rows)
        folds = min(self.folds, n)
        size = n // folds
        used = min(size, max(1, self.most_weighed // folds))
        scores, weighed = [], []
        for fold in range(folds):
            held = np.arange(fold * size, (fold + 1) * size)
            kept = np.setdiff1d(np.arange(n), held)
            held = held[:used]
            parts = self._parts(tangents, data.take(kept), relative, count)
            scores.append(components_of_parts(parts, data.rows[held]))
            weighed.append(held)
        return np.concatenate(scores), data.take(np.concatenate(weighed))


def crowds(
    space: Space, data: Data, relative: np.ndarray, count: int
) -> list[Int[np.ndarray, " _"]]:
    """Numbers of the rows in equal parts, from the most crowded to the loneliest."""
    if count == 1:
        return [np.arange(len(data.rows))]
    embedded = np.asarray(jax.vmap(space.embed)(jnp.asarray(data.rows)), float)
    embedded = embedded * relative[space.owners()]
    distance = KDTree(embedded).query(embedded, CROWD + 1)[0][:, -1]
    return np.array_split(np.argsort(distance, kind="stable"), count)
