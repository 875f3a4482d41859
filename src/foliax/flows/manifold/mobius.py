"""Möbius maps of the circle."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from ...registry import storable
from .bijections import Scalar
from .circle import AbstractCircleMap, Raw

MAX_RADIUS = 0.99
"""The bound of |w|, which keeps slopes between (1 − |w|)/(1 + |w|) and its inverse, 199."""
BISECTION_STEPS = 12
"""Halvings that leave 0.0015, a seventh of the smallest width 1 − |w| of a map's slope."""
NEWTON_STEPS = 4
"""Steps of Newton's method from there, after which float32 has converged."""


@storable("rivals.Mobius")
class Mobius(AbstractCircleMap):
    """The mean of n Möbius maps that fix the angle 0, in terms of angles.

    z = e^{iθ} ↦ (1 − |w|²)/|z − w|² (z − w) − w, rotated so that 1 is fixed, maps θ to
    θ + 2 arg(1 − w z̄) − 2 arg(1 − w), with slope (1 − |w|²)/|1 − w z̄|². No angle is taken modulo
    2π. w = 0.99 v/√(1 + |v|²). The inverse is found by bisection and Newton's method.
    Rezende et al. 2020.

    Args:
        centres: The number n of maps.
    """

    centres: int = eqx.field(static=True)

    @property
    def size(self) -> int:
        return 2 * self.centres

    def start(self, *, key: PRNGKeyArray) -> Raw:
        return 0.5 * jax.random.normal(key, (self.size,))

    def forward(self, raw: Raw, angle: Scalar) -> tuple[Scalar, Scalar]:
        image, slope = _mean_map(self._centres(raw), angle)
        return image, jnp.log(slope)

    def inverse(self, raw: Raw, angle: Scalar) -> tuple[Scalar, Scalar]:
        w = self._centres(raw)
        near, slope = jax.lax.stop_gradient(_solve(w, angle))
        # A last Newton step has the derivatives of the implicit function.
        origin = near - (_mean_map(w, near)[0] - angle) / slope
        return origin, -jnp.log(_mean_map(w, origin)[1])

    def _centres(self, raw: Raw) -> Float[Array, "n 2"]:
        v = raw.reshape(self.centres, 2)
        return MAX_RADIUS * v / jnp.sqrt(1 + (v**2).sum(1, keepdims=True))


def _mean_map(w: Float[Array, "n 2"], angle: Scalar) -> tuple[Scalar, Scalar]:
    """Compute the image of an angle, and the slope there."""
    real, imaginary = w[:, 0], w[:, 1]
    cos, sin = jnp.cos(angle), jnp.sin(angle)
    x, y = 1 - (real * cos + imaginary * sin), real * sin - imaginary * cos
    turn = jnp.arctan2(y, x) - jnp.arctan2(-imaginary, 1 - real)
    slope = (1 - real**2 - imaginary**2) / (x**2 + y**2)
    return angle + 2 * turn.mean(), slope.mean()


def _solve(w: Float[Array, "n 2"], image: Scalar) -> tuple[Scalar, Scalar]:
    """Find the angle with a given image in [−2π, 2π], and the slope there."""
    turn = 2 * jnp.pi * jnp.ones_like(image)
    bracket = jnp.where(image >= 0, 0 * turn, -turn), jnp.where(image >= 0, turn, 0 * turn)

    def halve(_, bracket):
        low, high = bracket
        middle = (low + high) / 2
        below = _mean_map(w, middle)[0] <= image
        return jnp.where(below, middle, low), jnp.where(below, high, middle)

    low, high = jax.lax.fori_loop(0, BISECTION_STEPS, halve, bracket)

    def improve(_, state):
        origin, _ = state
        found, slope = _mean_map(w, origin)
        return jnp.clip(origin - (found - image) / slope, low, high), slope

    return jax.lax.fori_loop(0, NEWTON_STEPS, improve, ((low + high) / 2, jnp.ones_like(image)))
