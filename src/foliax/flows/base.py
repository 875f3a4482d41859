"""What every density on R^m offers, and what every description of one offers."""

import abc
from typing import ClassVar

import equinox as eqx
from equinox import AbstractVar
from jaxtyping import Array, Float, PRNGKeyArray


class AbstractAmbient(eqx.Module):
    """A density on R^m against Lebesgue measure. Methods take one point; callers vmap."""

    dim: AbstractVar[int]

    @abc.abstractmethod
    def log_prob_and_cost(self, x: Float[Array, " m"]) -> tuple[Float[Array, ""], Float[Array, ""]]:
        """Log density at x, and a regularisation cost ≥ 0 of the path taken (0: no path)."""

    @abc.abstractmethod
    def sample(self, *, key: PRNGKeyArray) -> Float[Array, " m"]:
        """One draw."""

    def log_prob(self, x: Float[Array, " m"]) -> Float[Array, ""]:
        """Log density at x."""
        return self.log_prob_and_cost(x)[0]


class AbstractAmbientSpec(abc.ABC):
    """A description of an ambient density: a frozen dataclass of numbers and strings."""

    uses_solver: ClassVar[bool] = False
    """Whether a solver stands behind the density, so that its mass is worth a check."""

    @property
    def is_multimodal(self) -> bool:
        """Whether `placed` can begin in several places at once."""
        return False

    @abc.abstractmethod
    def build(
        self,
        dim: int,
        *,
        shift: Float[Array, " m"],
        scale: Float[Array, " m"],
        key: PRNGKeyArray,
    ) -> AbstractAmbient:
        """The density of shift + scale · s, where s follows the described density on R^dim.

        Shift and scale come from the data and are not trained.
        """

    def initialize_from_data(self, ambient: AbstractAmbient, x: Float[Array, "n m"]) -> AbstractAmbient:
        """The untrained density of `build`, made to begin where points x are; as it is, if not."""
        return ambient
