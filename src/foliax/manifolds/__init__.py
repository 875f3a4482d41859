"""Manifolds Y, auxiliary sets Z and dequantizations G.

One file per manifold, with its dequantizations beside it. `product` and `quotient` build manifolds
from manifolds. `auxiliary` has the sets of z. `conversions` turns user conventions into points.
May import: nothing of foliax but `registry`.
"""

from . import conversions
from .autodiff import ByAutodiff, log_volume_by_autodiff
from .base import (
    AbstractDequantization,
    AbstractManifold,
    OffManifoldError,
    TangentError,
    check_points,
    covers,
    log_joint,
)
from .crystals import Orientations
from .euclidean import Chart, Euclidean, Interval, PositiveReals, ScaledChart
from .integers import Cells, Integers, LogCells, Naturals, Rounded
from .levelset import LevelSet
from .product import Joint, Product
from .quotient import Orbits, ProjectiveSpace, Quotient
from .rotations import ExponentialMap, Fold, Quaternions, SignedQuaternions, SpecialOrthogonal
from .sphere import Hyperspherical, Sphere
from .stiefel import QR, Orthogonal, Polar, Stiefel
from .torus import ByRadii, Circle, Torus, Wrapping

__all__ = [
    "QR",
    "AbstractDequantization",
    "AbstractManifold",
    "ByAutodiff",
    "ByRadii",
    "Cells",
    "Chart",
    "Circle",
    "Euclidean",
    "ExponentialMap",
    "Fold",
    "Hyperspherical",
    "Integers",
    "Interval",
    "Joint",
    "LevelSet",
    "LogCells",
    "Naturals",
    "OffManifoldError",
    "Orbits",
    "Orientations",
    "Orthogonal",
    "Polar",
    "PositiveReals",
    "Product",
    "ProjectiveSpace",
    "Quaternions",
    "Quotient",
    "Rounded",
    "ScaledChart",
    "SignedQuaternions",
    "SpecialOrthogonal",
    "Sphere",
    "Stiefel",
    "TangentError",
    "Torus",
    "Wrapping",
    "check_points",
    "conversions",
    "covers",
    "log_joint",
    "log_volume_by_autodiff",
]
