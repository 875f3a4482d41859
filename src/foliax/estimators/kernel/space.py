"""How kernels see a manifold: its factors, embedded."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from ...manifolds import AbstractManifold
from ...manifolds.product import pieces
from ...registry import storable
from .families import AbstractLeaf, canonical, factors_of, leaf_of

Point = Float[Array, " size"]
Scalar = Float[Array, ""]


@storable("rivals.Space")
class Space(eqx.Module):
    """A manifold as kernels see it: leaves side by side, embedded coordinates concatenated."""

    manifold: AbstractManifold
    leaves: tuple[AbstractLeaf, ...]

    def __init__(self, manifold: AbstractManifold):
        self.manifold = manifold
        self.leaves = tuple(leaf_of(factor) for factor in factors_of(manifold))

    @property
    def bandwidths(self) -> int:
        """How many bandwidths the leaves have in all."""
        return sum(1 + max(leaf.scales) for leaf in self.leaves)

    def owners(self) -> np.ndarray:
        """The bandwidth of every embedded coordinate."""
        starts = np.cumsum([0, *(1 + max(leaf.scales) for leaf in self.leaves)])
        return np.concatenate(
            [np.array(leaf.scales) + s for leaf, s in zip(self.leaves, starts, strict=False)]
        )

    def rounded(self) -> np.ndarray:
        """Which embedded coordinates are the middles of cells."""
        point = jnp.zeros(self.manifold.size)
        flags = [
            np.full(len(leaf.scales), leaf.edges(part) is not None)
            for leaf, part in self.parts_of(point)
        ]
        return np.concatenate(flags)

    def embed(self, y: Point) -> Float[Array, " e"]:
        """The leaves' embeddings, concatenated."""
        return jnp.concatenate([leaf.embed(part) for leaf, part in self.parts_of(y)])

    def placed(
        self, rows: np.ndarray, relative: np.ndarray, *, cells: bool = False
    ) -> Float[np.ndarray, "n e"]:
        """Embedded coordinates times their bandwidths' ratios, with or without those of cells."""
        embedded = np.asarray(_embedded(self, jnp.asarray(rows))) * relative[self.owners()]
        return embedded if cells else embedded[:, ~self.rounded()]

    def edges(self, y: Point) -> Float[Array, "c 2"]:
        """The cells' ends, of rounded coordinates only."""
        found = [leaf.edges(part) for leaf, part in self.parts_of(y)]
        kept = [e for e in found if e is not None]
        return jnp.concatenate(kept) if kept else jnp.zeros((0, 2), y.dtype)

    def log_jacobian(self, y: Point) -> Scalar:
        """log |de/dy|."""
        return jnp.stack([leaf.log_jacobian(part) for leaf, part in self.parts_of(y)]).sum()

    def log_mass(self, kappa: Float[np.ndarray, " s"]) -> float:
        """log C of a kernel of the given concentrations."""
        parts = np.split(kappa, np.cumsum([1 + max(leaf.scales) for leaf in self.leaves])[:-1])
        return sum(leaf.log_mass(part) for leaf, part in zip(self.leaves, parts, strict=True))

    def draw(self, y: Point, kappa: Float[Array, " s"], *, key: PRNGKeyArray) -> Point:
        """One draw of the kernel around y."""
        keys = jax.random.split(key, len(self.leaves))
        parts = pieces(kappa, [1 + max(leaf.scales) for leaf in self.leaves])
        drawn = [
            leaf.draw(part, k, key=key)
            for (leaf, part), k, key in zip(self.parts_of(y), parts, keys, strict=True)
        ]
        factors = factors_of(self.manifold)
        return jnp.concatenate([canonical(f, y) for f, y in zip(factors, drawn, strict=True)])

    def parts_of(self, y: Point) -> list[tuple[AbstractLeaf, Array]]:
        """The leaves, each with its part of a point."""
        sizes = [factor.size for factor in factors_of(self.manifold)]
        return list(zip(self.leaves, pieces(y, sizes), strict=True))


@eqx.filter_jit
def _embedded(space: Space, rows: Float[Array, "n size"]) -> Float[Array, "n e"]:
    return jax.vmap(space.embed)(rows)
