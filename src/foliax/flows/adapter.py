"""Ambient densities from flowjax distributions."""

import dataclasses
from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
from flowjax.bijections import AbstractBijection, Invert
from flowjax.distributions import AbstractDistribution, StandardNormal, Transformed
from jaxtyping import Array, Float, PRNGKeyArray

from foliax.flows.base import AbstractAmbient, Condition
from foliax.flows.spec import AbstractAmbientSpec
from foliax.registry import storable


@storable("ambient.FromFlowjax")
class FromFlowjax(AbstractAmbient):
    """Any flowjax distribution of shape (m,), conditional or not; its path costs nothing."""

    distribution: AbstractDistribution
    dim: int = eqx.field(static=True)

    def __init__(self, distribution: AbstractDistribution):
        if len(distribution.shape) != 1:
            raise ValueError(
                f"FromFlowjax needs a distribution over vectors, got shape {distribution.shape}."
            )
        self.distribution = distribution
        self.dim = distribution.shape[0]

    def log_prob_and_cost(
        self, x: Float[Array, " m"], condition: Condition = None
    ) -> tuple[Float[Array, ""], Float[Array, ""]]:
        """Log density at x; cost 0."""
        log_prob = self.distribution.log_prob(x, condition)
        return log_prob, jnp.zeros_like(log_prob)

    def sample(self, *, condition: Condition = None, key: PRNGKeyArray) -> Float[Array, " m"]:
        """One draw."""
        return self.distribution.sample(key, (), condition)


@dataclasses.dataclass(frozen=True)
class Flowjax(AbstractAmbientSpec):
    """The description of an ambient density by a function that makes a flowjax distribution.

    Args:
        make: Takes a key and the dimension m, and returns a distribution of scaled coordinates.
    """

    make: Callable[[PRNGKeyArray, int], AbstractDistribution]

    def _build(self, dim: int, *, condition_size: int, key: PRNGKeyArray) -> AbstractAmbient:
        return FromFlowjax(self.make(key, dim))


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
