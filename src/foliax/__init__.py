"""Densities on manifolds by generalized dequantization."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .auto import Auto
    from .density import AbstractDensity, DequantizedDensity
    from .dequantizers import Safe
    from .estimator import DensityEstimator
    from .fit import DequantizedFlow, settled
    from .manifolds import (
        Circle,
        Euclidean,
        Integers,
        Interval,
        Naturals,
        Orientations,
        Orthogonal,
        PositiveReals,
        Product,
        ProjectiveSpace,
        Quotient,
        Rounded,
        SpecialOrthogonal,
        Sphere,
        Stiefel,
        Torus,
    )
    from .marginal import evaluate
    from .objectives import ELBO, ImportanceWeighted
    from .specs import Fitted
    from .training import Training

__version__ = "0.1.0.dev0"

_HOMES = {
    "auto": ["Auto"],
    "density": ["AbstractDensity", "DequantizedDensity"],
    "dequantizers": ["Safe"],
    "estimator": ["DensityEstimator"],
    "fit": ["DequantizedFlow", "settled"],
    "manifolds": [
        "Circle",
        "Euclidean",
        "Integers",
        "Interval",
        "Naturals",
        "Orientations",
        "Orthogonal",
        "PositiveReals",
        "Product",
        "ProjectiveSpace",
        "Quotient",
        "Rounded",
        "SpecialOrthogonal",
        "Sphere",
        "Stiefel",
        "Torus",
    ],
    "marginal": ["evaluate"],
    "objectives": ["ELBO", "ImportanceWeighted"],
    "specs": ["Fitted"],
    "training": ["Training"],
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}
_MODULES = ("ambient", "manifolds", "metrics", "plots", "rivals", "store", "tables", "targets")

__all__ = [
    "ELBO",
    "AbstractDensity",
    "Auto",
    "Circle",
    "DensityEstimator",
    "DequantizedDensity",
    "DequantizedFlow",
    "Euclidean",
    "Fitted",
    "ImportanceWeighted",
    "Integers",
    "Interval",
    "Naturals",
    "Orientations",
    "Orthogonal",
    "PositiveReals",
    "Product",
    "ProjectiveSpace",
    "Quotient",
    "Rounded",
    "Safe",
    "SpecialOrthogonal",
    "Sphere",
    "Stiefel",
    "Torus",
    "Training",
    "evaluate",
    "settled",
]


def __getattr__(name: str) -> Any:
    """Names and modules on demand: `foliax --help` needs no JAX, most scripts no scikit-learn."""
    if name in _HOME:
        return getattr(importlib.import_module(f".{_HOME[name]}", __name__), name)
    if name in _MODULES:
        return importlib.import_module(f".{name}", __name__)
    raise AttributeError(f"module 'foliax' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__, *_MODULES])
