"""Covers of spheres, tori, charts and discrete values, of products and quotients."""

from __future__ import annotations

import functools
import math

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..registry import storable
from .base import (
    AbstractDequantization,
    AbstractManifold,
    Point,
    is_chart,
    is_chart_by_cells,
)
from .cover import CIRCLE, LINE, AbstractCover, Block, Cells, Coordinates, cross_branches


@storable("manifolds.SphereCover")
class SphereCover(AbstractCover):
    """S^d itself, as a unit vector; S¹ as an angle."""

    manifold: AbstractManifold

    @property
    def blocks(self) -> tuple[Block, ...]:
        return (CIRCLE,) if self.manifold.size == 2 else (Block("sphere", self.manifold.size),)

    @property
    def branches(self) -> int:
        return 1

    def lift(self, y: Point) -> tuple[Float[Array, "b m"], Float[Array, " b"]]:
        x = jnp.arctan2(y[1], y[0])[None] if self.manifold.size == 2 else y
        return x[None], jnp.zeros(1, y.dtype)

    def drop(self, x: Coordinates, cells: Float[Array, " c"]) -> Point:
        return jnp.stack([jnp.cos(x[0]), jnp.sin(x[0])]) if self.manifold.size == 2 else x


@storable("manifolds.AxisCover")
class AxisCover(AbstractCover):
    """Unit vectors up to their sign, of at least three numbers."""

    manifold: AbstractManifold

    @property
    def blocks(self) -> tuple[Block, ...]:
        return (Block("axis", self.manifold.size),)

    @property
    def branches(self) -> int:
        return 1

    def lift(self, y: Point) -> tuple[Float[Array, "b m"], Float[Array, " b"]]:
        return y[None], jnp.zeros(1, y.dtype)

    def drop(self, x: Coordinates, cells: Float[Array, " c"]) -> Point:
        return self.manifold.representative(x)


@storable("manifolds.AnglesCover")
class AnglesCover(AbstractCover):
    """T^d as d angles."""

    manifold: AbstractManifold

    @property
    def blocks(self) -> tuple[Block, ...]:
        return (CIRCLE,) * self.manifold.dim

    @property
    def branches(self) -> int:
        return 1

    def lift(self, y: Point) -> tuple[Float[Array, "b m"], Float[Array, " b"]]:
        return y[None], jnp.zeros(1, y.dtype)

    def drop(self, x: Coordinates, cells: Float[Array, " c"]) -> Point:
        return x


@storable("manifolds.ChartCover")
class ChartCover(AbstractCover):
    """A manifold with one chart, as lines."""

    manifold: AbstractManifold
    chart: AbstractDequantization

    @property
    def blocks(self) -> tuple[Block, ...]:
        return (LINE,) * self.chart.ambient_dim

    @property
    def branches(self) -> int:
        return 1

    def lift(self, y: Point) -> tuple[Float[Array, "b m"], Float[Array, " b"]]:
        return self.chart.preimages(y, jnp.zeros(0, y.dtype))

    def drop(self, x: Coordinates, cells: Float[Array, " c"]) -> Point:
        return self.chart.quantize(x)[0]

    def features(self, y: Point) -> Float[Array, " f"]:
        return self.lift(y)[0][0]


@storable("manifolds.CellsCover")
class CellsCover(AbstractCover):
    """Discrete values, as cells of a chart: z of the chart is the position in the cell."""

    manifold: AbstractManifold
    chart: AbstractDequantization

    @property
    def blocks(self) -> tuple[Block, ...]:
        return ()

    @property
    def branches(self) -> int:
        return 1

    @property
    def cell_count(self) -> int:
        return self.chart.ambient_dim

    def lift(self, y: Point) -> tuple[Float[Array, "b m"], Float[Array, " b"]]:
        return jnp.zeros((1, 0), y.dtype), jnp.zeros(1, y.dtype)

    def drop(self, x: Coordinates, cells: Float[Array, " c"]) -> Point:
        return self.chart.quantize(cells)[0]

    def cells(self, y: Point) -> Cells:
        def at(z: Array) -> Array:
            return self.chart.preimages(y, z)[0][0]

        half = jnp.full(self.cell_count, 0.5, y.dtype)
        # Each coordinate depends on its own z only: the gradient of the sum has all widths.
        widths = jax.grad(lambda z: at(z).sum())(half)
        return Cells(at(half - 0.5), at(half + 0.5), at(half), jnp.log(widths))

    def features(self, y: Point) -> Float[Array, " f"]:
        return jnp.zeros(0, y.dtype)


@storable("manifolds.ProductCover")
class ProductCover(AbstractCover):
    """Covers side by side: coordinates and cells concatenated, branches multiplied."""

    manifold: AbstractManifold
    parts: tuple[AbstractCover, ...]

    @property
    def blocks(self) -> tuple[Block, ...]:
        return tuple(block for part in self.parts for block in part.blocks)

    @property
    def branches(self) -> int:
        return math.prod(part.branches for part in self.parts)

    @property
    def cell_count(self) -> int:
        return sum(part.cell_count for part in self.parts)

    def lift(self, y: Point) -> tuple[Float[Array, "b m"], Float[Array, " b"]]:
        return functools.reduce(cross_branches, [part.lift(v) for part, v in self._with(y)])

    def drop(self, x: Coordinates, cells: Float[Array, " c"]) -> Point:
        xs = _cut(x, [part.size for part in self.parts])
        cs = _cut(cells, [part.cell_count for part in self.parts])
        return jnp.concatenate([p.drop(a, c) for p, a, c in zip(self.parts, xs, cs, strict=True)])

    def cells(self, y: Point) -> Cells:
        return Cells(
            *map(jnp.concatenate, zip(*(p.cells(v) for p, v in self._with(y)), strict=True))
        )

    def features(self, y: Point) -> Float[Array, " f"]:
        return jnp.concatenate([part.features(v) for part, v in self._with(y)])

    def _with(self, y: Point) -> zip[tuple[AbstractCover, Array]]:
        return zip(self.parts, _cut(y, [p.manifold.size for p in self.parts]), strict=True)


@storable("manifolds.OrbitCover")
class OrbitCover(AbstractCover):
    """Y/G by the coordinates of all images of a point in Y."""

    manifold: AbstractManifold
    base: AbstractCover

    @property
    def blocks(self) -> tuple[Block, ...]:
        return self.base.blocks

    @property
    def branches(self) -> int:
        return self.manifold.orbit_size * self.base.branches

    def lift(self, y: Point) -> tuple[Float[Array, "b m"], Float[Array, " b"]]:
        x, log_volume = jax.vmap(self.base.lift)(self.manifold.orbit(y))
        return x.reshape(-1, self.size), log_volume.reshape(-1)

    def drop(self, x: Coordinates, cells: Float[Array, " c"]) -> Point:
        return self.manifold.representative(self.base.drop(x, cells))


def cover_chart(manifold: AbstractManifold) -> AbstractCover | None:
    """Return the cover of a manifold of one chart; None for any other."""
    g = manifold.dequantization()
    if is_chart_by_cells(g):
        return CellsCover(manifold, g)
    return ChartCover(manifold, g) if is_chart(g) else None


def _cut(v: Float[Array, " n"], sizes: list[int]) -> list[Array]:
    return jnp.split(v, np.cumsum(sizes)[:-1])
