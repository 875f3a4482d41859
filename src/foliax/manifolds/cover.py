"""Covers: coordinates of a manifold on spheres, circles, lines and cells, without any z.

A flow on R^m that maps fibres of G to fibres has a marginal in closed form: z integrates out, and
what is left is a flow on the base of the fibration. For a sphere in R^m it maps rays to rays. The
base is a product of spheres, circles and lines for all manifolds here, possibly covered several
times. Such a flow needs no q(z | y), and one evaluation for each branch.
"""

from __future__ import annotations

import abc
from typing import Literal, NamedTuple

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from ..registry import storable
from .base import AbstractManifold, Point

Kind = Literal["sphere", "axis", "circle", "line"]
Coordinates = Float[Array, " m"]


@storable("manifolds.Block")
class Block(NamedTuple):
    """A part of the coordinates.

    A "sphere" is a unit vector of `size` numbers, an "axis" a unit vector up to its sign, a
    "circle" an angle and a "line" a real number.
    """

    kind: Kind
    size: int

    @property
    def is_unit_vector(self) -> bool:
        """Whether its numbers are a unit vector."""
        return self.kind in ("sphere", "axis")


CIRCLE = Block("circle", 1)
LINE = Block("line", 1)


class Cells(NamedTuple):
    """Intervals of a line, which discrete values stand for.

    Attributes:
        low: The lower ends; −inf is allowed.
        high: The upper ends; inf is allowed.
        middle: Points inside.
        log_width: log |dx/dy| at the middle, for cells that are too narrow for a difference.
    """

    low: Float[Array, " c"]
    high: Float[Array, " c"]
    middle: Float[Array, " c"]
    log_width: Float[Array, " c"]


class AbstractCover(eqx.Module):
    """Y as a product of blocks, covered `branches` times, and of cells.

    The density of y is Σ_b p(x_b) exp(log_volume_b) times the probability of its cells.
    """

    manifold: eqx.AbstractVar[AbstractManifold]

    @property
    @abc.abstractmethod
    def blocks(self) -> tuple[Block, ...]:
        """The blocks, in the order of the coordinates."""

    @property
    @abc.abstractmethod
    def branches(self) -> int:
        """The number of coordinates of each point."""

    @property
    def cell_count(self) -> int:
        """The number of discrete coordinates."""
        return 0

    @property
    def size(self) -> int:
        """The number m of coordinates, without cells."""
        return sum(block.size for block in self.blocks)

    @abc.abstractmethod
    def lift(self, y: Point) -> tuple[Float[Array, "b m"], Float[Array, " b"]]:
        """Return all coordinates x_b of y, and log |dx_b/dy|, which is added."""

    @abc.abstractmethod
    def drop(self, x: Coordinates, cells: Float[Array, " c"]) -> Point:
        """Return the point of coordinates x and of the cells that hold these real numbers."""

    def cells(self, y: Point) -> Cells:
        """Return the cells of the discrete coordinates of y."""
        none = jnp.zeros(0, y.dtype)
        return Cells(none, none, none, none)

    def features(self, y: Point) -> Float[Array, " f"]:
        """Return what the probabilities of the cells may depend on: equal for all branches."""
        return self.manifold.features(y)


def cross_branches(left, right):
    """Pair every branch of one part with every branch of the other."""
    (x1, v1), (x2, v2) = left, right
    return beside(x1, x2), (v1[:, None] + v2).reshape(-1)


def beside(x1: Float[Array, "a m"], x2: Float[Array, "b n"]) -> Float[Array, "ab mn"]:
    """Put every row of one beside every row of the other."""
    return jnp.concatenate([jnp.repeat(x1, len(x2), axis=0), jnp.tile(x2, (len(x1), 1))], axis=1)
