"""Fit the weights of kernel components, and drop components that gain nothing."""

from __future__ import annotations

import bisect
from collections.abc import Sequence

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from ...density.blocks import assign_folds
from ...manifolds import AbstractManifold
from ..base import MIN_BROAD_WEIGHT
from ..weights import mixture_weights
from .background import Background
from .base import AbstractKernels
from .components import ScaleKernels
from .data import DistinctRows
from .density import KernelDensity

MAX_CHEAP_KERNELS = 1000
"""Kernels of a part up to which dropping its components saves no noticeable time."""
MIN_GAIN_NATS = 1.0
"""The total held-out log-likelihood that slow components must gain to be worth their time."""
WEIGHT_FOLDS = 10
"""Folds of blocks by which the score of fitted weights is cross-validated; EM takes no time."""
MIN_WEIGHT = 1e-6
"""The mixture weight below which a component is dropped: float32 hardly sees it."""


def fit_mixture(
    manifold: AbstractManifold,
    parts: Sequence[AbstractKernels],
    scores: Float[np.ndarray, "n k"],
    rows: DistinctRows,
    min_gain: float,
) -> tuple[KernelDensity, float]:
    """Fit the weights of all components by EM on held-out scores.

    A uniform component is added where the volume is finite. Sharp components are dropped if all of
    them gain at most `min_gain` nats. Components of small weight are dropped if all of them gain at
    most `MIN_GAIN_NATS`, since they only take time. The broadest component stays in any case.

    Args:
        manifold: The manifold.
        parts: Lists of kernels.
        scores: Held-out log densities of rows under every component.
        rows: The rows that were scored.
        min_gain: Nats of total log-likelihood that sharp components must gain.

    Returns:
        The density, and its mean held-out score.
    """
    parts, scores = add_background(manifold, parts, scores)
    shares, _ = fit_weights(parts, scores, rows, min_gain)
    shares, _ = prune_components(parts, shares, scores, rows, min(min_gain, MIN_GAIN_NATS))
    shares, best = keep_broad_component(parts, shares, scores, rows)
    return KernelDensity(manifold, *drop_negligible(parts, shares)), best


def add_background(
    manifold: AbstractManifold, parts: Sequence[AbstractKernels], scores: Float[np.ndarray, "n k"]
) -> tuple[list[AbstractKernels], Float[np.ndarray, "n l"]]:
    """Add the uniform density and its scores, where the volume is finite."""
    if not np.isfinite(manifold.log_total_volume()):
        return list(parts), scores
    uniform = np.full((len(scores), 1), -manifold.log_total_volume())
    return [*parts, Background(manifold)], np.concatenate([scores, uniform], axis=1)


def fit_weights(
    parts: Sequence[AbstractKernels],
    scores: Float[np.ndarray, "n k"],
    rows: DistinctRows,
    min_gain: float,
) -> tuple[Float[np.ndarray, " k"], float]:
    """Fit the weights by EM, without the sharpest components if they gain at most `min_gain` nats.

    Args:
        parts: Lists of kernels.
        scores: Held-out log densities of rows under every component.
        rows: The rows that were scored.
        min_gain: Nats of total log-likelihood that sharp components must gain.

    Returns:
        The weight of every component, 0 for those left out, and the mean score.
    """
    order = np.argsort(-np.concatenate([part.bandwidths for part in parts]), kind="stable")
    broad = order[: count_sufficient(scores[:, order], rows, min_gain)]
    shares = np.zeros(len(order))
    shares[broad], best = mixture_weights(scores[:, broad], rows.weights, names=rows.names)
    return shares, best


def prune_components(
    parts: Sequence[AbstractKernels],
    shares: Float[np.ndarray, " k"],
    scores: Float[np.ndarray, "n k"],
    rows: DistinctRows,
    min_gain: float,
) -> tuple[Float[np.ndarray, " k"], float]:
    """Remove the components of smallest weight that gain at most `min_gain` nats in total.

    Components of few kernels stay, because they take no time. The broadest stays, because it serves
    points far from all rows.

    Args:
        parts: Lists of kernels.
        shares: The weight of every component.
        scores: Held-out log densities of rows under every component.
        rows: The rows that were scored.
        min_gain: Nats of total log-likelihood that the removed components may gain.

    Returns:
        The new weights, 0 for removed components, and the mean score.
    """
    stay = np.concatenate(
        [np.full(part.n_components, part.n_rows <= MAX_CHEAP_KERNELS) for part in parts]
    )
    bandwidths = np.concatenate([part.bandwidths for part in parts])
    stay[np.argmax(np.where(shares > 0, bandwidths, -np.inf))] = True
    order = np.lexsort((-shares, ~stay))
    order = order[shares[order] > 0]
    order = order[: max(stay[order].sum(), count_sufficient(scores[:, order], rows, min_gain))]
    fewer = np.zeros(len(shares))
    fewer[order], best = mixture_weights(scores[:, order], rows.weights, names=rows.names)
    return fewer, best


