"""Manifolds made of manifolds: products, and quotients by finite groups."""

from __future__ import annotations

import functools
import math
from typing import Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from .. import auxiliary
from ..auxiliary import Auxiliary
from ..registry import storable
from .base import (
    AbstractDequantization,
    AbstractManifold,
    Ambient,
    Aux,
    Point,
    Scalar,
    check_branches,
)
from .local import SideBySide, Unchanged
from .rotations import orbit_preimages
from .sphere import Sphere


@storable("manifolds.Product")
class Product(AbstractManifold):
    """Y₁ × … × Y_k, of any manifolds, products too: a row of a mixed table; measure: the product.

    A point is the concatenation of the factors' points. Distance: √Σ d_i².
    """

    factors: tuple[AbstractManifold, ...]

    def __init__(self, *factors: AbstractManifold):
        if not factors:
            raise ValueError("Product needs at least one factor.")
        self.factors = factors

    @property
    def dim(self) -> int:
        return sum(factor.dim for factor in self.factors)

    @property
    def shape(self) -> tuple[int, ...]:
        return (sum(factor.size for factor in self.factors),)

    def split(self, y: Float[Array, "... size"]) -> list[Array]:
        """The factors' points."""
        return pieces(y, [factor.size for factor in self.factors])

    def join(self, parts: list[Array]) -> Array:
        """The point of the product."""
        return jnp.concatenate(parts, axis=-1)

    def violation(self, y: Point) -> Scalar:
        return jnp.max(jnp.stack([f.violation(part) for f, part in self._with(y)]))

    def complaint(self, y: np.ndarray) -> str:
        parts = np.split(y, np.cumsum([factor.size for factor in self.factors])[:-1])
        off = [float(f.violation(jnp.asarray(v))) for f, v in zip(self.factors, parts, strict=True)]
        worst = int(np.argmax(off))
        factor = self.factors[worst]
        return f"factor {worst}, {factor}: {factor.complaint(parts[worst])}"

    def project(self, y: Point) -> Point:
        return self.join([f.project(part) for f, part in self._with(y)])

    def distance(self, y: Point, other: Point) -> Scalar:
        pairs = zip(self._with(y), self.split(other), strict=True)
        return jnp.sqrt(sum((f.distance(a, b) ** 2 for (f, a), b in pairs), jnp.zeros(())))

    def features(self, y: Point) -> Float[Array, " f"]:
        return jnp.concatenate([f.features(part) for f, part in self._with(y)])

    def log_total_volume(self) -> float:
        return sum(factor.log_total_volume() for factor in self.factors)

    def sample_uniform(self, *, key: PRNGKeyArray) -> Point:
        keys = jax.random.split(key, len(self.factors))
        return self.join([f.sample_uniform(key=k) for f, k in zip(self.factors, keys, strict=True)])

    def dequantization(self) -> Joint:
        return Joint(*(factor.dequantization() for factor in self.factors))

    def local_coordinates(self, rows: np.ndarray) -> SideBySide | None:
        sizes = tuple(factor.size for factor in self.factors)
        columns = np.split(rows, np.cumsum(sizes)[:-1], axis=1)
        found = [f.local_coordinates(c) for f, c in zip(self.factors, columns, strict=True)]
        if all(part is None for part in found):
            return None
        parts = tuple(p or Unchanged(f) for p, f in zip(found, self.factors, strict=True))
        return SideBySide(Product(*(part.working for part in parts)), parts, sizes)

    def _with(self, y: Point) -> zip[tuple[AbstractManifold, Array]]:
        return zip(self.factors, self.split(y), strict=True)


