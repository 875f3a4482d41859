"""Tangent coordinates around a row: what gives a kernel a shape.

v = log_μ(y) in an orthonormal frame at μ, and the volume dy = exp(log_volume) dv there, so that a
normal law of v has the density N(v)/exp(log_volume) on the manifold.
"""

from __future__ import annotations

import abc
import functools
import math

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ...manifolds.quaternions import quaternion_of_rotation, rotation_of_quaternion
from ...manifolds.torus import wrap
from ...registry import storable
from ..base import UnsupportedManifoldError
from .families import AbstractLeaf, CellLeaf, FlatLeaf, RotationLeaf, SphereLeaf, TorusLeaf

Point = Float[Array, " size"]
Frame = Float[Array, " f"]
Query = Float[Array, " q"]
Vector = Float[Array, " d"]
Scalar = Float[Array, ""]


class AbstractTangent(eqx.Module):
    """Tangent coordinates of one leaf."""

    @property
    @abc.abstractmethod
    def scales(self) -> tuple[int, ...]:
        """The leaf's bandwidth that each coordinate has."""

    @abc.abstractmethod
    def frame(self, y: Point) -> Frame:
        """What is kept of a row around which coordinates are taken."""

    @abc.abstractmethod
    def query(self, y: Point) -> Query:
        """What is needed of the other point."""

    @abc.abstractmethod
    def log_map(self, frame: Frame, query: Query) -> tuple[Vector, Scalar]:
        """v and log_volume."""

    @abc.abstractmethod
    def exp_map(self, frame: Frame, v: Vector) -> Point:
        """The point of coordinates v."""


@storable("rivals.SphereTangent")
class SphereTangent(AbstractTangent):
    """v = θ times the direction at μ; dy = (sin θ/θ)^{d−1} dv."""

    size: int = eqx.field(static=True)

    @property
    def scales(self) -> tuple[int, ...]:
        return (0,) * (self.size - 1)

    def frame(self, y: Point) -> Frame:
        return jnp.concatenate([y, basis(y).reshape(-1)])

    def query(self, y: Point) -> Query:
        return y

    def log_map(self, frame: Frame, query: Query) -> tuple[Vector, Scalar]:
        mean, across = frame[: self.size], frame[self.size :].reshape(self.size, -1)
        gap = query - mean
        half = jnp.minimum(jnp.sqrt((gap**2).sum()) / 2, 1.0)
        angle = 2 * jnp.arcsin(half)
        # sin θ/θ, away from 0 at the antipode, where the normal law has nothing left.
        ratio = jnp.where(
            half > 1e-3,
            jnp.maximum(2 * half * jnp.sqrt(1 - half**2), 1e-3) / jnp.maximum(angle, 1e-3),
            1 - angle**2 / 6,
        )
        # Sums of numbers, which compile to one loop over many rows: a matrix product is slower.
        v = [sum(gap[k] * across[k, j] for k in range(self.size)) for j in range(self.size - 1)]
        return jnp.stack(v) / ratio, (self.size - 2) * jnp.log(ratio)

    def exp_map(self, frame: Frame, v: Vector) -> Point:
        mean, across = frame[: self.size], frame[self.size :].reshape(self.size, -1)
        angle = jnp.sqrt((v**2).sum())
        y = jnp.cos(angle) * mean + jnp.sinc(angle / math.pi) * (across @ v)
        return y / jnp.linalg.norm(y)


def basis(y: Point) -> Float[Array, "size d"]:
    """An orthonormal basis of the tangent space of the sphere at y, by Householder's reflection."""
    sign = jnp.where(y[-1] < 0, -1.0, 1.0).astype(y.dtype)
    w = y.at[-1].add(sign)
    reflection = jnp.eye(len(y), dtype=y.dtype) - 2 * jnp.outer(w, w) / (w @ w)
    return reflection[:, :-1]


@storable("rivals.TorusTangent")
class TorusTangent(AbstractTangent):
    """v = y − μ, wrapped; dy = dv."""

    d: int = eqx.field(static=True)

    @property
    def scales(self) -> tuple[int, ...]:
        return tuple(range(self.d))

    def frame(self, y: Point) -> Frame:
        return y

    def query(self, y: Point) -> Query:
        return y

    def log_map(self, frame: Frame, query: Query) -> tuple[Vector, Scalar]:
        return wrap(query - frame), jnp.zeros((), query.dtype)

    def exp_map(self, frame: Frame, v: Vector) -> Point:
        return wrap(frame + v)


