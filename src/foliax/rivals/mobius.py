"""Möbius flows on circles, tori and spheres."""

from __future__ import annotations

import dataclasses
import functools

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from ..manifolds import AbstractManifold, Sphere, Torus
from ..registry import storable
from ..specs import unsupported
from ..training import Training
from .bijections import AbstractBijection, Scalar
from .circle import AbstractCircleMap, Autoregressive, Raw
from .flow import AbstractFlowSpec, PushForward
from .heights import Recursive
from .spline import check_bins

LARGEST = 0.99
"""Bound of |w|: slopes stay between (1 − |w|)/(1 + |w|) and its inverse, 199."""


@storable("rivals.Mobius")
class Mobius(AbstractCircleMap):
    """The mean of n Möbius maps that keep the angle 0, in terms of angles.

    z = e^{iθ} ↦ (1 − |w|²)/|z − w|² (z − w) − w turned so that 1 stays is the angle
    θ + 2 arg(1 − w z̄) − 2 arg(1 − w), of slope (1 − |w|²)/|1 − w z̄|²: no angle is ever taken
    modulo 2π. w = 0.99 v/√(1 + |v|²). The inverse is a root: bisection, then Newton's method.
    Rezende et al. 2020.
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
        # A last step of Newton's method, which has the implicit function's derivatives.
        origin = near - (_mean_map(w, near)[0] - angle) / slope
        return origin, -jnp.log(_mean_map(w, origin)[1])

    def _centres(self, raw: Raw) -> Float[Array, "n 2"]:
        v = raw.reshape(self.centres, 2)
        return LARGEST * v / jnp.sqrt(1 + (v**2).sum(1, keepdims=True))


def _mean_map(w: Float[Array, "n 2"], angle: Scalar) -> tuple[Scalar, Scalar]:
    """Image and slope."""
    real, imaginary = w[:, 0], w[:, 1]
    cos, sin = jnp.cos(angle), jnp.sin(angle)
    x, y = 1 - (real * cos + imaginary * sin), real * sin - imaginary * cos
    turn = jnp.arctan2(y, x) - jnp.arctan2(-imaginary, 1 - real)
    slope = (1 - real**2 - imaginary**2) / (x**2 + y**2)
    return angle + 2 * turn.mean(), slope.mean()


def _solve(w: Float[Array, "n 2"], image: Scalar) -> tuple[Scalar, Scalar]:
    """The origin of an image in [−2π, 2π], and the slope there.

    Twelve halvings leave 0.0015, a seventh of the least width 1 − |w| of a kernel; from there
    Newton's method converges in a few steps.
    """
    turn = 2 * jnp.pi * jnp.ones_like(image)
    bracket = jnp.where(image >= 0, 0 * turn, -turn), jnp.where(image >= 0, turn, 0 * turn)

    def halve(_, bracket):
        low, high = bracket
        middle = (low + high) / 2
        below = _mean_map(w, middle)[0] <= image
        return jnp.where(below, middle, low), jnp.where(below, high, middle)

    low, high = jax.lax.fori_loop(0, 12, halve, bracket)

    def improve(_, state):
        origin, _ = state
        found, slope = _mean_map(w, origin)
        return jnp.clip(origin - (found - image) / slope, low, high), slope

    return jax.lax.fori_loop(0, 4, improve, ((low + high) / 2, jnp.ones_like(image)))


@storable("rivals.MobiusFlow")
@dataclasses.dataclass(frozen=True)
class MobiusFlow(AbstractFlowSpec):
    """Möbius flow: angles by the mean of `centres` Möbius maps, heights by splines of `bins`.

    T^d: one angle given those before it. S^d: heights first, then the circle given the heights.
    The networks have `depth` hidden layers of `width`. `validation`: the share of the rows that is
    held out, where none are given. Rezende et al. 2020.
    """

    centres: int = 12
    bins: int = 32
    width: int = 64
    depth: int = 2
    training: Training = dataclasses.field(default_factory=Training)
    validation: float = 0.1

    def __post_init__(self):
        check_bins(self.bins)
        if self.centres < 1:
            raise ValueError(f"MobiusFlow needs at least one centre, got {self.centres}.")

    def build(self, where: AbstractManifold, *, key: PRNGKeyArray) -> PushForward:
        return PushForward(where, bijection(where, self, key))


@functools.singledispatch
def bijection(where: AbstractManifold, spec: MobiusFlow, key: PRNGKeyArray) -> AbstractBijection:
    """The untrained flow of a manifold."""
    raise unsupported(spec, where, "spheres and tori")


@bijection.register
def _(where: Torus, spec: MobiusFlow, key: PRNGKeyArray) -> AbstractBijection:
    return Autoregressive(Mobius(spec.centres), where.dim, spec.width, spec.depth, key=key)


@bijection.register
def _(where: Sphere, spec: MobiusFlow, key: PRNGKeyArray) -> AbstractBijection:
    return Recursive(Mobius(spec.centres), where.dim, spec.bins, spec.width, spec.depth, key=key)
