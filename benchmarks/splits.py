"""Rows divided 80/10/10, with or without copies, and moved within the cells of their digits."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from foliax.manifolds import AbstractManifold


class Split(NamedTuple):
    """Points of a manifold, and test rows moved within the cell of their last digit."""

    manifold: AbstractManifold
    train: np.ndarray
    validation: np.ndarray
    test: np.ndarray
    jittered: np.ndarray


class Recorded(NamedTuple):
    """Values as recorded, the width of the cell of each (0: not to be moved), their points."""

    manifold: AbstractManifold
    values: np.ndarray
    widths: np.ndarray
    points: Callable[[np.ndarray], np.ndarray]


def divided(recorded: Recorded, order: np.ndarray, raw: bool = False) -> Split:
    """Train, validation and test rows in this order.

    Unless `raw`, the first of equal rows keeps its place and the others go: training rows are
    distinct, validation rows do not occur in training, test rows in neither.
    """
    manifold, values, widths, points = recorded
    tenth = len(values) // 10
    places = np.arange(len(values))
    if not raw:
        places = np.sort(np.unique(values[order], axis=0, return_index=True)[1])
    ends = np.searchsorted(places, [len(values) - 2 * tenth, len(values) - tenth])
    train, validation, test = np.split(order[places], ends)
    shifts = np.random.default_rng(0).uniform(-0.5, 0.5, widths[test].shape)
    moved = values[test] + widths[test] * shifts
    return Split(
        manifold, *(points(v) for v in (values[train], values[validation], values[test], moved))
    )
