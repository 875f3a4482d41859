"""Flows that live on the manifold itself.

Möbius flows, circular splines, neural ODEs and flows through the exponential map. The bijections
are in `flows.manifold`; here they are built for a manifold and fitted.
May import: `estimators.base` and everything below `estimators`.
"""

from .base import AbstractManifoldFlow
from .circular_spline import CircularSplineFlow
from .exponential import ExponentialFlow
from .manifold_ode import ManifoldODE
from .mobius import MobiusFlow

__all__ = [
    "AbstractManifoldFlow",
    "CircularSplineFlow",
    "ExponentialFlow",
    "ManifoldODE",
    "MobiusFlow",
]
