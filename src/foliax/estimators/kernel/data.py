"""Weighted rows without duplicates."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from scipy.spatial import KDTree

from ...manifolds.base import as_points
from ..base import FitError
from .space import Space

SAMPLE = 20_000
"""Rows that tell how many are near each other."""


class Data(NamedTuple):
    """Distinct rows, their weights, and the group with which each leaves."""

    rows: np.ndarray
    weights: np.ndarray
    groups: np.ndarray
    together: bool
    """Whether copies of a row leave with it."""

    @staticmethod
    def of(space: Space, rows: Any, weights: Any) -> Data:
        """Rows without copies; an error where too few are left."""
        rows = np.asarray(jnp.asarray(as_points(space.manifold, rows)))
        weights = np.ones(len(rows)) if weights is None else np.asarray(weights, float)
        if weights.shape != (len(rows),) or not (weights >= 0).all() or not weights.sum() > 0:
            raise ValueError(
                f"Weights must be {len(rows)} non-negative numbers that are not all zero."
            )
        distinct, first = np.unique(rows, axis=0, return_inverse=True)
        total = np.bincount(first.reshape(-1), weights)
        distinct, total = distinct[total > 0], total[total > 0]
        together = not space.rounded().all()
        if len(distinct) < 2 and together:
            raise FitError(
                f"A kernel estimate needs at least 2 distinct rows of {space.manifold}; "
                f"there is {len(distinct)}."
            )
        return Data(distinct, total, np.arange(len(distinct)), together)

    def take(self, chosen: np.ndarray) -> Data:
        """Some of the rows."""
        return self._replace(
            rows=self.rows[chosen], weights=self.weights[chosen], groups=self.groups[chosen]
        )


def merged(space: Space, data: Data, relative: np.ndarray, side: float) -> Data:
    """The first row of every cube of this side, with the weight of all that are in it."""
    embedded = space.placed(data.rows, relative, cells=True)
    cubes = np.floor(embedded / side).astype(np.int64).view(np.uint64)
    # One number for each cube: two of a million share it by chance once in thirty million times.
    factors = np.random.default_rng(0).integers(0, 2**64, cubes.shape[1], np.uint64) | 1
    mixed_up = ((cubes * factors) ^ (cubes * factors >> np.uint64(29))).sum(1, dtype=np.uint64)
    _, first, which = np.unique(mixed_up, return_index=True, return_inverse=True)
    return data.take(first)._replace(weights=np.bincount(which, data.weights))


def share_within(space: Space, data: Data, relative: np.ndarray, reach: float) -> float:
    """The share of the rows that is near a row, on the average; by some of them."""
    some = np.random.default_rng(0).permutation(len(data.rows))[:SAMPLE]
    places = space.placed(data.rows[some], relative).astype(float)
    if not places.size:
        return 1.0
    # A row that stands for many is asked as often as they would be.
    asked = np.random.default_rng(1).choice(
        len(some), 300, p=data.weights[some] / data.weights[some].sum()
    )
    near = KDTree(places).query_ball_point(places[asked], reach, return_length=True)
    return float(np.mean(near)) / len(some)
