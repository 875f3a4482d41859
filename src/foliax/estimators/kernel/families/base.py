"""What a kernel family offers, and its registration for a manifold type.

A kernel around μ is exp(−½κ‖e(y) − e(μ)‖²)/C(κ) in an embedding e in which the manifold is
homogeneous, so that C does not depend on μ.
"""

from __future__ import annotations

import abc
from collections.abc import Callable
from typing import TypeVar

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from ....manifolds import AbstractManifold
from ....manifolds.tangent import AbstractTangent

Point = Float[Array, " size"]
Scalar = Float[Array, ""]
Kappas = Float[Array, " s"]
F = TypeVar("F", bound=type)


class AbstractKernelFamily(eqx.Module):
    """The kernels of one factor of a manifold: an embedding, exact masses and exact samples."""

    @property
    @abc.abstractmethod
    def scales(self) -> tuple[int, ...]:
        """For each embedded coordinate, the index of its bandwidth within the family."""

    @property
    def n_bandwidths(self) -> int:
        """The number of bandwidths."""
        return 1 + max(self.scales)

    @abc.abstractmethod
    def embed(self, y: Point) -> Float[Array, " e"]:
        """Compute e(y)."""

    def cell_edges(self, y: Point) -> Float[Array, "e 2"] | None:
        """Compute both ends of y's cell in each coordinate; None where values are not rounded."""
        return None

    def cell_widths(self, y: Point) -> Float[Array, " e"] | None:
        """Compute the widths of cells whose ends are too close for their difference, else 0."""
        return None

    def log_jacobian(self, y: Point) -> Scalar:
        """Compute log |de/dy|, which is not 0 where e is a chart of another volume."""
        return jnp.zeros((), y.dtype)

    @abc.abstractmethod
    def log_mass(self, kappa: Float[np.ndarray, " s"]) -> float:
        """Compute log C, given one κ for each bandwidth."""

    @abc.abstractmethod
    def sample(self, y: Point, kappa: Kappas, *, key: PRNGKeyArray) -> Point:
        """Draw one point from the kernel around y, given one κ for each bandwidth."""

    @abc.abstractmethod
    def tangent(self) -> AbstractTangent | None:
        """The tangent coordinates that give a kernel a covariance; None for cells.

        Raises:
            UnsupportedManifoldError: No tangent coordinates are known.
        """


FAMILIES: dict[type[AbstractManifold], Callable[..., AbstractKernelFamily]] = {}
"""The family of each manifold type, filled by `kernel_for`."""


def kernel_for(manifold_type: type[AbstractManifold]) -> Callable[[F], F]:
    """Register a family for a manifold type and its subclasses.

    Args:
        manifold_type: The type. The family's constructor takes a manifold of this type.

    Returns:
        A decorator that returns the family itself.
    """

    def register(family: F) -> F:
        FAMILIES[manifold_type] = family
        return family

    return register