def keep_broad_component(
    parts: Sequence[AbstractKernels],
    shares: Float[np.ndarray, " k"],
    scores: Float[np.ndarray, "n k"],
    rows: DistinctRows,
) -> tuple[Float[np.ndarray, " k"], float]:
    """Raise the weight of the broadest component to `MIN_BROAD_WEIGHT`, if it is lower.

    The broadest component is the uniform density, or the kernels of the smallest concentration
    where the volume is infinite. New rows may lie far from all others, and a weight of 0 would
    make them infinitely unlikely.

    Args:
        parts: Lists of kernels.
        shares: The weight of every component.
        scores: Held-out log densities of rows under every component.
        rows: The rows that were scored.

    Returns:
        The new weights, and the mean score. Blocks are few, and weights that are fitted to them
        favour them. So each tenth of the blocks is then scored by the weights that the others fit.
    """
    least = MIN_BROAD_WEIGHT * _broadest(parts)
    shares = _raise_to(least, shares)
    logs = _log_mixture(scores, shares)
    if rows.in_blocks:
        used, fold = shares > 0, assign_folds(rows.groups, WEIGHT_FOLDS)
        for number in range(fold.max() + 1):
            own, fitted = fold == number, np.zeros(len(shares))
            others = rows.take(~own)
            fitted[used], _ = mixture_weights(
                scores[np.ix_(~own, used)], others.weights, names=others.names
            )
            logs[own] = _log_mixture(scores[own], _raise_to(least, fitted))
    return shares, float(np.average(logs, weights=rows.weights))


def _raise_to(
    least: Float[np.ndarray, " k"], shares: Float[np.ndarray, " k"]
) -> Float[np.ndarray, " k"]:
    """Raise weights to their least values, and scale down the others."""
    while (shares < least * (1 - 1e-9)).any():
        low = shares <= least
        shares = np.where(low, least, shares * (1 - least[low].sum()) / shares[~low].sum())
    return shares


def _log_mixture(
    scores: Float[np.ndarray, "n k"], shares: Float[np.ndarray, " k"]
) -> Float[np.ndarray, " n"]:
    used = shares > 0
    return np.logaddexp.reduce(scores[:, used] + np.log(shares[used]), axis=1)


def _broadest(parts: Sequence[AbstractKernels]) -> Float[np.ndarray, " k"]:
    """The broadest component as a mixture: shares of 1 in total, 0 for all other components.

    Several parts of different rows may have kernels of the smallest concentration.
    """
    each = [part.bandwidths * isinstance(part, Background | ScaleKernels) for part in parts]
    top = max(own.max() for own in each)
    found = [(own == top) * max(1, part.n_rows) for own, part in zip(each, parts, strict=True)]
    return np.concatenate(found) / np.sum([own.sum() for own in found])


def count_sufficient(scores: Float[np.ndarray, "n k"], rows: DistinctRows, min_gain: float) -> int:
    """Count how many of the first components score within `min_gain` nats of all components.

    Copies that are left out together count as one row; others count by their weight.
    """
    _, best = mixture_weights(scores, rows.weights, names=rows.names)
    weight = float(rows.weights.sum())
    count = len(scores) if rows.leave_out_copies else max(len(scores), weight)

    def is_enough(first: int) -> bool:
        if not np.isfinite(scores[:, :first].max(1)).all():
            return False
        _, found = mixture_weights(scores[:, :first], rows.weights, names=rows.names)
        return bool(count * (best - found) <= min_gain)

    return bisect.bisect_left(range(1, scores.shape[1]), True, key=is_enough) + 1


def split_by_part(
    parts: Sequence[AbstractKernels], shares: Float[np.ndarray, " k"]
) -> list[Float[np.ndarray, " _"]]:
    """Split the components' weights into those of each part."""
    return np.split(shares, np.cumsum([part.n_components for part in parts])[:-1])


def drop_negligible(
    parts: Sequence[AbstractKernels], shares: Float[np.ndarray, " k"]
) -> tuple[tuple[AbstractKernels, ...], tuple]:
    """Drop components with a weight of at most `MIN_WEIGHT`; return the parts and log weights."""
    pairs = [
        (part.select(own > MIN_WEIGHT), own[own > MIN_WEIGHT])
        for part, own in zip(parts, split_by_part(parts, shares), strict=True)
        if (own > MIN_WEIGHT).any()
    ]
    kept, each = zip(*pairs, strict=True)
    total = sum(own.sum() for own in each)
    return kept, tuple(jnp.asarray(np.log(own / total)) for own in each)
