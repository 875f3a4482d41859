"""Kernels with a covariance of their own at each row."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from ...manifolds.product import pieces
from ...registry import storable
from .components import AbstractKernels, drawn_row, levels_in, log_cell, log_sum, of_levels
from .families import canonical, factors_of
from .space import Space
from .tangents import AbstractTangent, tangent_of

Point = Float[Array, " size"]


@storable("rivals.Tangents")
class Tangents(eqx.Module):
    """Tangent coordinates of a space: those of its leaves, concatenated; cells have none."""

    space: Space
    parts: tuple[AbstractTangent | None, ...]

    def __init__(self, space: Space):
        self.space = space
        self.parts = tuple(tangent_of(leaf) for leaf in space.leaves)

    def owners(self) -> np.ndarray:
        """The bandwidth of each tangent coordinate."""
        starts = np.cumsum([0, *(1 + max(leaf.scales) for leaf in self.space.leaves)])
        found = [
            np.array(p.scales) + start
            for p, start in zip(self.parts, starts, strict=False)
            if p is not None
        ]
        return np.concatenate(found) if found else np.zeros(0, int)

    def frame(self, y: Point) -> tuple[Array, ...]:
        """The leaves' frames."""
        return tuple(p.frame(v) for p, (_, v) in self._with(y) if p is not None)

    def query(self, y: Point) -> tuple[Array, ...]:
        """The leaves' queries."""
        return tuple(p.query(v) for p, (_, v) in self._with(y) if p is not None)

    def log_map(self, frame: tuple[Array, ...], query: tuple[Array, ...]) -> tuple[Array, Array]:
        """v and log_volume."""
        present = [p for p in self.parts if p is not None]
        each = [p.log_map(f, q) for p, f, q in zip(present, frame, query, strict=True)]
        vectors = [v for v, _ in each] or [jnp.zeros(0)]
        return jnp.concatenate(vectors), sum((w for _, w in each), jnp.zeros(()))

    def _with(self, y: Point):
        return list(zip(self.parts, self.space.parts_of(y), strict=True))


