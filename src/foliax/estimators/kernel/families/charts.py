"""Kernels of manifolds that one chart covers: reals, half-lines, intervals, counts, rounded values.

Charted manifolds are flat in their chart. For counted and rounded values a Gaussian of the chart is
integrated over the cell of each value, which integrates z out of their dequantization exactly.
"""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from ....manifolds import AbstractDequantization
from ....manifolds.tangent import AbstractTangent, ChartTangent, Frame, Query, Vector
from ....registry import storable
from .base import AbstractKernelFamily, Kappas, Point, Scalar

MIN_RELATIVE_WIDTH = 2.0**-12
"""Width of a cell over its distance from zero below which its ends do not give the width.

At this ratio, the difference of the ends has a relative error of 2^-12 in float32.
"""


@storable("rivals.FlatLeaf")
class ChartKernel(AbstractKernelFamily):
    """Normal in the chart of a dequantization without z; each coordinate has its own bandwidth."""

    dequantization: AbstractDequantization

    @property
    def scales(self) -> tuple[int, ...]:
        return tuple(range(self.dequantization.ambient_dim))

    def embed(self, y: Point) -> Float[Array, " e"]:
        return self.dequantization.preimages(y, jnp.zeros(0, y.dtype))[0][0]

    def log_jacobian(self, y: Point) -> Scalar:
        return self.dequantization.preimages(y, jnp.zeros(0, y.dtype))[1][0]

    def log_mass(self, kappa: Float[np.ndarray, " s"]) -> float:
        return float(0.5 * np.log(2 * math.pi / kappa).sum())

    def sample(self, y: Point, kappa: Kappas, *, key: PRNGKeyArray) -> Point:
        return _sample_in_chart(self.dequantization, self.embed(y), kappa, key)

    def tangent(self) -> ChartKernelTangent:
        return ChartKernelTangent(self)


@storable("rivals.CellLeaf")
class CellKernel(AbstractKernelFamily):
    """Normal in the chart of a dequantization by cells, integrated over the cell of each value."""

    dequantization: AbstractDequantization

    @property
    def scales(self) -> tuple[int, ...]:
        return tuple(range(self.dequantization.ambient_dim))

    def embed(self, y: Point) -> Float[Array, " e"]:
        """Compute the middle of y's cell."""
        return self._position(y, 0.5)

    def cell_edges(self, y: Point) -> Float[Array, "e 2"]:
        return jnp.stack([self._position(y, 0.0), self._position(y, 1.0)], axis=1)

    def cell_widths(self, y: Point) -> Float[Array, " e"]:
        """Compute dx/du in the middle of narrow cells, which is their width to 1e-7; else 0."""
        half = jnp.full(y.shape, 0.5, y.dtype)
        middle, width = jax.jvp(
            lambda u: self.dequantization.preimages(y, u)[0][0], (half,), (jnp.ones_like(half),)
        )
        return jnp.where(width < MIN_RELATIVE_WIDTH * jnp.abs(middle), width, 0)

    def log_mass(self, kappa: Float[np.ndarray, " s"]) -> float:
        """Return 0: the cells cover the line."""
        return 0.0

    def sample(self, y: Point, kappa: Kappas, *, key: PRNGKeyArray) -> Point:
        return _sample_in_chart(self.dequantization, self.embed(y), kappa, key)

    def tangent(self) -> None:
        return None

    def _position(self, y: Point, u: float) -> Float[Array, " e"]:
        return self.dequantization.preimages(y, jnp.full(y.shape, u, y.dtype))[0][0]


@storable("rivals.FlatTangent", renamed_fields={"leaf": "family"})
class ChartKernelTangent(AbstractTangent):
    """A `ChartTangent` as model files store it: by the kernel family whose chart it uses."""

    family: ChartKernel

    @property
    def scales(self) -> tuple[int, ...]:
        return self._chart().scales

    def frame(self, y: Point) -> Frame:
        return self._chart().frame(y)

    def query(self, y: Point) -> Query:
        return self._chart().query(y)

    def log_map(self, frame: Frame, query: Query) -> tuple[Vector, Scalar]:
        return self._chart().log_map(frame, query)

    def exp_map(self, frame: Frame, v: Vector) -> Point:
        return self._chart().exp_map(frame, v)

    def _chart(self) -> ChartTangent:
        return ChartTangent(self.family.dequantization)


def _sample_in_chart(
    g: AbstractDequantization, x: Float[Array, " e"], kappa: Kappas, key: PRNGKeyArray
) -> Point:
    """Take a normal step from x in the chart and map it back."""
    return g.quantize(x + jax.random.normal(key, x.shape, x.dtype) / jnp.sqrt(kappa))[0]
