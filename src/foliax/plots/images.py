"""Quotients: views by what is divided, and all images of a point."""

from __future__ import annotations

import functools

import numpy as np

from ..manifolds import AbstractManifold, Quotient
from .pairs import pair_plot
from .views import View, views


@functools.singledispatch
def quotient_views(base: AbstractManifold, manifold: Quotient) -> dict[str, View]:
    """The views of base/G beside the pair plot; none where none are registered."""
    return {}


@views.register
def _(manifold: Quotient) -> dict[str, View]:
    return quotient_views(manifold.base, manifold) | {"pair": pair_plot}


@functools.singledispatch
def images(manifold: AbstractManifold, rows: np.ndarray) -> np.ndarray:
    """All points that are one with a row: the rows themselves, but in a quotient."""
    return rows


@images.register
def _(manifold: Quotient, rows: np.ndarray) -> np.ndarray:
    return np.einsum("gij,nj->ngi", manifold._actions(), rows).reshape(-1, manifold.size)