@storable("rivals.LocalKernels")
class LocalKernels(AbstractKernels):
    """f_h(y) = Σ_i w_i N(W_i a∘v_i(y); 0, h²)·det(W_i a)/volume: one component for each h.

    v_i: tangent coordinates around row i; a: bandwidths' ratios; W_i: whitening by the second
    moments of its nearest rows. Counted and rounded columns are normal cells of deviation h·s_i,
    of which there are few `levels`, pairs of a middle and 1/s_i: each row has one of a column.
    """

    tangents: Tangents
    frames: tuple[Float[Array, "n _"], ...]
    rows: Float[Array, "n size"]
    whiten: Float[Array, "n d d"]
    log_scale: Float[Array, " n"]
    level: Int[Array, "n c"]
    levels: tuple[Float[Array, "_ 2"], ...]
    widths: Float[Array, " h"]
    relative: Float[Array, " s"]
    cells: tuple[int, ...] = eqx.field(static=True)

    def log_components(self, y: Point, *, leave: Int[Array, ""] | int = -1) -> Float[Array, " k"]:
        space = self.tangents.space
        query = self.tangents.query(y)
        a = self.relative[self.tangents.owners()]
        v, log_volume = jax.vmap(lambda f, _: self.tangents.log_map(f, query))(
            self.frames, self.log_scale
        )
        v = v * a
        d = v.shape[1]
        # Sums of products of whole columns, which are one loop over the rows: einsum is slower.
        white = [sum(self.whiten[:, i, j] * v[:, j] for j in range(i + 1)) for i in range(d)]
        squared = sum((w**2 for w in white), jnp.zeros_like(self.log_scale))
        base = self.log_scale - log_volume
        cells = np.array(self.cells, int)
        edges = space.edges(y) * self.relative[space.owners()[cells], None]
        masses = [
            jax.vmap(lambda h, e=e, m=m: log_cell((e - m[:, :1]) * m[:, 1:], 1 / h**2))(self.widths)
            for e, m in zip(edges, self.levels, strict=True)
        ]

        def one(h_and_masses):
            h, masses = h_and_masses
            logs = base - 0.5 * squared / h**2 - d * jnp.log(h)
            return log_sum(logs + of_levels(masses, self.level))

        return jax.lax.map(one, (self.widths, masses)) + space.log_jacobian(y)

    @property
    def breadths(self) -> Float[np.ndarray, " h"]:
        """A shape's is the geometric mean of its deviations, and of rounded columns' too."""
        diagonal = np.diagonal(np.asarray(self.whiten, float), axis1=1, axis2=2)
        logs = np.concatenate([np.log(diagonal), np.log(np.asarray(self.sharpness()))], axis=1)
        return np.asarray(self.widths, float) * np.exp(-np.median(logs.mean(1)))

    @property
    def components(self) -> int:
        return len(self.widths)

    def only(self, use: Bool[np.ndarray, " k"]) -> LocalKernels:
        return eqx.tree_at(lambda p: p.widths, self, self.widths[use])

    def take(self, chosen: Int[np.ndarray, " m"]) -> LocalKernels:
        """The kernels of some of the rows, with weights that sum to one again."""
        return eqx.tree_at(_by_row, self, _taken(self, jnp.asarray(chosen)))

    def draw(self, component: Int[Array, ""], *, key: PRNGKeyArray) -> Point:
        k1, k2, k3 = jax.random.split(key, 3)
        h = self.widths[component]
        space = self.tangents.space
        row = drawn_row(self.log_rows(), key=k1)
        noise = jax.random.normal(k2, (self.whiten.shape[1],), self.rows.dtype)
        v = h * jax.scipy.linalg.solve_triangular(self.whiten[row], noise, lower=True)
        v = v / self.relative[self.tangents.owners()]
        precision = jnp.ones(space.bandwidths, v.dtype)
        cells = np.array(self.cells, int)
        if len(cells):
            owners = space.owners()[cells]
            sharpness = self.sharpness(self.level[row]) * self.relative[owners]
            precision = precision.at[owners].set((sharpness / h) ** 2)
        return self._stepped(row, v, precision, k3)

    @property
    def count(self) -> int:
        return len(self.rows)

    @property
    def places(self) -> Float[np.ndarray, "n e"]:
        return self.placed(np.asarray(self.rows))

    def placed(self, rows: np.ndarray) -> Float[np.ndarray, "m e"]:
        return self.tangents.space.placed(rows, np.asarray(self.relative))

    def reach(self, depths: Float[np.ndarray, " h"]) -> Float[np.ndarray, " n"]:
        """Of chords, which are at most √2 times the tangent vectors (on rotations)."""
        narrow = np.linalg.svd(np.asarray(self.whiten, float), compute_uv=False)
        return (np.sqrt(4 * depths) * np.asarray(self.widths)).max() / narrow[:, -1]

    @property
    def log_peaks(self) -> Float[np.ndarray, " h"]:
        """With room for a manifold's volume, which is 1e-3 of the tangent space's at the least."""
        d = self.whiten.shape[1]
        total = float(jax.nn.logsumexp(self.log_scale)) + d * np.log(1e3)
        return total - d * np.log(np.asarray(self.widths, float))

    def near(self, chosen: Int[np.ndarray, " c"], valid: Bool[np.ndarray, " c"]) -> LocalKernels:
        frames, rows, whiten, log_scale, level = jax.tree.map(lambda a: a[chosen], _by_row(self))
        log_scale = np.where(valid, log_scale, -np.inf)
        level, levels = levels_in(np.asarray(level), self.levels)
        some = eqx.tree_at(_by_row, self, (frames, rows, whiten, log_scale, level))
        return eqx.tree_at(lambda p: p.levels, some, levels) if levels else some

    def sharpness(self, level: Int[Array, "... c"] | None = None) -> Float[Array, "... c"]:
        """1/s of cells: of all rows, or of these levels."""
        level = self.level if level is None else level
        columns = [m[level[..., c], 1] for c, m in enumerate(self.levels)]
        return jnp.stack(columns, -1) if columns else jnp.zeros(level.shape, self.rows.dtype)

    def log_rows(self) -> Float[Array, " n"]:
        """The rows' log weights, from which the shapes' determinants are taken out again."""
        diagonal = jnp.diagonal(self.whiten, axis1=1, axis2=2)
        a = self.relative[self.tangents.owners()]
        d = self.whiten.shape[1]
        return (
            self.log_scale
            - jnp.log(diagonal).sum(1)
            - jnp.log(a).sum()
            + 0.5 * d * jnp.log(2 * jnp.pi)
        )

    def _stepped(self, row, v: Array, precision: Array, key: PRNGKeyArray) -> Point:
        space, parts = self.tangents.space, self.tangents.parts
        present = [p for p in parts if p is not None]
        steps = iter(pieces(v, [len(p.scales) for p in present]))
        frames = iter(self.frames)
        kappas = pieces(precision, [1 + max(leaf.scales) for leaf in space.leaves])
        keys = jax.random.split(key, len(parts))
        found = []
        for part, (leaf, y), kappa, k, factor in zip(
            parts,
            space.parts_of(self.rows[row]),
            kappas,
            keys,
            factors_of(space.manifold),
            strict=True,
        ):
            if part is None:
                drawn = leaf.draw(y, kappa, key=k)
            else:
                drawn = part.exp_map(next(frames)[row], next(steps))
            found.append(canonical(factor, drawn))
        return jnp.concatenate(found)


def _by_row(kernels: LocalKernels) -> tuple:
    return (
        kernels.frames,
        kernels.rows,
        kernels.whiten,
        kernels.log_scale,
        kernels.level,
    )


@eqx.filter_jit
def _taken(kernels: LocalKernels, chosen: Int[Array, " m"]) -> tuple:
    log_rows = kernels.log_rows()
    share = jax.nn.logsumexp(log_rows[chosen]) - jax.nn.logsumexp(log_rows)
    frames, rows, whiten, log_scale, level = jax.tree.map(lambda a: a[chosen], _by_row(kernels))
    return frames, rows, whiten, log_scale - share, level
