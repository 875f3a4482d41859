"""Other ways to a density on a manifold, behind the same interface."""

from .circular_spline import CircularSplineFlow
from .exponential import ExponentialFlow
from .flow import AbstractFlowSpec, PushForward
from .kernel import ScaleMixtureKernel
from .kernel_density import KernelDensity
from .local import LocalKernel
from .manifold_ode import ManifoldODE
from .mixtures import DirectionalMixture, MixtureDensity
from .mobius import MobiusFlow

__all__ = [
    "AbstractFlowSpec",
    "CircularSplineFlow",
    "DirectionalMixture",
    "ExponentialFlow",
    "KernelDensity",
    "LocalKernel",
    "ManifoldODE",
    "MixtureDensity",
    "MobiusFlow",
    "PushForward",
    "ScaleMixtureKernel",
]
