"""The broad component of a stack, for rows far from those of the fit."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np

from ..density import AbstractDensity, LocalizedDensity, Stacked
from ..manifolds import AbstractManifold
from .base import MIN_BROAD_WEIGHT
from .kernel.background import Background
from .kernel.components import ScaleKernels
from .kernel.density import KernelDensity
from .mixture.base import MixtureDensity

ROUNDING = 1e-3
"""Relative error of a weight that float32 and EM leave."""


class Broad(NamedTuple):
    """A broad density, and its weight in another one."""

    density: AbstractDensity
    weight: float


def build_broad_stack(
    members: Sequence[AbstractDensity],
    weights: np.ndarray,
    others: Sequence[AbstractDensity] = (),
) -> tuple[AbstractDensity, float]:
    """Mix densities, with a weight of at least `MIN_BROAD_WEIGHT` of a broad one.

    The broad one is the uniform density. Where the volume is infinite it is the broadest kernel of
    a member, or of another density. So no row costs more than ln 100 nats below it. Kernels have
    this weight themselves, but a stack may give them a small weight, or none.

    Args:
        members: Densities on one manifold.
        weights: Their weights, positive, of sum 1.
        others: Further densities whose kernels may serve, if no member has any.

    Returns:
        The mixture, or the only member, and the weight of the broad density that was added.
    """
    broad = _find_broad(members, weights, others)
    if broad is None or broad.weight >= MIN_BROAD_WEIGHT * (1 - ROUNDING):
        added = 0.0
    else:
        added = (MIN_BROAD_WEIGHT - broad.weight) / (1 - broad.weight)
        members, weights = [*members, broad.density], np.append((1 - added) * weights, added)
    if len(members) == 1:
        return members[0], 0.0
    return Stacked(tuple(members), jnp.asarray(np.log(weights), jnp.float32)), added


def describe_broad(added: float) -> str:
    """Return the event that a broad density was added."""
    return (
        f"Added a broad density with a weight of {added:.4f}, so that no row costs more than "
        "ln 100 nats below it."
    )


def _find_broad(
    members: Sequence[AbstractDensity], weights: np.ndarray, others: Sequence[AbstractDensity]
) -> Broad | None:
    """Find the broad density and its weight in the mixture."""
    manifold = members[0].manifold
    if math.isfinite(manifold.log_total_volume()):
        own = [w * uniform_weight(m) for m, w in zip(members, weights, strict=True)]
        return Broad(_uniform(manifold), float(sum(own)))
    shares = [*weights, *(0.0 for _ in others)]
    each = zip(map(_broadest_kernels, [*members, *others]), shares, strict=True)
    found = [Broad(b.density, b.weight * share) for b, share in each if b is not None]
    return max(found, key=lambda broad: broad.weight, default=None)


def uniform_weight(density: AbstractDensity) -> float:
    """Return the weight of the uniform density in a mixture; 0 if it has none."""
    if isinstance(density, LocalizedDensity):
        own = density.uniform_weight
        if math.isinf(density.coordinates.working.log_total_volume()):
            return own
        return own + (1 - own) * uniform_weight(density.density)
    if isinstance(density, MixtureDensity):
        return float(np.exp(density.log_weights[-1]))
    if isinstance(density, KernelDensity):
        pairs = zip(density.parts, density.log_weights, strict=True)
        return float(sum(np.exp(w).sum() for p, w in pairs if isinstance(p, Background)))
    if isinstance(density, Stacked):
        pairs = zip(density.members, np.exp(density.log_weights), strict=True)
        return float(sum(w * uniform_weight(member) for member, w in pairs))
    return 0.0


def _uniform(manifold: AbstractManifold) -> KernelDensity:
    return KernelDensity(manifold, (Background(manifold),), (jnp.zeros(1),))


def _broadest_kernels(density: AbstractDensity) -> Broad | None:
    """Return the broadest kernels of a kernel density, and their weight in it."""
    if isinstance(density, LocalizedDensity):
        found = _broadest_kernels(density.density)
        return found and Broad(density.with_density(found.density), found.weight)
    if not isinstance(density, KernelDensity):
        return None
    pairs = list(zip(density.parts, density.log_weights, strict=True))
    pairs = [(part, np.asarray(w)) for part, w in pairs if isinstance(part, ScaleKernels)]
    if not pairs:
        return None
    top = max(part.bandwidths.max() for part, _ in pairs)
    chosen = [(part, part.bandwidths == top, w) for part, w in pairs]
    chosen = [(part.select(mask), w[mask]) for part, mask, w in chosen if mask.any()]
    weight = sum(float(np.exp(w).sum()) for _, w in chosen)
    logs = tuple(jnp.asarray(w - np.log(weight)) for _, w in chosen)
    return Broad(KernelDensity(density.manifold, tuple(p for p, _ in chosen), logs), weight)
