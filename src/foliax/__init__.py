"""Densities on manifolds by generalized dequantization."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .density import AbstractDensity, Dataset, DequantizedDensity, evaluate
    from .dequantizers import HeavyTailed
    from .estimators import Auto, DequantizedFlow, FitResult, refine_dequantizer
    from .manifolds import (
        Ball,
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
    "density": ["AbstractDensity", "Dataset", "DequantizedDensity", "evaluate"],
    "dequantizers": ["HeavyTailed"],
    "estimators": ["Auto", "DequantizedFlow", "FitResult", "refine_dequantizer"],
    "manifolds": [
        "Ball",
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
    "Ball",
    "Circle",
    "Dataset",
    "DensityEstimator",
    "DequantizedDensity",
    "DequantizedFlow",
    "Euclidean",
    "FitResult",
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
    "refine_dequantizer",
]


def __getattr__(name: str) -> Any:
    """Import names and modules on demand, so that `foliax --help` does not import JAX.

    Names that are not listed above may be manifolds that register themselves.
    """
    if name in _HOME:
        return getattr(importlib.import_module(f".{_HOME[name]}", __name__), name)
    if name in _MODULES:
        return importlib.import_module(f".{name}", __name__)
    if name[:1].isupper():
        registered = importlib.import_module(".manifolds", __name__).MANIFOLDS
        if name in registered:
            return registered[name]
    raise AttributeError(f"module 'foliax' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__, *_MODULES])
