"""Ambient densities from flowjax distributions."""

import dataclasses
from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
from flowjax.bijections import AbstractBijection, Invert
from flowjax.distributions import AbstractDistribution, StandardNormal, Transformed
from jaxtyping import Array, Float, PRNGKeyArray

from foliax.flows.base import AbstractAmbient, AbstractAmbientSpec
from foliax.flows.scaled import Scaled
from foliax.registry import storable


@storable("ambient.FromFlowjax")
class FromFlowjax(AbstractAmbient):
    """An unconditional flowjax distribution of shape (m,), as an ambient density of cost 0.

    Args:
        distribution: The distribution.

    Raises:
        ValueError: The distribution is conditional, or not over vectors.
    """

    distribution: AbstractDistribution
    dim: int = eqx.field(static=True)

    def __init__(self, distribution: AbstractDistribution):
        if len(distribution.shape) != 1 or distribution.cond_shape is not None:
            raise ValueError(
                "FromFlowjax needs an unconditional distribution over vectors, got shape "
                f"{distribution.shape} and cond_shape {distribution.cond_shape}."
            )
        self.distribution = distribution
        self.dim = distribution.shape[0]

    def log_prob_and_cost(self, x: Float[Array, " m"]) -> tuple[Float[Array, ""], Float[Array, ""]]:
        """Compute the log density at x; the cost is 0."""
        log_prob = self.distribution.log_prob(x)
        return log_prob, jnp.zeros_like(log_prob)

    def sample(self, *, key: PRNGKeyArray) -> Float[Array, " m"]:
        """Draw one point."""
        return self.distribution.sample(key)


@dataclasses.dataclass(frozen=True)
class Flowjax(AbstractAmbientSpec):
    """The description of an ambient density by a function that makes a flowjax distribution.

    Args:
        make: Takes a key and the dimension m, and returns a distribution of scaled coordinates.
    """

    make: Callable[[PRNGKeyArray, int], AbstractDistribution]

    def build(
        self,
        dim: int,
        *,
        shift: Float[Array, " m"],
        scale: Float[Array, " m"],
        key: PRNGKeyArray,
    ) -> AbstractAmbient:
        """Make the distribution and scale it to the data."""
        return Scaled(FromFlowjax(self.make(key, dim)), shift, scale)


def flow_to_normal(bijection: AbstractBijection) -> FromFlowjax:
    """Build the density of x for which bijection(x) ~ N(0, I).

    The bijection maps data to the base, so `log_prob` uses its fast direction.
    """
    return FromFlowjax(Transformed(StandardNormal(bijection.shape), Invert(bijection)))


def near_identity(mlp: eqx.nn.MLP, factor: float = 0.01) -> eqx.nn.MLP:
    """Multiply a network's last layer by a factor, so that a flow starts near the identity."""
    shrink = lambda leaf: leaf * factor if eqx.is_inexact_array(leaf) else leaf  # noqa: E731
    return eqx.tree_at(
        lambda m: m.layers[-1], mlp, replace_fn=lambda layer: jax.tree.map(shrink, layer)
    )
