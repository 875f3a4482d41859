"""Scaling to the data as part of the density."""

import equinox as eqx
import jax.numpy as jnp
import paramax
from jaxtyping import Array, Float, PRNGKeyArray

from foliax.flows.base import AbstractAmbient, Condition
from foliax.registry import storable


@storable("ambient.Scaled")
class Scaled(AbstractAmbient):
    """The density of x = shift + scale · s: log p(x) = log p_s((x − shift) / scale) − Σ log scale.

    Shift and scale are constants of the model (`paramax.NonTrainable`), not parameters.

    Args:
        inner: The density of s.
        shift: The location of the data.
        scale: The scale of the data, positive.

    Raises:
        ValueError: Shift or scale has a wrong shape or an invalid value.
    """

    inner: AbstractAmbient
    dim: int = eqx.field(static=True)
    shift: Float[Array, " m"] | paramax.AbstractUnwrappable
    scale: Float[Array, " m"] | paramax.AbstractUnwrappable

    def __init__(
        self, inner: AbstractAmbient, shift: Float[Array, " m"], scale: Float[Array, " m"]
    ):
        for name, value in (("shift", shift), ("scale", scale)):
            if value.shape != (inner.dim,):
                raise ValueError(f"{name} has shape {value.shape}; the flow needs ({inner.dim},).")
            if not bool(jnp.all(jnp.isfinite(value))):
                raise ValueError(f"{name} is not finite: {value}.")
        if not bool(jnp.all(scale > 0)):
            raise ValueError(
                f"scale must be positive, got {scale}. A zero comes from a constant column: "
                "drop the column, or give it scale 1."
            )
        self.inner = inner
        self.dim = inner.dim
        self.shift = paramax.non_trainable(shift)
        self.scale = paramax.non_trainable(scale)

    def log_prob_and_cost(
        self, x: Float[Array, " m"], condition: Condition = None
    ) -> tuple[Float[Array, ""], Float[Array, ""]]:
        """Log density at x in the data's own units; the cost is that of the inner path."""
        shift, scale = paramax.unwrap((self.shift, self.scale))
        log_prob, cost = self.inner.log_prob_and_cost((x - shift) / scale, condition)
        return log_prob - jnp.sum(jnp.log(scale)), cost

    def sample(self, *, condition: Condition = None, key: PRNGKeyArray) -> Float[Array, " m"]:
        """One draw, in the data's own units."""
        shift, scale = paramax.unwrap((self.shift, self.scale))
        return shift + scale * self.inner.sample(condition=condition, key=key)
