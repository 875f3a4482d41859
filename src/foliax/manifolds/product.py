"""Products of manifolds."""

from __future__ import annotations

import functools
import itertools
import math

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from ..registry import storable
from . import auxiliary
from .auxiliary import Auxiliary
from .base import (
    AbstractDequantization,
    AbstractManifold,
    Ambient,
    Aux,
    Point,
    Scalar,
    check_branches,
)
from .cover import beside, cross_branches
from .local import SideBySide, Unchanged
from .plain_covers import ProductCover


@storable("manifolds.Product", renamed_fields={"factors": "parts"})
class Product(AbstractManifold):
    """Y₁ × … × Y_k, e.g. a row of a mixed table; measure: the product. Factors may be products.

    A point is the concatenation of the parts' points. Distance: √Σ d_i². `parts` are the manifolds
    as given; `factors` are those that cannot be split further.
    """

    parts: tuple[AbstractManifold, ...]

    def __init__(self, *parts: AbstractManifold):
        if not parts:
            raise ValueError("Product needs at least one factor.")
        self.parts = parts

    @property
    def factors(self) -> tuple[AbstractManifold, ...]:
        return tuple(itertools.chain.from_iterable(part.factors for part in self.parts))

    @property
    def unfolded(self) -> Product:
        return Product(*(part.unfolded for part in self.parts))

    @property
    def orbit_size(self) -> int:
        return math.prod(part.orbit_size for part in self.parts)

    def orbit(self, y: Point) -> Float[Array, "g size"]:
        """Every combination of the parts' images; the last part's images vary fastest."""
        return functools.reduce(beside, [p.orbit(v) for p, v in self._with(y)])

    def representative(self, y: Point) -> Point:
        return self.join([p.representative(v) for p, v in self._with(y)])

    def log(self, y: Point, other: Point) -> Float[Array, " d"]:
        pairs = zip(self._with(y), self.split(other), strict=True)
        return jnp.concatenate([p.log(a, b) for (p, a), b in pairs])

    def exp(self, y: Point, v: Float[Array, " d"]) -> Point:
        steps = pieces(v, [part.dim for part in self.parts])
        return self.join([p.exp(a, b) for (p, a), b in zip(self._with(y), steps, strict=True)])

    @property
    def dim(self) -> int:
        return sum(factor.dim for factor in self.parts)

    @property
    def shape(self) -> tuple[int, ...]:
        return (sum(factor.size for factor in self.parts),)

    def split(self, y: Float[Array, "... size"]) -> list[Array]:
        """Split a point into the factors' points."""
        return pieces(y, [part.size for part in self.parts])

    def join(self, parts: list[Array]) -> Array:
        """Join the factors' points into one point of the product."""
        return jnp.concatenate(parts, axis=-1)

    def violation(self, y: Point) -> Scalar:
        return jnp.max(jnp.stack([f.violation(part) for f, part in self._with(y)]))

    def describe_violation(self, y: np.ndarray) -> str:
        parts = np.split(y, np.cumsum([part.size for part in self.parts])[:-1])
        off = [float(f.violation(jnp.asarray(v))) for f, v in zip(self.parts, parts, strict=True)]
        worst = int(np.argmax(off))
        factor = self.parts[worst]
        return f"factor {worst}, {factor}: {factor.describe_violation(parts[worst])}"

    def project(self, y: Point) -> Point:
        return self.join([f.project(part) for f, part in self._with(y)])

    def distance(self, y: Point, other: Point) -> Scalar:
        pairs = zip(self._with(y), self.split(other), strict=True)
        return jnp.sqrt(sum((f.distance(a, b) ** 2 for (f, a), b in pairs), jnp.zeros(())))

    def features(self, y: Point) -> Float[Array, " f"]:
        return jnp.concatenate([f.features(part) for f, part in self._with(y)])

    def log_total_volume(self) -> float:
        return sum(factor.log_total_volume() for factor in self.parts)

    def sample_uniform(self, *, key: PRNGKeyArray) -> Point:
        keys = jax.random.split(key, len(self.parts))
        return self.join([f.sample_uniform(key=k) for f, k in zip(self.parts, keys, strict=True)])

    def dequantization(self) -> Joint:
        return Joint(*(factor.dequantization() for factor in self.parts))

    def cover(self) -> ProductCover | None:
        parts = [part.cover() for part in self.parts]
        known = tuple(part for part in parts if part is not None)
        return ProductCover(self, known) if len(known) == len(parts) else None

    def local_coordinates(self, rows: np.ndarray) -> SideBySide | None:
        sizes = tuple(factor.size for factor in self.parts)
        columns = np.split(rows, np.cumsum(sizes)[:-1], axis=1)
        found = [f.local_coordinates(c) for f, c in zip(self.parts, columns, strict=True)]
        if all(part is None for part in found):
            return None
        parts = tuple(p or Unchanged(f) for p, f in zip(found, self.parts, strict=True))
        return SideBySide(Product(*(part.working for part in parts)), parts, sizes)

    @property
    def rounds_samples(self) -> bool:
        return any(factor.rounds_samples for factor in self.parts)

    def restore_digits(self, rows: np.ndarray, noise: np.ndarray) -> np.ndarray:
        ends = np.cumsum([factor.size for factor in self.parts])[:-1]
        columns = zip(self.parts, *(np.split(a, ends, axis=1) for a in (rows, noise)), strict=True)
        return np.concatenate([factor.restore_digits(r, u) for factor, r, u in columns], axis=1)

    def _with(self, y: Point) -> zip[tuple[AbstractManifold, Array]]:
        return zip(self.parts, self.split(y), strict=True)


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
        return auxiliary.join(*(part.auxiliary for part in self.parts))

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
        return functools.reduce(cross_branches, each)


def pieces(v: Float[Array, "... n"], sizes: list[int]) -> list[Array]:
    """Cut the last axis into consecutive pieces of these sizes."""
    return jnp.split(v, np.cumsum(sizes)[:-1], axis=-1)
