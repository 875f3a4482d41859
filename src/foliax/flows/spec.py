"""The interface of descriptions of densities on R^m."""

import abc
from typing import ClassVar

from jaxtyping import Array, Float, PRNGKeyArray

from foliax.flows.base import AbstractAmbient
from foliax.flows.scaled import Scaled


class AbstractAmbientSpec(abc.ABC):
    """The description of an ambient density: a frozen dataclass of numbers and strings."""

    uses_solver: ClassVar[bool] = False
    """Whether the density uses a numerical solver, so that its total mass should be checked."""

    takes_condition: ClassVar[bool] = False
    """Whether the density may depend on a condition."""

    min_dim: ClassVar[int] = 1
    """The smallest dimension of R^m: couplings need two coordinates."""

    @property
    def is_multimodal(self) -> bool:
        """Whether `initialize_from_data` can start in several modes at once."""
        return False

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
            condition_size: The number of condition features; 0 for an unconditional density.
            key: Initialises the parameters.

        Returns:
            The density, before training.

        Raises:
            ValueError: A setting is not valid, shift and scale are not, or the density cannot take
                a condition.
        """
        if condition_size and not self.takes_condition:
            raise ValueError(
                f"{type(self).__name__} cannot take a condition: use RealNVP, SplineCoupling or "
                "AutoregressiveSpline."
            )
        return Scaled(self._build(dim, condition_size=condition_size, key=key), shift, scale)

    @abc.abstractmethod
    def _build(self, dim: int, *, condition_size: int, key: PRNGKeyArray) -> AbstractAmbient:
        """Build the density of s."""

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
