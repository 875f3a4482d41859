"""What every density on R^m offers, and what every description of one offers."""

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
    """A description of an ambient density: a frozen dataclass of numbers and strings."""

    solved: ClassVar[bool] = False
    """Whether a solver stands behind the density, so that its mass is worth a check."""

    @property
    def in_parts(self) -> bool:
        """Whether `placed` can begin in several places at once."""
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
        """The density of shift + scale · s, where s follows the described density on R^dim.

        Shift and scale come from the data and are not trained.
        """

    def placed(self, ambient: AbstractAmbient, x: Float[Array, "n m"]) -> AbstractAmbient:
        """The untrained density of `build`, made to begin where points x are; as it is, if not."""
        return ambient


def refuse_condition(spec: AbstractAmbientSpec, condition_size: int) -> None:
    """Raise where a flow that cannot be conditional is asked to be."""
    if condition_size:
        raise ValueError(
            f"{type(spec).__name__} cannot take a condition: use RealNVP, SplineCoupling or "
            "AutoregressiveSpline."
        )
