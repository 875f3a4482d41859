"""Covers of rotations and orthonormal frames by spheres."""

from __future__ import annotations

import math

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..registry import storable
from .base import AbstractManifold, Point
from .cover import CIRCLE, AbstractCover, Block, Cells, Coordinates
from .plain_covers import SphereCover
from .quaternions import (
    multiply_quaternions,
    quaternion_of_rotation,
    quaternions_of_rotation_of_space,
    rotation_of_quaternion,
)

THREE_SPHERE = Block("sphere", 4)
LOG_THREE_SPHERE_VOLUME = math.log(2 * math.pi**2)
SIGN_MIDDLE = 1.0
"""The number that stands for a determinant of 1; its negative stands for −1."""


@storable("manifolds.QuaternionCover")
class QuaternionCover(AbstractCover):
    """SO(3) by unit quaternions up to their sign.

    Also St(3, 2), whose third column follows from the others.
    """

    manifold: AbstractManifold

    @property
    def blocks(self) -> tuple[Block, ...]:
        return (Block("axis", 4),)

    @property
    def branches(self) -> int:
        return 1

    def lift(self, y: Point) -> tuple[Float[Array, "b m"], Float[Array, " b"]]:
        matrix = y.reshape(self.manifold.shape)
        if self.manifold.shape[1] == 2:
            third = jnp.cross(matrix[:, 0], matrix[:, 1])
            matrix = jnp.column_stack([matrix, third])
        q = quaternion_of_rotation(matrix)
        log_volume = LOG_THREE_SPHERE_VOLUME - math.log(2) - self.manifold.log_total_volume()
        return q[None], jnp.full(1, log_volume, y.dtype)

    def drop(self, x: Coordinates, cells: Float[Array, " c"]) -> Point:
        return rotation_of_quaternion(x)[:, : self.manifold.shape[1]].reshape(-1)


@storable("manifolds.QuaternionPairCover")
class QuaternionPairCover(AbstractCover):
    """SO(4) by pairs of unit quaternions, v ↦ p v q̄; (p, q) and (−p, −q) are one rotation."""

    manifold: AbstractManifold

    @property
    def blocks(self) -> tuple[Block, ...]:
        return (THREE_SPHERE, THREE_SPHERE)

    @property
    def branches(self) -> int:
        return 2

    def lift(self, y: Point) -> tuple[Float[Array, "b m"], Float[Array, " b"]]:
        pair = jnp.concatenate(quaternions_of_rotation_of_space(y.reshape(4, 4)))
        log_volume = 2 * LOG_THREE_SPHERE_VOLUME - math.log(2) - self.manifold.log_total_volume()
        return jnp.stack([pair, -pair]), jnp.full(2, log_volume, y.dtype)

    def drop(self, x: Coordinates, cells: Float[Array, " c"]) -> Point:
        p, q = x[:4], x[4:] * np.array([1, -1, -1, -1], x.dtype)
        unit = jnp.eye(4, dtype=x.dtype)
        columns = [multiply_quaternions(multiply_quaternions(p, e), q) for e in unit]
        return jnp.stack(columns, axis=1).reshape(-1)


@storable("manifolds.QuaternionFrameCover")
class QuaternionFrameCover(AbstractCover):
    """St(4, 2) = S³ × S²: the second column is the first one times an imaginary unit quaternion."""

    manifold: AbstractManifold

    @property
    def blocks(self) -> tuple[Block, ...]:
        return (THREE_SPHERE, Block("sphere", 3))

    @property
    def branches(self) -> int:
        return 1

    def lift(self, y: Point) -> tuple[Float[Array, "b m"], Float[Array, " b"]]:
        first, second = y.reshape(4, 2).T
        conjugate = first * np.array([1, -1, -1, -1], y.dtype)
        direction = multiply_quaternions(conjugate, second)[1:]
        direction = direction / jnp.linalg.norm(direction)
        log_volume = jnp.full(1, -math.log(2) / 2, y.dtype)
        return jnp.concatenate([first, direction])[None], log_volume

    def drop(self, x: Coordinates, cells: Float[Array, " c"]) -> Point:
        second = multiply_quaternions(x[:4], jnp.concatenate([jnp.zeros(1, x.dtype), x[4:]]))
        return jnp.stack([x[:4], second], axis=1).reshape(-1)


