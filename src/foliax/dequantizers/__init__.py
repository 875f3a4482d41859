"""Dequantization densities q(z | y), amortised by a network on the manifold's features."""

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
    spec: AbstractDequantizerSpec, dequantization: AbstractDequantization, *, key: PRNGKeyArray
) -> AbstractDequantizer:
    """The described density; where z is empty there is nothing to describe."""
    if dequantization.auxiliary.size == 0:
        return UniformCells()
    return spec.build(dequantization, key=key)
