"""Manifolds Y, auxiliary sets Z and dequantizations G.

One file per manifold, with its dequantizations beside it. `product` and `quotient` build manifolds
from manifolds. `auxiliary` has the sets of z. `conversions` turns user conventions into points.
All modules are imported, and classes with `@storable("manifolds.…")` are exported.
May import: only `registry` from foliax.
"""

import importlib
import pkgutil
from typing import Any

from .. import registry
from . import conversions
from .autodiff import ByAutodiff, log_volume_by_autodiff
from .ball import Ball, Radial
from .base import (
    AbstractDequantization,
    AbstractManifold,
    TangentError,
    covers,
    log_joint,
)
from .charts import Chart, ScaledChart
from .crystals import Orientations
from .euclidean import Euclidean, Interval, PositiveReals
from .integers import Cells, Integers, LogCells, Naturals, Rounded
from .levelset import LevelSet
from .points import OffManifoldError, check_points
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
    "Ball",
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
    "Radial",
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


def _find_registered() -> dict[str, type]:
    """Import all modules of the package; return their registered manifolds and dequantizations."""
    for module in pkgutil.iter_modules(__path__):
        importlib.import_module(f"{__name__}.{module.name}")
    return {
        entry.cls.__name__: entry.cls
        for entry in registry.entries()
        if issubclass(entry.cls, AbstractManifold | AbstractDequantization)
        and entry.cls.__module__.startswith(f"{__name__}.")
    }


_REGISTERED = _find_registered()
__all__.extend(sorted(_REGISTERED.keys() - {*__all__}))  # pyright: ignore[reportUnsupportedDunderAll]

MANIFOLDS: dict[str, type[AbstractManifold]] = {
    name: cls for name, cls in _REGISTERED.items() if issubclass(cls, AbstractManifold)
}
"""The registered manifolds by name; `foliax` exports them too."""


def __getattr__(name: str) -> Any:
    """Return a registered class that is not imported above."""
    if name in _REGISTERED:
        return _REGISTERED[name]
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
