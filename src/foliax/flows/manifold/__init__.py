"""Bijections of circles, tori and spheres onto themselves.

Möbius maps, circular splines, heights of spheres and neural ODEs. `density.PushForward` makes
densities of them; `estimators.manifold_flow` fits those.
May import: `manifolds` and `flows`.
"""

from .bijections import AbstractBijection, Chain
from .circle import AbstractCircleMap, Autoregressive, Coupling
from .circular_spline import CircularSpline
from .heights import Recursive
from .mobius import Mobius
from .ode import GridFlow, TangentFlow

__all__ = [
    "AbstractBijection",
    "AbstractCircleMap",
    "Autoregressive",
    "Chain",
    "CircularSpline",
    "Coupling",
    "GridFlow",
    "Mobius",
    "Recursive",
    "TangentFlow",
]
