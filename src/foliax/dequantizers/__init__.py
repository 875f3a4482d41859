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
from .location_scale import Normal, Safe

__all__ = [
    "AbstractDequantizer",
    "AbstractDequantizerSpec",
    "Beta",
    "ConditionalFlow",
    "Gamma",
    "Normal",
    "Safe",
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
    """The described density; where z is empty there is nothing to describe."""
    if dequantization.auxiliary.size == 0:
        return UniformCells()
    return spec.build(dequantization, condition_size=condition_size, key=key)
