"""Choose bandwidths by leave-one-out likelihood."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, PRNGKeyArray

from ...manifolds.local import location_and_scale
from ..weights import mixture_weights
from .components import ScaleKernels
from .data import DistinctRows
from .mixing import add_background
from .pruning import evaluate_parts
from .space import Space

SEARCH_ROUNDS = ((600, 600, 2.0), (8000, 1000, 2**0.5))
"""Rounds of the search for relative bandwidths: (rows with kernels, rows scored, step factor).

A cheap round finds the order of magnitude; a second one refines it where rows have neighbours.
"""
SELECTION_ROWS = 1000
"""Rows that are scored to select concentrations: enough for weights above `MIN_SELECTED_WEIGHT`."""
MIN_SELECTED_WEIGHT = 1e-4
"""The mixture weight below which a concentration is not tried on all rows."""
MAX_RATIO_CHANGE = 16.001
"""The largest factor between a relative bandwidth and its start; above 16 to allow for rounding.

Ties within a column would reward ever sharper kernels there.
"""
MAX_DEVIATION_SPREADS = 30.0
"""Spreads of the middle rows above which the deviation does not scale a coordinate's bandwidths.

One wild value, such as 1e9 for a missing one, would otherwise widen the sharpest kernels of all.
"""


def leave_one_out(kernels: ScaleKernels, data: DistinctRows) -> Float[np.ndarray, "n k"]:
    """Evaluate every component at the rows, each time without the row's group.

    The group is the row itself with its copies, or its block.

    Args:
        kernels: Kernels of all rows.
        data: Rows to evaluate at, with the groups that the kernels know.

    Returns:
        The log density of each row under each component.
    """
    if not (data.leave_out_copies or data.in_blocks):
        return _leave_one_copy_out(kernels, data)
    order = kernels.space.manifold.orbit_size
    shares = kernels.row_shares()[::order] * (1 if kernels.finest is None else order)
    groups, number = np.unique(np.asarray(kernels.groups)[::order], return_inverse=True)
    totals = np.stack([np.bincount(number, share) for share in shares.T], axis=1)
    place = np.minimum(np.searchsorted(groups, data.groups), len(groups) - 1)
    lost = np.where((groups[place] == data.groups)[:, None], totals[place], 0.0)
    values = evaluate_parts([kernels], data.rows, data.groups)
    # Where the group is all of a component, its density without the group is 0 already.
    return values - np.log1p(-np.where(np.isneginf(values), 0.0, lost))


def _leave_one_copy_out(kernels: ScaleKernels, data: DistinctRows) -> np.ndarray:
    """Remove one unit of weight from each row; for bounded likelihoods, where copies may stay."""
    everything = evaluate_parts([kernels], data.rows)
    others = evaluate_parts([kernels], data.rows, data.groups)
    unit = data.weights.sum() / max(len(data.rows), data.weights.sum())
    left = np.maximum(data.weights - unit, 0)[:, None] / data.weights[:, None]
    with np.errstate(divide="ignore"):
        # A row without copies is removed entirely, for which log 0 = −inf is right.
        kept = np.logaddexp(np.log1p(-left) + others, np.log(left) + everything)
    return kept - np.log1p(-unit / data.weights.sum())


def find_relative_bandwidths(
    space: Space, data: DistinctRows, kappas: np.ndarray, key: PRNGKeyArray
) -> Float[np.ndarray, " s"]:
    """Find the factors by which embedded coordinates are scaled before one κ applies to all.

    They start at one over each coordinate's deviation, or over its spread if few wild values make
    the deviation. Coordinate ascent then changes them in the steps of `SEARCH_ROUNDS`, to increase
    the leave-one-out likelihood.

    Args:
        space: The manifold and its kernel families.
        data: The rows.
        kappas: The concentrations.
        key: Chooses the rows of each round.

    Returns:
        One factor for each bandwidth.
    """
    start = 1 / _deviations(space, data)[1]
    if space.n_bandwidths == 1:
        # The concentrations cover all scales of a compact manifold.
        return np.ones(1) if np.isfinite(space.manifold.log_total_volume()) else start
    order = np.asarray(jax.random.permutation(key, len(data.rows)))
    relative = start
    for n_kernels, n_scored, step in SEARCH_ROUNDS:
        some, few = (data.take(np.sort(order[:count])) for count in (n_kernels, n_scored))

        def score(relative, some=some, few=few):
            # Every other scale, few rows and few EM steps suffice to compare ratios. Where copies
            # stay, scores lack a constant, since the total weight is not that of the few rows.
            kernels = ScaleKernels(space, *some[:3], kappas[::2], relative)
            scores = leave_one_out(kernels, few)
            return mixture_weights(scores, few.weights, steps=50, names=few.names)[1]

        relative = coordinate_ascent(score, relative, start, step)
    return relative


def add_broad_concentrations(
    space: Space, data: DistinctRows, kappas: np.ndarray
) -> Float[np.ndarray, " k"]:
    """Prepend concentrations so low that their kernels reach across rows with wild values.

    Args:
        space: The manifold and its kernel families.
        data: The rows.
        kappas: The concentrations, ascending.

    Returns:
        The concentrations, whose smallest one is as broad as the deviation of every coordinate.
    """
    deviation, scale = _deviations(space, data)
    ratio = kappas[1] / kappas[0]
    count = int(np.ceil(2 * np.log((deviation / scale).max()) / np.log(ratio) - 1e-9))
    return np.concatenate([kappas[0] * ratio ** -np.arange(count, 0, -1.0), kappas])


def _deviations(space: Space, data: DistinctRows) -> tuple[np.ndarray, np.ndarray]:
    """The deviation of the coordinates of each bandwidth, and what bandwidths start from."""
    index = space.bandwidth_index()
    embedded = np.asarray(jax.vmap(space.embed)(jnp.asarray(data.rows)), float)
    spread = location_and_scale(embedded)[1]
    deviation = np.sqrt(np.bincount(index, embedded.var(0)))
    deviation = np.where(deviation > 0, deviation, 1.0)
    robust = np.sqrt(np.bincount(index, spread**2))
    is_wild = deviation > MAX_DEVIATION_SPREADS * robust
    is_wild &= not np.isfinite(space.manifold.log_total_volume())
    return deviation, np.where(is_wild, robust, deviation)


def select_concentrations(
    space: Space, data: DistinctRows, relative: np.ndarray, kappas: np.ndarray, key: PRNGKeyArray
) -> np.ndarray:
    """Select the concentrations that have weight on a subsample of the rows, and their neighbours.

    All are kept where kernels are cheap: for few rows, or for one bandwidth.

    Args:
        space: The manifold and its kernel families.
        data: The rows.
        relative: The relative bandwidths.
        kappas: The concentrations, ascending.
        key: Chooses the subsample.

    Returns:
        The selected concentrations.
    """
    if len(data.rows) <= 4 * SELECTION_ROWS or space.n_bandwidths == 1:
        return kappas
    order = np.asarray(jax.random.permutation(key, len(data.rows)))
    few = data.take(np.sort(order[:SELECTION_ROWS]))
    kernels = ScaleKernels(space, *data[:3], kappas, relative)
    _, scores = add_background(space.manifold, [kernels], leave_one_out(kernels, few))
    shares, _ = mixture_weights(scores, few.weights, names=few.names)
    has_weight = shares[: len(kappas)] > MIN_SELECTED_WEIGHT
    selected = np.convolve(has_weight, np.ones(3), "same") > 0
    # Without a uniform component, the broadest kernel serves points far from all rows.
    selected[0] |= not np.isfinite(space.manifold.log_total_volume())
    return kappas[selected]


def coordinate_ascent(
    score: Callable[[np.ndarray], float], relative: np.ndarray, start: np.ndarray, step: float
) -> np.ndarray:
    """Increase a score by changing one relative bandwidth at a time.

    Args:
        score: The function to increase.
        relative: Where to begin.
        start: The values from which no result differs by more than `MAX_RATIO_CHANGE`.
        step: The factor of each change.

    Returns:
        Relative bandwidths with a score at least that of `relative`.
    """
    best = score(relative)
    for _ in range(3):
        before = best
        for s in range(len(relative)):
            for factor in (step, 1 / step):
                while 1 / MAX_RATIO_CHANGE <= relative[s] * factor / start[s] <= MAX_RATIO_CHANGE:
                    tried = relative.copy()
                    tried[s] *= factor
                    found = score(tried)
                    if found <= best + 1e-4:
                        break
                    relative, best = tried, found
        if best - before < 1e-3:
            break
    return relative