@storable("manifolds.Joint")
class Joint(AbstractDequantization):
    """Dequantizations side by side: x, z concatenated, branches multiplied, log_volumes added."""

    parts: tuple[AbstractDequantization, ...]
    manifold: Product

    def __init__(self, *parts: AbstractDequantization):
        self.parts = parts
        self.manifold = Product(*(part.manifold for part in parts))

    def __check_init__(self):
        check_branches(self)

    @property
    def auxiliary(self) -> Auxiliary:
        return auxiliary.joined(*(part.auxiliary for part in self.parts))

    @property
    def ambient_dim(self) -> int:
        return sum(part.ambient_dim for part in self.parts)

    @property
    def branches(self) -> int:
        return math.prod(part.branches for part in self.parts)

    def quantize(self, x: Ambient) -> tuple[Point, Aux]:
        xs = pieces(x, [part.ambient_dim for part in self.parts])
        ys, zs = zip(*(p.quantize(v) for p, v in zip(self.parts, xs, strict=True)), strict=True)
        return jnp.concatenate(ys), jnp.concatenate(zs)

    def preimages(self, y: Point, z: Aux) -> tuple[Float[Array, "b m"], Float[Array, " b"]]:
        ys = self.manifold.split(y)
        zs = pieces(z, [part.auxiliary.size for part in self.parts])
        each = [p.preimages(a, b) for p, a, b in zip(self.parts, ys, zs, strict=True)]
        return functools.reduce(_crossed, each)


def _crossed(left, right):
    """Every branch of one beside every branch of the other."""
    (x1, v1), (x2, v2) = left, right
    x = jnp.concatenate([jnp.repeat(x1, len(x2), axis=0), jnp.tile(x2, (len(x1), 1))], axis=1)
    return x, (v1[:, None] + v2).reshape(-1)


def pieces(v: Float[Array, "... n"], sizes: list[int]) -> list[Array]:
    """The last axis cut into consecutive pieces."""
    return jnp.split(v, np.cumsum(sizes)[:-1], axis=-1)


Matrices = tuple[tuple[tuple[float, ...], ...], ...]


def _nested(group) -> Matrices:
    return tuple(tuple(tuple(float(v) for v in row) for row in g) for g in np.asarray(group))


