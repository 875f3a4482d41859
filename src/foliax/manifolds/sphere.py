"""Spheres S^d in R^{d+1}."""

from __future__ import annotations

import math

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from ..registry import storable
from . import auxiliary
from .angles import acute_angle
from .auxiliary import Auxiliary
from .base import AbstractDequantization, AbstractManifold, Ambient, Aux, Point, Scalar, safe_norm
from .euclidean import Euclidean
from .local import NARROW_RADIANS, Stereographic, location_and_scale, tangent_basis
from .plain_covers import SphereCover
from .tangent import AbstractTangent, Frame, Query, Vector

MIN_SINE = 1e-3
"""Where the sine of an angle is bounded, near the antipode; kernels have no mass there."""


@storable("manifolds.Sphere")
class Sphere(AbstractManifold):
    """Unit sphere S^d in R^{d+1}; y is a unit vector; measure: area."""

    d: int = eqx.field(static=True)

    def __check_init__(self):
        if self.d < 1:
            raise ValueError(f"Sphere(d) needs d >= 1, got {self.d}.")

    @property
    def dim(self) -> int:
        return self.d

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.dim + 1,)

    def violation(self, y: Point) -> Scalar:
        return jnp.abs(safe_norm(y) - 1)

    def describe_violation(self, y: np.ndarray) -> str:
        return f"the vector's norm is {np.linalg.norm(y):.6g}; it must be 1. Divide by it first."

    def project(self, y: Point) -> Point:
        return y / safe_norm(y)

    def distance(self, y: Point, other: Point) -> Scalar:
        """Return the angle between two points, accurate for close and for opposite points."""
        return 2 * jnp.arctan2(safe_norm(y - other), safe_norm(y + other))

    def features(self, y: Point) -> Float[Array, " f"]:
        return y

    def log_total_volume(self) -> float:
        half = (self.dim + 1) / 2
        return math.log(2) + half * math.log(math.pi) - math.lgamma(half)

    def sample_uniform(self, *, key: PRNGKeyArray) -> Point:
        return self.project(jax.random.normal(key, self.shape))

    def dequantization(self) -> Hyperspherical:
        return Hyperspherical(self)

    def cover(self) -> SphereCover:
        return SphereCover(self)

    def tangent(self) -> SphereTangent:
        return SphereTangent(self.size)

    def local_coordinates(self, rows: np.ndarray) -> Stereographic | None:
        mean = rows.mean(axis=0)
        centre = mean / np.linalg.norm(mean) if mean.any() else mean
        apart = np.linalg.norm(rows - centre, axis=1).max()
        if apart > NARROW_RADIANS or (rows == rows[0]).all():
            return None
        plain = Stereographic(Euclidean(self.d), centre, tangent_basis(centre), np.ones(self.d))
        scale = location_and_scale(plain.encode(rows)[0])[1]
        return eqx.tree_at(lambda c: c.scale, plain, scale)


@storable("manifolds.Hyperspherical")
class Hyperspherical(AbstractDequantization):
    """R^{d+1} ∖ {0} = S^d × R₊; z = r = ‖x‖; x = r y; log_volume = d log r.

    Brofos et al. 2021, Example 4.
    """

    manifold: Sphere

    @property
    def auxiliary(self) -> Auxiliary:
        return auxiliary.positive(1)

    @property
    def ambient_dim(self) -> int:
        return self.manifold.size

    @property
    def branches(self) -> int:
        return 1

    def quantize(self, x: Ambient) -> tuple[Point, Aux]:
        r = safe_norm(x)
        return x / r, r[None]

    def preimages(self, y: Point, z: Aux) -> tuple[Float[Array, "b m"], Float[Array, " b"]]:
        return (z * y)[None], self.manifold.dim * jnp.log(z)


@storable("rivals.SphereTangent")
class SphereTangent(AbstractTangent):
    """v = θ times the direction at μ, θ the angle; dy = (sin θ/θ)^{d−1} dv."""

    size: int = eqx.field(static=True)

    @property
    def scales(self) -> tuple[int, ...]:
        return (0,) * (self.size - 1)

    @property
    def max_log_shrinkage(self) -> float:
        """The bound is reached at the antipode, where sin θ is bounded by MIN_SINE."""
        return (self.size - 2) * math.log(math.pi / MIN_SINE)

    def frame(self, y: Point) -> Frame:
        return jnp.concatenate([y, householder_basis(y).reshape(-1)])

    def query(self, y: Point) -> Query:
        return y

    def log_map(self, frame: Frame, query: Query) -> tuple[Vector, Scalar]:
        mean, across = frame[: self.size], frame[self.size :].reshape(self.size, -1)
        # Scalar sums compile to loops over many rows, which are faster than sums over short axes.
        gap = [query[k] - mean[k] for k in range(self.size)]
        half = jnp.minimum(jnp.sqrt(sum(each**2 for each in gap)) / 2, 1.0)
        cosine = jnp.sqrt((1 - half) * (1 + half))
        angle = 2 * acute_angle(half, cosine)
        # sin θ/θ, bounded away from 0 at the antipode, where a kernel has no mass.
        sine = 2 * half * cosine
        ratio = jnp.where(
            half > 1e-3,
            jnp.maximum(sine, MIN_SINE) / jnp.maximum(angle, 1e-3),
            1 - angle**2 / 6,
        )
        v = [sum(gap[k] * across[k, j] for k in range(self.size)) for j in range(self.size - 1)]
        # Every direction leads to the antipode. Its v has the length π, but the sums are 0 there.
        is_antipode = (sum(each**2 for each in v) < MIN_SINE**2) & (half > 0.5)
        v[0] = jnp.where(is_antipode, angle * ratio, v[0])
        return jnp.stack(v) / ratio, (self.size - 2) * jnp.log(ratio)

    def exp_map(self, frame: Frame, v: Vector) -> Point:
        mean, across = frame[: self.size], frame[self.size :].reshape(self.size, -1)
        angle = jnp.sqrt((v**2).sum())
        y = jnp.cos(angle) * mean + jnp.sinc(angle / math.pi) * (across @ v)
        return y / jnp.linalg.norm(y)


def householder_basis(y: Point) -> Float[Array, "size d"]:
    """Compute an orthonormal basis of the tangent space at y, by a Householder reflection."""
    sign = jnp.where(y[-1] < 0, -1.0, 1.0).astype(y.dtype)
    w = y.at[-1].add(sign)
    reflection = jnp.eye(len(y), dtype=y.dtype) - 2 * jnp.outer(w, w) / (w @ w)
    return reflection[:, :-1]
