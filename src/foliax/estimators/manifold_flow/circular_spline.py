"""Circular-spline flows on tori."""

from __future__ import annotations

import dataclasses
import functools

import jax
from jaxtyping import PRNGKeyArray

from ...density import PushForward
from ...flows.manifold import AbstractBijection, Autoregressive, Chain, CircularSpline, Coupling
from ...flows.manifold.spline import check_bins
from ...manifolds import AbstractManifold, Torus
from ...registry import storable
from ...training import Training
from ..base import unsupported
from .base import AbstractManifoldFlow


@storable("rivals.CircularSplineFlow", renamed_fields={"validation": "validation_fraction"})
@dataclasses.dataclass(frozen=True)
class CircularSplineFlow(AbstractManifoldFlow):
    """Circular splines of `bins` on T^d, in `layers` of networks with `depth` layers of `width`.

    Autoregressive: each angle given those before it. `coupling`: half of the angles given the
    other half, by turns; for d > 1. `validation_fraction`: the share of the rows that is held out,
    where none are given.
    """

    bins: int = 16
    layers: int = 1
    coupling: bool = False
    width: int = 64
    depth: int = 2
    training: Training = dataclasses.field(default_factory=Training)
    validation_fraction: float = 0.1

    def __post_init__(self):
        check_bins(self.bins)
        if self.layers < 1 or (self.coupling and self.layers < 2):
            raise ValueError(
                "CircularSplineFlow needs a layer, and two if coupling, so that every angle is "
                f"moved; got layers={self.layers}."
            )

    def build(self, manifold: AbstractManifold, *, key: PRNGKeyArray) -> PushForward:
        return PushForward(manifold, bijection(manifold, self, key))


@functools.singledispatch
def bijection(
    manifold: AbstractManifold, estimator: CircularSplineFlow, key: PRNGKeyArray
) -> AbstractBijection:
    """The untrained flow of a manifold."""
    raise unsupported(estimator, manifold, "tori")


@bijection.register
def _(manifold: Torus, estimator: CircularSplineFlow, key: PRNGKeyArray) -> AbstractBijection:
    if estimator.coupling and manifold.dim < 2:
        raise unsupported(estimator, manifold, "tori of at least two angles when coupling")
    kind = Coupling if estimator.coupling else Autoregressive
    keys = jax.random.split(key, estimator.layers)
    circle_map = CircularSpline(estimator.bins)
    return Chain(
        tuple(kind(circle_map, manifold.dim, estimator.width, estimator.depth, key=k) for k in keys)
    )