@storable("rivals.RotationTangent")
class RotationTangent(AbstractTangent):
    """v = the rotation vector of MᵀR, of angle ω; dy = 2^{3/2} (sin(ω/2)/(ω/2))² dv."""

    @property
    def scales(self) -> tuple[int, ...]:
        return (0, 0, 0)

    def frame(self, y: Point) -> Frame:
        return quaternion_of_rotation(y.reshape(3, 3))

    def query(self, y: Point) -> Query:
        return quaternion_of_rotation(y.reshape(3, 3))

    def log_map(self, frame: Frame, query: Query) -> tuple[Vector, Scalar]:
        a, b = frame, query
        scalar = (a * b).sum()
        vector = a[0] * b[1:] - b[0] * a[1:] - jnp.cross(a[1:], b[1:])
        vector = jnp.where(scalar < 0, -vector, vector)
        sine = jnp.minimum(jnp.sqrt((vector**2).sum()), 1.0)
        half = jnp.arctan2(sine, jnp.abs(scalar))
        ratio = jnp.where(half > 1e-3, sine / jnp.maximum(half, 1e-3), 1 - half**2 / 6)
        return 2 * vector / ratio, 2 * jnp.log(ratio) + 1.5 * math.log(2)

    def exp_map(self, frame: Frame, v: Vector) -> Point:
        half = jnp.sqrt((v**2).sum()) / 2
        turn = jnp.concatenate([jnp.cos(half)[None], jnp.sinc(half / math.pi) * v / 2])
        return (rotation_of_quaternion(frame) @ rotation_of_quaternion(turn)).reshape(-1)


@storable("rivals.FlatTangent")
class FlatTangent(AbstractTangent):
    """v = the difference in the chart; the chart's own volume is the leaf's `log_jacobian`."""

    leaf: FlatLeaf

    @property
    def scales(self) -> tuple[int, ...]:
        return self.leaf.scales

    def frame(self, y: Point) -> Frame:
        return self.leaf.embed(y)

    def query(self, y: Point) -> Query:
        return self.leaf.embed(y)

    def log_map(self, frame: Frame, query: Query) -> tuple[Vector, Scalar]:
        return query - frame, jnp.zeros((), query.dtype)

    def exp_map(self, frame: Frame, v: Vector) -> Point:
        return self.leaf.dequantization.quantize(frame + v)[0]


@functools.singledispatch
def tangent_of(leaf: AbstractLeaf) -> AbstractTangent | None:
    """The tangent coordinates of a leaf; None for cells, which have none."""
    raise UnsupportedManifoldError(f"No tangent coordinates are known for {leaf}.")


@tangent_of.register
def _(leaf: SphereLeaf) -> AbstractTangent | None:
    return SphereTangent(leaf.manifold.size)


@tangent_of.register
def _(leaf: TorusLeaf) -> AbstractTangent | None:
    return TorusTangent(leaf.manifold.dim)


@tangent_of.register
def _(leaf: RotationLeaf) -> AbstractTangent | None:
    if leaf.manifold.shape[0] != 3:
        raise UnsupportedManifoldError(
            f"Kernels are shaped on SO(3), not on {leaf.manifold}: use ScaleMixtureKernel there."
        )
    return RotationTangent()


@tangent_of.register
def _(leaf: FlatLeaf) -> AbstractTangent | None:
    return FlatTangent(leaf)


@tangent_of.register
def _(leaf: CellLeaf) -> AbstractTangent | None:
    return None


def covariances(
    v: Float[np.ndarray, "n k d"], shrink: float, floor: float, cap: Float[np.ndarray, " d"]
) -> tuple[Float[np.ndarray, "n d d"], Float[np.ndarray, " n"]]:
    """Whitening matrices W and log det W of the second moments of k tangent vectors of each row.

    Shrunk towards a multiple of the identity, no deviation below `floor`, and none so wide that a
    manifold's end is within six deviations of `cap`: wider ones are narrowed as a whole.
    """
    k, d = v.shape[1:]
    moments = np.einsum("nki,nkj->nij", v, v) / k
    mean = np.trace(moments, axis1=1, axis2=2) / d
    moments = (1 - shrink) * moments + (shrink * mean + floor**2)[:, None, None] * np.eye(d)
    widest = np.sqrt(moments[:, range(d), range(d)] / cap**2).max(1)
    moments = moments / np.maximum(widest, 1.0)[:, None, None] ** 2
    whiten = np.linalg.inv(np.linalg.cholesky(moments))
    return whiten, np.log(whiten[:, range(d), range(d)]).sum(1)
