"""Circle and tori as angles in radians."""

from __future__ import annotations

import itertools
import math

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from ..registry import storable
from . import auxiliary
from .auxiliary import Auxiliary
from .base import (
    MAX_BRANCHES,
    AbstractDequantization,
    AbstractManifold,
    Ambient,
    Aux,
    Point,
    Scalar,
    check_branches,
    safe_norm,
)
from .euclidean import Euclidean
from .local import NARROW_RADIANS, NarrowAngles, location_and_scale
from .plain_covers import AnglesCover
from .tangent import AbstractTangent, Frame, Query, Vector


def wrap(angle: Float[Array, "d *rows"]) -> Float[Array, "d *rows"]:
    """Return the representative of an angle in [−π, π)."""
    turns = jnp.floor((angle + jnp.pi) / (2 * jnp.pi))
    wrapped = angle - 2 * jnp.pi * turns
    return jnp.where(wrapped >= jnp.pi, -jnp.pi, wrapped)


@storable("manifolds.Torus")
class Torus(AbstractManifold):
    """T^d: d angles; y in radians, canonical in [−π, π); measure: radians, volume (2π)^d.

    Every real angle is a point, but angles beyond one full turn are refused: they are probably in
    degrees.
    """

    d: int = eqx.field(static=True)

    def __check_init__(self):
        if self.d < 1:
            raise ValueError(f"Torus(d) needs d >= 1, got {self.d}.")

    @property
    def dim(self) -> int:
        return self.d

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.dim,)

    def violation(self, y: Point) -> Scalar:
        return jnp.max(jnp.maximum(jnp.abs(y) - 2 * jnp.pi, 0))

    def describe_violation(self, y: np.ndarray) -> str:
        worst = int(np.argmax(np.abs(y)))
        return (
            f"angle {worst} is {y[worst]:.6g} radians, more than a full turn. "
            "Is it in degrees? Convert it to radians first."
        )

    def project(self, y: Point) -> Point:
        return wrap(y)

    def distance(self, y: Point, other: Point) -> Scalar:
        return safe_norm(wrap(y - other))

    def features(self, y: Point) -> Float[Array, " f"]:
        return jnp.concatenate([jnp.cos(y), jnp.sin(y)])

    def log_total_volume(self) -> float:
        return self.dim * math.log(2 * math.pi)

    def sample_uniform(self, *, key: PRNGKeyArray) -> Point:
        return jax.random.uniform(key, self.shape, minval=-jnp.pi, maxval=jnp.pi)

    def dequantization(self) -> ByRadii:
        return ByRadii(self)

    def cover(self) -> AnglesCover:
        return AnglesCover(self)

    def tangent(self) -> TorusTangent:
        return TorusTangent(self.dim)

    def local_coordinates(self, rows: np.ndarray) -> NarrowAngles | None:
        centre = np.arctan2(np.sin(rows).mean(axis=0), np.cos(rows).mean(axis=0))
        gap = np.abs((rows - centre + math.pi) % (2 * math.pi) - math.pi).max(axis=0)
        is_narrow = (gap <= NARROW_RADIANS) & (rows != rows[0]).any(axis=0)
        narrow, wide = np.flatnonzero(is_narrow), np.flatnonzero(~is_narrow)
        if not len(narrow):
            return None
        from .product import Product  # not at the top: it imports this module

        flat = Euclidean(len(narrow))
        plain = NarrowAngles(
            Product(Torus(len(wide)), flat) if len(wide) else flat,
            centre[narrow],
            np.ones(len(narrow)),
            tuple(narrow.tolist()),
            tuple(wide.tolist()),
        )
        scale = location_and_scale(plain.encode(rows)[0][:, len(wide) :])[1]
        return eqx.tree_at(lambda c: c.scale, plain, scale)


def Circle() -> Torus:
    """Return S¹ as one angle in radians."""
    return Torus(1)


@storable("manifolds.ByRadii")
class ByRadii(AbstractDequantization):
    """(R² ∖ {0})^d = T^d × R₊^d; z = radii; x = (r_i cos θ_i, r_i sin θ_i)_i.

    log_volume = Σ log r_i. Brofos et al. 2021, Example 5.
    """

    manifold: Torus

    @property
    def auxiliary(self) -> Auxiliary:
        return auxiliary.positive(self.manifold.dim)

    @property
    def ambient_dim(self) -> int:
        return 2 * self.manifold.dim

    @property
    def branches(self) -> int:
        return 1

    def quantize(self, x: Ambient) -> tuple[Point, Aux]:
        pairs = x.reshape(-1, 2)
        return jnp.arctan2(pairs[:, 1], pairs[:, 0]), jax.vmap(safe_norm)(pairs)

    def preimages(self, y: Point, z: Aux) -> tuple[Float[Array, "b m"], Float[Array, " b"]]:
        x = jnp.stack([z * jnp.cos(y), z * jnp.sin(y)], axis=-1).reshape(-1)
        return x[None], jnp.log(z).sum()[None]


@storable("manifolds.Wrapping")
class Wrapping(AbstractDequantization):
    """R^d -> T^d by x mod 2π; no z; branches y + 2πk, k ∈ {−K..K}^d (K = `window`); log_volume = 0.

    The (2K+1)^d shifts surround the representative in [−π, π), so the window is symmetric:
    |x_i| < (2K+1)π. Mass outside it is lost; `covers` says which x are inside.
    Brofos et al. 2021, appendix on modulus dequantization (which prints ⌊x⌋ for ⌊x/2π⌋).
    """

    manifold: Torus
    window: int = eqx.field(static=True, default=1)

    def __check_init__(self):
        # The power that counts the branches must not become too large to compute.
        if not 0 <= self.window <= MAX_BRANCHES:
            raise ValueError(
                f"Wrapping needs a window K from 0 to {MAX_BRANCHES}, got {self.window}."
            )
        check_branches(self)

    @property
    def auxiliary(self) -> Auxiliary:
        return auxiliary.empty()

    @property
    def ambient_dim(self) -> int:
        return self.manifold.dim

    @property
    def branches(self) -> int:
        return (2 * self.window + 1) ** self.manifold.dim

    def quantize(self, x: Ambient) -> tuple[Point, Aux]:
        return wrap(x), jnp.zeros(0, x.dtype)

    def preimages(self, y: Point, z: Aux) -> tuple[Float[Array, "b m"], Float[Array, " b"]]:
        turns = range(-self.window, self.window + 1)
        shifts = np.array(list(itertools.product(turns, repeat=self.manifold.dim)))
        x = wrap(y) + 2 * jnp.pi * shifts.astype(y.dtype)
        return x, jnp.zeros(self.branches, y.dtype)


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
