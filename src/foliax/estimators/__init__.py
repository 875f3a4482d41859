"""Estimators: descriptions that fit a density to rows.

`base` has the interface. `DequantizedFlow` serves every manifold; `kernel`, `mixture` and
`manifold_flow` serve some. `stacking` mixes fitted densities and `auto` is the default.
May import: `training`, `density`, `distributions` and the packages below them.
"""

from ..density import PushForward
from .auto.policy import Auto
from .base import AbstractSpec, Fitted, UnsupportedManifoldError
from .dequantized_flow import DequantizedFlow
from .kernel import KernelDensity, LocalKernel, ScaleMixtureKernel
from .manifold_flow import (
    AbstractFlowSpec,
    CircularSplineFlow,
    ExponentialFlow,
    ManifoldODE,
    MobiusFlow,
)
from .mixture import DirectionalMixture, MixtureDensity
from .refine_dequantizer import settled
from .stacking import Stacking, stack

__all__ = [
    "AbstractFlowSpec",
    "AbstractSpec",
    "Auto",
    "CircularSplineFlow",
    "DequantizedFlow",
    "DirectionalMixture",
    "ExponentialFlow",
    "Fitted",
    "KernelDensity",
    "LocalKernel",
    "ManifoldODE",
    "MixtureDensity",
    "MobiusFlow",
    "PushForward",
    "ScaleMixtureKernel",
    "Stacking",
    "UnsupportedManifoldError",
    "settled",
    "stack",
]