@storable("manifolds.ColumnsCover")
class ColumnsCover(AbstractCover):
    """St(n, p), p < n, as S^{n−1} × … × S^{n−p}; SO(n) as St(n, n − 1).

    A Householder reflection that maps the first column to −e₁ maps the others to unit vectors of
    R^{n−1}, and so on. It is discontinuous at one point, −e₁, of each sphere. The measure is
    2^{p(p−1)/4} times that of the spheres; for SO(n), p = n here.
    """

    manifold: AbstractManifold

    @property
    def blocks(self) -> tuple[Block, ...]:
        n, p = self.manifold.shape
        sizes = range(n, n - min(p, n - 1), -1)
        return tuple(CIRCLE if size == 2 else Block("sphere", size) for size in sizes)

    @property
    def branches(self) -> int:
        return 1

    def lift(self, y: Point) -> tuple[Float[Array, "b m"], Float[Array, " b"]]:
        n, p = self.manifold.shape
        rest, found = y.reshape(n, p), []
        for block in self.blocks:
            first = rest[:, 0]
            is_angle = block.kind == "circle"
            found.append(jnp.arctan2(first[1], first[0])[None] if is_angle else first)
            rest = reflect(first, rest[:, 1:])[1:]
        log_volume = jnp.full(1, -p * (p - 1) / 4 * math.log(2), y.dtype)
        return jnp.concatenate(found)[None], log_volume

    def drop(self, x: Coordinates, cells: Float[Array, " c"]) -> Point:
        n, p = self.manifold.shape
        ends = np.cumsum([block.size for block in self.blocks])[:-1]
        firsts = [
            jnp.stack([jnp.cos(v[0]), jnp.sin(v[0])]) if block.kind == "circle" else v
            for block, v in zip(self.blocks, jnp.split(x, ends), strict=True)
        ]
        # The last column of SO(n) follows: what is left of it is the determinant.
        rest = jnp.ones((1, 1), x.dtype) if p == n else jnp.zeros((n - p, 0), x.dtype)
        for first in reversed(firsts):
            others = jnp.concatenate([jnp.zeros((1, rest.shape[1]), x.dtype), rest])
            rest = jnp.concatenate([first[:, None], reflect(first, others)], axis=1)
        return rest.reshape(-1)


@storable("manifolds.SignedCover")
class SignedCover(AbstractCover):
    """O(n) as SO(n) and the sign of the determinant, which is a cell: below or above 0."""

    manifold: AbstractManifold
    rotations: AbstractCover

    @property
    def blocks(self) -> tuple[Block, ...]:
        return self.rotations.blocks

    @property
    def branches(self) -> int:
        return self.rotations.branches

    @property
    def cell_count(self) -> int:
        return 1

    def lift(self, y: Point) -> tuple[Float[Array, "b m"], Float[Array, " b"]]:
        return self.rotations.lift(self._flip(y, self._sign(y)))

    def drop(self, x: Coordinates, cells: Float[Array, " c"]) -> Point:
        return self._flip(self.rotations.drop(x, cells[:0]), jnp.where(cells[0] < 0, -1, 1))

    def cells(self, y: Point) -> Cells:
        sign = self._sign(y)[None]
        low, high = jnp.where(sign < 0, -jnp.inf, 0), jnp.where(sign < 0, 0, jnp.inf)
        return Cells(low, high, SIGN_MIDDLE * sign, jnp.full_like(sign, 10.0))

    def features(self, y: Point) -> Float[Array, " f"]:
        return self._flip(y, self._sign(y))

    def _sign(self, y: Point) -> Float[Array, ""]:
        return jnp.sign(jnp.linalg.det(y.reshape(self.manifold.shape)))

    def _flip(self, y: Point, sign: Array) -> Point:
        """Multiply the last row by the sign."""
        n = self.manifold.shape[1]
        return jnp.concatenate([y[:-n], sign.astype(y.dtype) * y[-n:]])


def reflect(first: Float[Array, " n"], others: Float[Array, "n k"]) -> Float[Array, "n k"]:
    """Reflect vectors by the Householder matrix that swaps `first` and −e₁."""
    w = first.at[0].add(1)
    squared = 2 * (1 + first[0])
    tiny = jnp.finfo(first.dtype).tiny
    return others - jnp.outer(2 * w / jnp.maximum(squared, tiny), w @ others)


def cover_rotations(manifold: AbstractManifold) -> AbstractCover:
    """Return the cover of SO(n)."""
    known = {3: QuaternionCover, 4: QuaternionPairCover}
    return known.get(manifold.shape[0], ColumnsCover)(manifold)


def cover_frames(manifold: AbstractManifold) -> AbstractCover:
    """Return the cover of St(n, p), p < n."""
    n, p = manifold.shape
    known = {(3, 2): QuaternionCover, (4, 2): QuaternionFrameCover}
    return SphereCover(manifold) if p == 1 else known.get((n, p), ColumnsCover)(manifold)
