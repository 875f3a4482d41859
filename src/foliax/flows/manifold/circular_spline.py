"""Circular rational-quadratic splines."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import PRNGKeyArray

from ...manifolds.torus import wrap
from ...registry import storable
from .bijections import Scalar
from .circle import AbstractCircleMap, Raw
from .spline import Ends, Spline, shares, slopes


@storable("rivals.CircularSpline")
class CircularSpline(AbstractCircleMap):
    """A spline of [−π, π] with the same slope at both ends, followed by a rotation.

    Rezende et al. 2020.

    Args:
        bins: The number of bins of the spline.
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
