"""Densities on manifolds by generalized dequantization."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .density import AbstractDensity, DequantizedDensity, evaluate
    from .dequantizers import HeavyTailed
    from .estimators import Auto, DequantizedFlow, Fitted, settled
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
    from .sklearn import DensityEstimator
    from .training import ELBO, ImportanceWeighted, Training

__version__ = "0.1.0.dev0"

_HOMES = {
    "density": ["AbstractDensity", "DequantizedDensity", "evaluate"],
    "dequantizers": ["HeavyTailed"],
    "estimators": ["Auto", "DequantizedFlow", "Fitted", "settled"],
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
    "sklearn": ["DensityEstimator"],
    "training": ["ELBO", "ImportanceWeighted", "Training"],
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}
_MODULES = (
    "cli",
    "density",
    "dequantizers",
    "distributions",
    "estimators",
    "evaluation",
    "flows",
    "io",
    "manifolds",
    "paper",
    "plots",
    "report",
    "sklearn",
    "tables",
    "training",
)

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
    "HeavyTailed",
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
