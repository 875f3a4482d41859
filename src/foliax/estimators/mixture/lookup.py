"""Find the family of components for a manifold."""

from __future__ import annotations

import functools

from ...manifolds import AbstractManifold, SpecialOrthogonal, Sphere, Torus
from ..base import AbstractEstimator, unsupported
from .base import MAX_CONCENTRATION, AbstractFamily
from .rotations import MatrixFisherFamily
from .sphere import VonMisesFisherFamily
from .torus import WrappedNormalFamily

SERVED = "spheres, tori and SO(3)"


@functools.singledispatch
def find_family(
    manifold: AbstractManifold,
    estimator: AbstractEstimator,
    max_concentration: float = MAX_CONCENTRATION,
) -> AbstractFamily:
    """Find the family for a manifold; register others by type with `find_family.register`.

    Args:
        manifold: What the rows lie on.
        estimator: The estimator, which the error names.
        max_concentration: The largest concentration of a component; by default that of
            `DirectionalMixture`.

    Returns:
        The family.

    Raises:
        UnsupportedManifoldError: No family is registered for the manifold.
    """
    raise unsupported(estimator, manifold, SERVED)


@find_family.register
def _(
    manifold: Sphere, estimator: AbstractEstimator, max_concentration: float = MAX_CONCENTRATION
) -> AbstractFamily:
    return VonMisesFisherFamily(manifold.d, max_concentration)


@find_family.register
def _(
    manifold: Torus, estimator: AbstractEstimator, max_concentration: float = MAX_CONCENTRATION
) -> AbstractFamily:
    return WrappedNormalFamily(manifold.d, max_concentration)


@find_family.register
def _(
    manifold: SpecialOrthogonal,
    estimator: AbstractEstimator,
    max_concentration: float = MAX_CONCENTRATION,
) -> AbstractFamily:
    if manifold.n != 3:
        raise unsupported(estimator, manifold, SERVED)
    return MatrixFisherFamily(max_concentration)
