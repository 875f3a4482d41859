"""The open ball: positions inside a disk, a sphere, an arena."""

from __future__ import annotations

import math

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from ..registry import storable
from . import auxiliary
from .auxiliary import Auxiliary
from .base import AbstractDequantization, AbstractManifold, Ambient, Aux, Point, Scalar, safe_norm


@storable("manifolds.Ball")
class Ball(AbstractManifold):
    """The open ball {y ∈ R^d: ‖y‖ < radius}; measure: Lebesgue; distance: ‖y − o‖.

    Points on the boundary are invalid.

    Args:
        d: Dimension.
        radius: Radius in the unit of y. The default is the unit ball.
    """

    d: int = eqx.field(static=True)
    radius: float = eqx.field(static=True, default=1.0)

    def __check_init__(self):
        if self.d < 1 or not 0 < self.radius < math.inf:
            raise ValueError(
                f"Ball(d, radius) needs d >= 1 and a finite radius > 0, got {self.d} and "
                f"{self.radius}."
            )

    @property
    def dim(self) -> int:
        return self.d

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.d,)

    def violation(self, y: Point) -> Scalar:
        r = safe_norm(y) / self.radius
        return jnp.where(r < 1, 0, r)

    def describe_violation(self, y: np.ndarray) -> str:
        return f"the point's norm is {np.linalg.norm(y):.6g}; it must be below {self.radius:g}."

    def project(self, y: Point) -> Point:
        """Return y: an open set has no nearest point."""
        return y

    def distance(self, y: Point, other: Point) -> Scalar:
        return safe_norm(y - other)

    def features(self, y: Point) -> Float[Array, " f"]:
        return y / self.radius

    def log_total_volume(self) -> float:
        half = self.d / 2
        return self.d * math.log(self.radius) + half * math.log(math.pi) - math.lgamma(half + 1)

    def sample_uniform(self, *, key: PRNGKeyArray) -> Point:
        k1, k2 = jax.random.split(key)
        direction = jax.random.normal(k1, (self.d,))
        r = self.radius * jax.random.uniform(k2) ** (1 / self.d)
        return r * direction / safe_norm(direction)

    def dequantization(self) -> Radial:
        return Radial(self)


@storable("manifolds.Radial")
class Radial(AbstractDequantization):
    """R^d -> ball by y = ρ·x/√(1 + ‖x‖²); no z; x = y/√(ρ² − ‖y‖²).

    log_volume = 2 log ρ − (d/2 + 1) log(ρ² − ‖y‖²).
    """

    manifold: Ball

    @property
    def auxiliary(self) -> Auxiliary:
        return auxiliary.empty()

    @property
    def ambient_dim(self) -> int:
        return self.manifold.d

    @property
    def branches(self) -> int:
        return 1

    def quantize(self, x: Ambient) -> tuple[Point, Aux]:
        stretched = safe_norm(jnp.append(x, jnp.ones((), x.dtype)))
        return self.manifold.radius * x / stretched, jnp.zeros(0, x.dtype)

    def preimages(self, y: Point, z: Aux) -> tuple[Float[Array, "b m"], Float[Array, " b"]]:
        rho, r = self.manifold.radius, safe_norm(y)
        room = (rho - r) * (rho + r)
        log_volume = 2 * math.log(rho) - (self.manifold.d / 2 + 1) * jnp.log(room)
        return (y / jnp.sqrt(room))[None], log_volume[None]
