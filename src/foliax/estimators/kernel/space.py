"""How kernels see a manifold: the embeddings of its factors, concatenated."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from ...manifolds import AbstractManifold
from ...manifolds.product import pieces
from ...registry import storable
from .families import AbstractKernelFamily, kernel_family

Point = Float[Array, " size"]
Scalar = Float[Array, ""]


@storable("rivals.Space", renamed_fields={"leaves": "families"})
class Space(eqx.Module):
    """A manifold with a kernel family for each of its factors."""

    manifold: AbstractManifold
    families: tuple[AbstractKernelFamily, ...]

    def __init__(self, manifold: AbstractManifold):
        self.manifold = manifold
        self.families = tuple(kernel_family(factor) for factor in manifold.factors)

    @property
    def n_bandwidths(self) -> int:
        """The number of bandwidths of all families."""
        return sum(family.n_bandwidths for family in self.families)

    def bandwidth_index(self) -> np.ndarray:
        """The index of the bandwidth of every embedded coordinate."""
        starts = np.cumsum([0, *(family.n_bandwidths for family in self.families)])
        pairs = zip(self.families, starts, strict=False)
        return np.concatenate([np.array(family.scales) + start for family, start in pairs])

    def rounded_mask(self) -> np.ndarray:
        """Which embedded coordinates are the middles of cells."""
        point = jnp.zeros(self.manifold.size)
        masks = [
            np.full(len(family.scales), family.cell_edges(part) is not None)
            for family, part in self.split(point)
        ]
        return np.concatenate(masks)

    def embed(self, y: Point) -> Float[Array, " e"]:
        """Embed a point: the families' embeddings, concatenated."""
        return jnp.concatenate([family.embed(part) for family, part in self.split(y)])

    def scaled_embedding(
        self, rows: np.ndarray, relative: np.ndarray, *, cells: bool = False
    ) -> Float[np.ndarray, "n e"]:
        """Embed rows and multiply each coordinate by its relative bandwidth.

        Args:
            rows: Points, one in each row.
            relative: One factor for each bandwidth.
            cells: Whether to keep the coordinates of counted and rounded values. Distances between
                rows leave them out, since a cell's mass does not depend on the distance alone.

        Returns:
            One row of coordinates for each point.
        """
        embedded = np.asarray(_embed_rows(self, jnp.asarray(rows)))
        embedded = embedded * relative[self.bandwidth_index()]
        return embedded if cells else embedded[:, ~self.rounded_mask()]

    def cell_edges(self, y: Point) -> Float[Array, "c 2"]:
        """Compute both ends of y's cells, for rounded coordinates only."""
        found = [family.cell_edges(part) for family, part in self.split(y)]
        kept = [edges for edges in found if edges is not None]
        return jnp.concatenate(kept) if kept else jnp.zeros((0, 2), y.dtype)

    def cell_widths(self, y: Point) -> Float[Array, " c"]:
        """Compute the widths of narrow cells, else 0, for rounded coordinates only."""
        found = [family.cell_widths(part) for family, part in self.split(y)]
        kept = [widths for widths in found if widths is not None]
        return jnp.concatenate(kept) if kept else jnp.zeros(0, y.dtype)

    def log_jacobian(self, y: Point) -> Scalar:
        """Compute log |de/dy|."""
        return jnp.stack([family.log_jacobian(part) for family, part in self.split(y)]).sum()

    def log_mass(self, kappa: Float[np.ndarray, " s"]) -> float:
        """Compute log C of a kernel, given one κ for each bandwidth."""
        ends = np.cumsum([family.n_bandwidths for family in self.families])[:-1]
        parts = zip(self.families, np.split(kappa, ends), strict=True)
        return sum(family.log_mass(part) for family, part in parts)

    def sample(self, y: Point, kappa: Float[Array, " s"], *, key: PRNGKeyArray) -> Point:
        """Draw one point from the kernel around y, given one κ for each bandwidth."""
        keys = jax.random.split(key, len(self.families))
        kappas = pieces(kappa, [family.n_bandwidths for family in self.families])
        drawn = [
            family.sample(part, k, key=key)
            for (family, part), k, key in zip(self.split(y), kappas, keys, strict=True)
        ]
        factors = self.manifold.factors
        return jnp.concatenate([f.representative(y) for f, y in zip(factors, drawn, strict=True)])

    def split(self, y: Point) -> list[tuple[AbstractKernelFamily, Array]]:
        """Split a point into the parts of the families."""
        sizes = [factor.size for factor in self.manifold.factors]
        return list(zip(self.families, pieces(y, sizes), strict=True))


def list_orbits(
    manifold: AbstractManifold, rows: Float[np.ndarray, "n size"]
) -> Float[np.ndarray, "n g size"]:
    """List every row's images under the groups of all quotients among the factors."""
    if manifold.orbit_size == 1:
        return rows[:, None]
    return np.asarray(jax.vmap(manifold.orbit)(jnp.asarray(rows)))


@eqx.filter_jit
def _embed_rows(space: Space, rows: Float[Array, "n size"]) -> Float[Array, "n e"]:
    return jax.vmap(space.embed)(rows)
