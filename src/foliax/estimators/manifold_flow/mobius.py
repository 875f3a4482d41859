"""Möbius flows on circles, tori and spheres."""

from __future__ import annotations

import dataclasses
import functools

from jaxtyping import PRNGKeyArray

from ...density import PushForward
from ...flows.manifold import AbstractBijection, Autoregressive, Mobius, Recursive
from ...flows.manifold.spline import check_bins
from ...manifolds import AbstractManifold, Sphere, Torus
from ...registry import storable
from ...training import Training
from ..base import unsupported
from .base import AbstractManifoldFlow


@storable("rivals.MobiusFlow", renamed_fields={"validation": "validation_fraction"})
@dataclasses.dataclass(frozen=True)
class MobiusFlow(AbstractManifoldFlow):
    """Möbius flow: angles by the mean of `centres` Möbius maps, heights by splines of `bins`.

    T^d: one angle given those before it. S^d: heights first, then the circle given the heights.
    The networks have `depth` hidden layers of `width`. `validation_fraction`: the share of the
    rows that is held out, where none are given. Rezende et al. 2020.
    """

    centres: int = 12
    bins: int = 32
    width: int = 64
    depth: int = 2
    training: Training = dataclasses.field(default_factory=Training)
    validation_fraction: float = 0.1

    def __post_init__(self):
        check_bins(self.bins)
        if self.centres < 1:
            raise ValueError(f"MobiusFlow needs at least one centre, got {self.centres}.")

    def build(self, manifold: AbstractManifold, *, key: PRNGKeyArray) -> PushForward:
        return PushForward(manifold, bijection(manifold, self, key))


@functools.singledispatch
def bijection(
    manifold: AbstractManifold, estimator: MobiusFlow, key: PRNGKeyArray
) -> AbstractBijection:
    """The untrained flow of a manifold."""
    raise unsupported(estimator, manifold, "spheres and tori")


@bijection.register
def _(manifold: Torus, estimator: MobiusFlow, key: PRNGKeyArray) -> AbstractBijection:
    return Autoregressive(
        Mobius(estimator.centres), manifold.dim, estimator.width, estimator.depth, key=key
    )


@bijection.register
def _(manifold: Sphere, estimator: MobiusFlow, key: PRNGKeyArray) -> AbstractBijection:
    return Recursive(
        Mobius(estimator.centres),
        manifold.dim,
        estimator.bins,
        estimator.width,
        estimator.depth,
        key=key,
    )