@storable("manifolds.Quotient")
class Quotient(AbstractManifold):
    """Y/G, G a finite group of orthogonal matrices: y and its images under G are one point.

    `side="left"`: y ↦ gy, for vectors and matrices; `side="right"`: y ↦ yg, for matrices.
    Measure: push-forward, of volume vol(Y)/|G|, so that the density is the sum over the orbit.
    Representative: the image nearest e_d (vectors) or Id (matrices); ties at the edge of that
    domain are one point, which `distance` knows: the least over the orbit.
    """

    base: AbstractManifold
    group: Matrices = eqx.field(static=True, converter=_nested)
    side: Literal["left", "right"] = eqx.field(static=True, default="left")

    def __check_init__(self):
        g = np.array(self.group)
        acted = self.base.shape[0] if self.side == "left" else self.base.shape[-1]
        if self.side == "right" and len(self.base.shape) == 1:
            raise ValueError("A group acts on vectors from the left: use side='left'.")
        if g.ndim != 3 or g.shape[1:] != (acted, acted):
            raise ValueError(
                f"The group must be matrices of shape (order, {acted}, {acted}), got {g.shape}."
            )
        if np.abs(np.einsum("aij,akj->aik", g, g) - np.eye(acted)).max() > 1e-6:
            raise ValueError("The group's matrices must be orthogonal.")
        apart = np.abs(g[:, None] - g).max((2, 3)) + 2 * np.eye(len(g))
        if apart.min() < 1e-6:
            raise ValueError("The group lists an element twice.")
        products = np.einsum("aij,bjk->abik", g, g).reshape(-1, 1, acted, acted)
        gaps = np.abs(products - g).max((2, 3)).min(1)
        if gaps.max() > 1e-6 or np.abs(g - np.eye(acted)).max((1, 2)).min() > 1e-6:
            raise ValueError(
                "These matrices are not a group: products or the identity are missing."
            )
        with jax.ensure_compile_time_eval():
            images = self.orbit(jnp.asarray(self._reference()))
            off = float(jax.vmap(self.base.violation)(images).max())
        if off > 1e-4:
            raise ValueError(
                f"The group does not keep {self.base}: an image is off it by {off:.3g}."
            )

    @property
    def dim(self) -> int:
        return self.base.dim

    @property
    def shape(self) -> tuple[int, ...]:
        return self.base.shape

    def _actions(self) -> np.ndarray:
        """The group as matrices on flat points."""
        g = np.array(self.group)
        rows, columns = self.base.shape if len(self.base.shape) == 2 else (self.base.size, 1)
        if self.side == "left":
            return np.stack([np.kron(m, np.eye(columns)) for m in g])
        return np.stack([np.kron(np.eye(rows), m.T) for m in g])

    def _reference(self) -> np.ndarray:
        if len(self.base.shape) == 2:
            return np.eye(*self.base.shape).reshape(-1)
        return np.eye(self.base.size)[-1]

    def orbit(self, y: Point) -> Float[Array, "g size"]:
        """All images of y."""
        return jnp.asarray(self._actions(), y.dtype) @ y

    def violation(self, y: Point) -> Scalar:
        return self.base.violation(y)

    def complaint(self, y: np.ndarray) -> str:
        return self.base.complaint(y)

    def project(self, y: Point) -> Point:
        images = self.orbit(self.base.project(y))
        return images[jnp.argmax(images @ self._reference().astype(y.dtype))]

    def distance(self, y: Point, other: Point) -> Scalar:
        return jax.vmap(lambda image: self.base.distance(y, image))(self.orbit(other)).min()

    def features(self, y: Point) -> Float[Array, " f"]:
        """Mean and second moments of the orbit's features for groups of order 2 (axes: 0 and yyᵀ).

        Low moments of larger groups are constant; there, soft nearness to 24 fixed directions c:
        (1/κ) log mean_g exp(κ⟨f(gy), c⟩), f the base's features.
        """
        images = jax.vmap(self.base.features)(self.orbit(y))
        if len(self.group) <= 2:
            moments = (images.T @ images / len(images))[np.triu_indices(images.shape[1])]
            return jnp.concatenate([images.mean(0), moments])
        directions = np.random.default_rng(0).normal(size=(24, images.shape[1]))
        directions *= 1.5 / np.linalg.norm(directions, axis=1, keepdims=True)
        heights = images @ jnp.asarray(directions.T, y.dtype)
        kappa = 8.0
        return jax.nn.logsumexp(kappa * heights, axis=0) / kappa

    def log_total_volume(self) -> float:
        return self.base.log_total_volume() - math.log(len(self.group))

    def sample_uniform(self, *, key: PRNGKeyArray) -> Point:
        return self.project(self.base.sample_uniform(key=key))

    def dequantization(self) -> Orbits:
        return Orbits(self, self.base.dequantization())


@storable("manifolds.Orbits")
class Orbits(AbstractDequantization):
    """A quotient from its base: |G| times the branches, the same z and log_volume."""

    manifold: Quotient
    base: AbstractDequantization

    def __check_init__(self):
        check_branches(self)

    @property
    def auxiliary(self) -> Auxiliary:
        return self.base.auxiliary

    @property
    def ambient_dim(self) -> int:
        return self.base.ambient_dim

    @property
    def branches(self) -> int:
        return self.base.branches * len(self.manifold.group)

    def quantize(self, x: Ambient) -> tuple[Point, Aux]:
        y, z = self.base.quantize(x)
        images = self.manifold.orbit(y)
        nearest = jnp.argmax(images @ self.manifold._reference().astype(y.dtype))
        return images[nearest], z

    def preimages(self, y: Point, z: Aux) -> tuple[Float[Array, "b m"], Float[Array, " b"]]:
        return orbit_preimages(self.base, self.manifold.orbit(y), z)


def ProjectiveSpace(d: int) -> Quotient:
    """RP^d = S^d / {±1}: axes, x ≡ −x; measure: area, half the sphere's."""
    identity = np.eye(d + 1)
    return Quotient(Sphere(d), np.stack([identity, -identity]))
