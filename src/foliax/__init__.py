"""Densities on manifolds by generalized dequantization."""

from .density import AbstractDensity, DequantizedDensity
from .dequantizers import Safe
from .fit import DequantizedFlow
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

__all__ = [
    "ELBO",
    "AbstractDensity",
    "Circle",
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
]
