"""Densities q(z | y) of the auxiliary z given a point y.

Each is a description with `build`, which returns an `AbstractDequantizer`. The density does not
depend on the choice; the variance of its estimate does.
May import: `flows` and `manifolds`.
"""

from jaxtyping import PRNGKeyArray

from ..manifolds import AbstractDequantization
from .base import AbstractDequantizer, AbstractDequantizerSpec
from .families import Beta, Gamma, Uniform, UniformCells
from .flow import ConditionalFlow
from .location_scale import HeavyTailed, Normal

__all__ = [
    "AbstractDequantizer",
    "AbstractDequantizerSpec",
    "Beta",
    "ConditionalFlow",
    "Gamma",
    "HeavyTailed",
    "Normal",
    "Uniform",
    "build",
]


def build(
    spec: AbstractDequantizerSpec,
    dequantization: AbstractDequantization,
    *,
    condition_size: int = 0,
    key: PRNGKeyArray,
) -> AbstractDequantizer:
    """Build the density that a spec describes, or an empty one where z is empty.

    Args:
        spec: The description.
        dequantization: The dequantization whose z the density is for.
        key: Initialises the networks.

    Returns:
        The density q(z | y), before training.

    Raises:
        ValueError: The family is for another set of z.
    """
    if dequantization.auxiliary.size == 0:
        return UniformCells()
    return spec.build(dequantization, condition_size=condition_size, key=key)
