"""A density on R^m mapped into a ball."""

from __future__ import annotations

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from ..registry import storable
from .base import AbstractAmbient, Condition


@storable("rivals.InBall")
class InBall(AbstractAmbient):
    """x = v/√(1 + ‖v‖²/R²): a density of v on R^m, mapped into the open ball of radius R.

    log |dv/dx| = −(m/2 + 1) log(1 − ‖x‖²/R²). Outside the ball the density is 0.

    Args:
        inner: The density of v.
        radius: The radius R.
    """

    inner: AbstractAmbient
    radius: float = eqx.field(static=True)
    dim: int = eqx.field(static=True)

    def __init__(self, inner: AbstractAmbient, radius: float):
        self.inner, self.radius, self.dim = inner, radius, inner.dim

    def log_prob_and_cost(
        self, x: Float[Array, " m"], condition: Condition = None
    ) -> tuple[Float[Array, ""], Float[Array, ""]]:
        room = 1 - jnp.sum((x / self.radius) ** 2)
        inside = room > 0
        room = jnp.where(inside, room, 1)
        log_prob, cost = self.inner.log_prob_and_cost(x / jnp.sqrt(room), condition)
        log_volume = -(self.dim / 2 + 1) * jnp.log(room)
        return jnp.where(inside, log_prob + log_volume, -jnp.inf), cost

    def sample(self, *, condition: Condition = None, key: PRNGKeyArray) -> Float[Array, " m"]:
        v = self.inner.sample(condition=condition, key=key)
        return v / jnp.sqrt(1 + jnp.sum((v / self.radius) ** 2))
