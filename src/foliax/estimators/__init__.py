"""Estimators: descriptions that fit a density to rows.

`base` has the interface. `DequantizedFlow` serves every manifold; `kernel`, `mixture` and
`manifold_flow` serve some. `stacking` mixes fitted densities and `auto` is the default.
May import: `training`, `density`, `distributions` and the packages below them.
"""

from ..density import Dataset, PushForward
from .auto import Auto
from .base import (
    AbstractEstimator,
    FitError,
    FitResult,
    UnsupportedManifoldError,
    estimator_names,
    get_estimator,
)
from .dequantized_flow import DequantizedFlow
from .kernel import KernelDensity, LocalKernel, ScaleMixtureKernel
from .manifold_flow import (
    AbstractManifoldFlow,
    CircularSplineFlow,
    ExponentialFlow,
    ManifoldODE,
    MobiusFlow,
)
from .mixture import DirectionalMixture, MixtureDensity
from .refine_dequantizer import refine_dequantizer
from .stacking import Stacking, stack

__all__ = [
    "AbstractEstimator",
    "AbstractManifoldFlow",
    "Auto",
    "CircularSplineFlow",
    "Dataset",
    "DequantizedFlow",
    "DirectionalMixture",
    "ExponentialFlow",
    "FitError",
    "FitResult",
    "KernelDensity",
    "LocalKernel",
    "ManifoldODE",
    "MixtureDensity",
    "MobiusFlow",
    "PushForward",
    "ScaleMixtureKernel",
    "Stacking",
    "UnsupportedManifoldError",
    "estimator_names",
    "get_estimator",
    "refine_dequantizer",
    "stack",
]
