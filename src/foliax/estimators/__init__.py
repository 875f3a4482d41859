"""Estimators: descriptions that fit a density to rows.

`base` has the interface. `DequantizedFlow` serves every manifold; `kernel`, `mixture` and
`manifold_flow` serve some. `stacking` mixes fitted densities and `auto` is the default. All modules
are imported, and estimators with `@storable` are exported.
May import: `training`, `density`, `distributions` and the packages below them.
"""

import importlib
import pkgutil
from typing import Any

from .. import registry
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


def _find_registered() -> dict[str, type[AbstractEstimator]]:
    """Import all modules of the package; return the registered estimators by their class name."""
    for module in pkgutil.iter_modules(__path__):
        importlib.import_module(f"{__name__}.{module.name}")
    return {
        entry.cls.__name__: entry.cls
        for entry in registry.entries()
        if issubclass(entry.cls, AbstractEstimator)
        and entry.cls.__module__.startswith(f"{__name__}.")
    }


_REGISTERED = _find_registered()
__all__.extend(sorted(_REGISTERED.keys() - {*__all__}))  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    """Return a registered estimator that is not imported above."""
    if name in _REGISTERED:
        return _REGISTERED[name]
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
