"""Circular rational-quadratic-spline flows on tori."""

from __future__ import annotations

import dataclasses
import functools

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import PRNGKeyArray

from ..manifolds import AbstractManifold, Torus
from ..manifolds.torus import wrap
from ..registry import storable
from ..specs import unsupported
from ..training import Training
from .bijections import AbstractBijection, Chain, Scalar
from .circle import AbstractCircleMap, Autoregressive, Coupling, Raw
from .flow import AbstractFlowSpec, PushForward
from .spline import Ends, Spline, check_bins, shares, slopes


@storable("rivals.CircularSpline")
class CircularSpline(AbstractCircleMap):
    """A spline of [−π, π] with the same slope at both ends, then a turn by a phase.

    Rezende et al. 2020.
    """

    bins: int = eqx.field(static=True)

    @property
    def size(self) -> int:
        return 3 * self.bins + 1

    def start(self, *, key: PRNGKeyArray) -> Raw:
        return 0.1 * jax.random.normal(key, (self.size,))

    def forward(self, raw: Raw, angle: Scalar) -> tuple[Scalar, Scalar]:
        move = self._spline(raw).forward(_ends(angle))
        return _angle(move.ends) + raw[-1], move.log_slope

    def inverse(self, raw: Raw, angle: Scalar) -> tuple[Scalar, Scalar]:
        move = self._spline(raw).inverse(_ends(angle - raw[-1]))
        return _angle(move.ends), move.log_slope

    def _spline(self, raw: Raw) -> Spline:
        before, after, at_knots = raw[:-1].reshape(3, self.bins)
        return Spline(shares(before), shares(after), slopes(jnp.append(at_knots, at_knots[0])))


def _ends(angle: Scalar) -> Ends:
    angle = wrap(angle[None])[0]
    return Ends((jnp.pi + angle) / (2 * jnp.pi), (jnp.pi - angle) / (2 * jnp.pi))


def _angle(ends: Ends) -> Scalar:
    return jnp.pi * (ends.low - ends.high)


@storable("rivals.CircularSplineFlow")
@dataclasses.dataclass(frozen=True)
class CircularSplineFlow(AbstractFlowSpec):
    """Circular splines of `bins` on T^d, in `layers` of networks with `depth` layers of `width`.

    Autoregressive: each angle given those before it. `coupling`: half of the angles given the
    other half, by turns; for d > 1. `validation`: the share of the rows that is held out, where
    none are given.
    """

    bins: int = 16
    layers: int = 1
    coupling: bool = False
    width: int = 64
    depth: int = 2
    training: Training = dataclasses.field(default_factory=Training)
    validation: float = 0.1

    def __post_init__(self):
        check_bins(self.bins)
        if self.layers < 1 or (self.coupling and self.layers < 2):
            raise ValueError(
                "CircularSplineFlow needs a layer, and two if coupling, so that every angle is "
                f"moved; got layers={self.layers}."
            )

    def build(self, where: AbstractManifold, *, key: PRNGKeyArray) -> PushForward:
        return PushForward(where, bijection(where, self, key))


@functools.singledispatch
def bijection(
    where: AbstractManifold, spec: CircularSplineFlow, key: PRNGKeyArray
) -> AbstractBijection:
    """The untrained flow of a manifold."""
    raise unsupported(spec, where, "tori")


@bijection.register
def _(where: Torus, spec: CircularSplineFlow, key: PRNGKeyArray) -> AbstractBijection:
    if spec.coupling and where.dim < 2:
        raise unsupported(spec, where, "tori of at least two angles when coupling")
    kind = Coupling if spec.coupling else Autoregressive
    keys = jax.random.split(key, spec.layers)
    circle_map = CircularSpline(spec.bins)
    return Chain(tuple(kind(circle_map, where.dim, spec.width, spec.depth, key=k) for k in keys))
