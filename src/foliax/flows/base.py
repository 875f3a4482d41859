"""The interface of densities on R^m, and that of their descriptions."""

import abc
from typing import ClassVar

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


class AbstractAmbientSpec(abc.ABC):
    """The description of an ambient density: a frozen dataclass of numbers and strings."""

    uses_solver: ClassVar[bool] = False
    """Whether the density uses a numerical solver, so that its total mass should be checked."""

    @property
    def is_multimodal(self) -> bool:
        """Whether `initialize_from_data` can start in several modes at once."""
        return False

    @abc.abstractmethod
    def build(
        self,
        dim: int,
        *,
        shift: Float[Array, " m"],
        scale: Float[Array, " m"],
        condition_size: int = 0,
        key: PRNGKeyArray,
    ) -> AbstractAmbient:
        """Build the density of shift + scale · s, where s has the described density on R^dim.

        Args:
            dim: The dimension m.
            shift: The location of the data. It is not trained.
            scale: The scale of the data. It is not trained.
            key: Initialises the parameters.

        Returns:
            The density, before training.

        Raises:
            ValueError: A setting is not valid, or shift and scale are not.
        """

    def initialize_from_data(
        self, ambient: AbstractAmbient, x: Float[Array, "n m"]
    ) -> AbstractAmbient:
        """Move an untrained density to data, where the family can.

        Args:
            ambient: The density that `build` returned.
            x: Points of the data.

        Returns:
            The density to train. By default it is `ambient` itself.
        """
        return ambient


def refuse_condition(spec: AbstractAmbientSpec, condition_size: int) -> None:
    """Raise where a flow that cannot be conditional is asked to be."""
    if condition_size:
        raise ValueError(
            f"{type(spec).__name__} cannot take a condition: use RealNVP, SplineCoupling or "
            "AutoregressiveSpline."
        )
