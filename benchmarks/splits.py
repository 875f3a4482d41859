"""Split rows 80/10/10, with or without copies, and jitter test rows within their cells."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from foliax.manifolds import AbstractManifold


class Split(NamedTuple):
    """Points on a manifold, and test rows jittered within the cell of their last digit."""

    manifold: AbstractManifold
    train: np.ndarray
    validation: np.ndarray
    test: np.ndarray
    jittered: np.ndarray


class Recorded(NamedTuple):
    """Values as recorded, the width of each value's cell (0: no jitter), and a map to points."""

    manifold: AbstractManifold
    values: np.ndarray
    widths: np.ndarray
    points: Callable[[np.ndarray], np.ndarray]


def split_rows(recorded: Recorded, order: np.ndarray, raw: bool = False) -> Split:
    """Split rows, in this order, into training, validation and test rows.

    Unless `raw`, only the first of equal rows stays: training rows are distinct, validation rows do
    not occur in training, and test rows occur in neither.
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
