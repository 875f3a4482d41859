"""The interface of densities on R^m."""

import abc

import equinox as eqx
from equinox import AbstractVar
from jaxtyping import Array, Float, PRNGKeyArray

Condition = Float[Array, " c"] | None
"""Features that a density is conditional on."""


class AbstractAmbient(eqx.Module):
    """A density on R^m against Lebesgue measure. Methods take one point; callers vmap."""

    dim: AbstractVar[int]

    @abc.abstractmethod
    def log_prob_and_cost(
        self, x: Float[Array, " m"], condition: Condition = None
    ) -> tuple[Float[Array, ""], Float[Array, ""]]:
        """Log density at x, and a regularisation cost ≥ 0 of the path taken (0: no path)."""

    @abc.abstractmethod
    def sample(self, *, condition: Condition = None, key: PRNGKeyArray) -> Float[Array, " m"]:
        """One draw."""

    def log_prob(self, x: Float[Array, " m"], condition: Condition = None) -> Float[Array, ""]:
        """Log density at x."""
        return self.log_prob_and_cost(x, condition)[0]
