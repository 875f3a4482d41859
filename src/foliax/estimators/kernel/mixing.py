"""Weight kernels, and drop those that gain nothing."""

from __future__ import annotations

import bisect
from collections.abc import Sequence

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from ...manifolds import AbstractManifold
from ..weights import mixture_weights
from .background import Background
from .components import AbstractKernels
from .data import Data
from .density import KernelDensity

LIGHT = 1000
"""Kernels that are evaluated in no time."""
NOTHING = 1.0
"""Nats of the weighed rows' log-likelihood, for which no component is worth its time."""


def mixed(
    manifold: AbstractManifold,
    parts: Sequence[AbstractKernels],
    scores: Float[np.ndarray, "n k"],
    rows: Data,
    chance: float,
) -> tuple[KernelDensity, float]:
    """The mixture of all components by EM on their held-out scores, and its mean held-out score.

    The uniform density is among the components where there is one. Sharp components are left out
    where all of them together gain no more than `chance` nats, and those of the smallest weights
    where they gain no more than `NOTHING`: they would only take time.
    """
    parts, scores = with_background(manifold, parts, scores)
    shares, _ = weighed(parts, scores, rows, chance)
    shares, best = fewest(parts, shares, scores, rows, min(chance, NOTHING))
    return KernelDensity(manifold, *pruned(parts, shares)), best


def with_background(
    manifold: AbstractManifold, parts: Sequence[AbstractKernels], scores: Float[np.ndarray, "n k"]
) -> tuple[list[AbstractKernels], Float[np.ndarray, "n l"]]:
    """The uniform density beside the parts, where there is one, and its scores beside theirs."""
    if not np.isfinite(manifold.log_total_volume()):
        return list(parts), scores
    uniform = np.full((len(scores), 1), -manifold.log_total_volume())
    return [*parts, Background(manifold)], np.concatenate([scores, uniform], axis=1)


def weighed(
    parts: Sequence[AbstractKernels], scores: Float[np.ndarray, "n k"], rows: Data, chance: float
) -> tuple[Float[np.ndarray, " k"], float]:
    """The components' shares, the sharpest's none where they gain too little; the mean score."""
    order = np.argsort(-np.concatenate([part.breadths for part in parts]), kind="stable")
    broad = order[: supported(scores[:, order], rows, chance)]
    shares = np.zeros(len(order))
    shares[broad], best = mixture_weights(scores[:, broad], rows.weights)
    return shares, best


def fewest(
    parts: Sequence[AbstractKernels],
    shares: Float[np.ndarray, " k"],
    scores: Float[np.ndarray, "n k"],
    rows: Data,
    chance: float,
) -> tuple[Float[np.ndarray, " k"], float]:
    """The shares without the smallest, which together gain no more than `chance` nats.

    Those of few kernels stay: they take no time; and the broadest, which serves what is far from
    all rows.
    """
    stay = np.concatenate([np.full(part.components, part.count <= LIGHT) for part in parts])
    breadths = np.concatenate([part.breadths for part in parts])
    stay[np.argmax(np.where(shares > 0, breadths, -np.inf))] = True
    order = np.lexsort((-shares, ~stay))
    order = order[shares[order] > 0]
    order = order[: max(stay[order].sum(), supported(scores[:, order], rows, chance))]
    fewer = np.zeros(len(shares))
    fewer[order], best = mixture_weights(scores[:, order], rows.weights)
    return fewer, best


def supported(scores: Float[np.ndarray, "n k"], rows: Data, chance: float) -> int:
    """How many of the first components do as well as all, but for `chance` nats.

    Copies that leave together are one row; others are as many as their weight says.
    """
    _, best = mixture_weights(scores, rows.weights)
    count = len(scores) if rows.together else max(len(scores), float(rows.weights.sum()))

    def enough(first: int) -> bool:
        if not np.isfinite(scores[:, :first].max(1)).all():
            return False
        _, found = mixture_weights(scores[:, :first], rows.weights)
        return bool(count * (best - found) <= chance)

    return bisect.bisect_left(range(1, scores.shape[1]), True, key=enough) + 1


def by_part(
    parts: Sequence[AbstractKernels], shares: Float[np.ndarray, " k"]
) -> list[Float[np.ndarray, " _"]]:
    """The shares of each part's components."""
    return np.split(shares, np.cumsum([part.components for part in parts])[:-1])


def pruned(
    parts: Sequence[AbstractKernels], shares: Float[np.ndarray, " k"], *, least: float = 1e-6
) -> tuple[tuple[AbstractKernels, ...], tuple]:
    """The parts with components of negligible weight taken out, and their log weights."""
    pairs = [
        (part.only(own > least), own[own > least])
        for part, own in zip(parts, by_part(parts, shares), strict=True)
        if (own > least).any()
    ]
    kept, each = zip(*pairs, strict=True)
    total = sum(own.sum() for own in each)
    return kept, tuple(jnp.asarray(np.log(own / total)) for own in each)
