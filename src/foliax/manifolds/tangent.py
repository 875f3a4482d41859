"""Tangent coordinates of a manifold around one of its points.

v = log_μ(y) are coordinates of y in an orthonormal frame at μ, and exp_μ maps them back. The volume
is dy = exp(log_volume) dv, so that a normal law of v has the density N(v)/exp(log_volume).
"""

from __future__ import annotations

import abc
from typing import TYPE_CHECKING

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

if TYPE_CHECKING:
    from .base import AbstractDequantization

Point = Float[Array, " size"]
Frame = Float[Array, " f"]
Query = Float[Array, " q"]
Vector = Float[Array, " d"]
Scalar = Float[Array, ""]


class AbstractTangent(eqx.Module):
    """The maps log_μ and exp_μ, with everything that depends on one point only computed once.

    `AbstractManifold.log` and `AbstractManifold.exp` are the simple form. Kernels evaluate many
    pairs of points, so they store each row's frame and compute each query once.
    """

    @property
    @abc.abstractmethod
    def scales(self) -> tuple[int, ...]:
        """For each coordinate, the number of its unit: coordinates of one unit can be compared."""

    @property
    def max_chord_ratio(self) -> float:
        """The largest ratio of a chord between embedded points to the length of v."""
        return 1.0

    @property
    def max_log_shrinkage(self) -> float:
        """A number s such that −log_volume ≤ s·min(1, ‖v‖²/π²); 0 where volumes do not shrink."""
        return 0.0

    @abc.abstractmethod
    def frame(self, y: Point) -> Frame:
        """Compute what the maps need to know of the centre μ = y."""

    @abc.abstractmethod
    def query(self, y: Point) -> Query:
        """Compute what `log_map` needs to know of the other point."""

    @abc.abstractmethod
    def log_map(self, frame: Frame, query: Query) -> tuple[Vector, Scalar]:
        """Map a point to its tangent coordinates.

        Args:
            frame: `frame` of the centre.
            query: `query` of the point.

        Returns:
            The coordinates v, and log_volume = log |dy/dv|.
        """

    @abc.abstractmethod
    def exp_map(self, frame: Frame, v: Vector) -> Point:
        """Map tangent coordinates to a point, given the `frame` of the centre."""


class ChartTangent(AbstractTangent):
    """v = the difference in a chart; log_volume = 0: the chart has its own volume.

    The chart is a dequantization of one branch without z.
    """

    dequantization: AbstractDequantization

    @property
    def scales(self) -> tuple[int, ...]:
        return tuple(range(self.dequantization.ambient_dim))

    def frame(self, y: Point) -> Frame:
        return self.dequantization.preimages(y, jnp.zeros(0, y.dtype))[0][0]

    def query(self, y: Point) -> Query:
        return self.frame(y)

    def log_map(self, frame: Frame, query: Query) -> tuple[Vector, Scalar]:
        return query - frame, jnp.zeros((), query.dtype)

    def exp_map(self, frame: Frame, v: Vector) -> Point:
        return self.dequantization.quantize(frame + v)[0]
