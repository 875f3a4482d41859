"""The dequantized flow: its description and its fit to rows."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import paramax
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray, PyTree

from .. import dequantizers
from ..density import DequantizedDensity
from ..dequantizers import AbstractDequantizerSpec, HeavyTailed
from ..flows import AbstractAmbientSpec, GaussianMixture, SplineCoupling
from ..flows.mass import reciprocal_mass
from ..manifolds import AbstractDequantization, AbstractManifold, covers
from ..manifolds.base import as_points
from ..registry import storable
from ..training import AbstractObjective, Block, Checkpoint, ImportanceWeighted, Training, train
from ..training.history import INTERRUPTED
from ..training.rows import Column, Rows, Sampler
from .base import MOST_HELD_OUT, AbstractSpec, Fitted, hold_out

FIRST = 4096
"""Rows that an untrained density is scaled to."""
DIRECTIONS = 64
"""Directions to choose from, by which rows choose among their branches."""
MOST_DOUBTFUL = 0.01
"""Share of rows between two sides from which on sides are thought to cut through heaps."""
ArrayLike = Any
"""What NumPy makes an array of."""


@storable("fit.DequantizedFlow")
@dataclasses.dataclass(frozen=True)
class DequantizedFlow(AbstractSpec):
    """A density by dequantization: an ambient density, a q(z | y), an objective, a training.

    `ambient`: by default splines, or a Gaussian mixture where R^m is a line. `validation`: share of
    the rows, and 4,000 at most, held out to choose the parameters, where none are given. `seeds`:
    independent trainings, of which the best on held-out rows is kept. `precision`: bits of a float,
    32 or 64; 64 needs JAX's x64 mode. What is off about the result is said in the record's
    events: mass outside a truncated window, and, where a solver stands behind the ambient density,
    log densities that are not those of its samples.
    """

    ambient: AbstractAmbientSpec | None = None
    dequantizer: AbstractDequantizerSpec = dataclasses.field(default_factory=HeavyTailed)
    objective: AbstractObjective = dataclasses.field(default_factory=ImportanceWeighted)
    training: Training = dataclasses.field(default_factory=Training)
    validation: float = 0.1
    seeds: int = 1
    precision: int = 32

    def __post_init__(self):
        if self.seeds < 1 or self.precision not in (32, 64) or not 0 <= self.validation < 1:
            raise ValueError(
                "DequantizedFlow needs seeds >= 1, precision 32 or 64 and 0 <= validation < 1, got "
                f"{self.seeds}, {self.precision} and {self.validation}."
            )

    def build(
        self, where: AbstractManifold | AbstractDequantization, rows: Rows, *, key: PRNGKeyArray
    ) -> DequantizedDensity:
        """The untrained density, scaled to the rows."""
        g = where.dequantization() if isinstance(where, AbstractManifold) else where
        k1, k2, k3 = jax.random.split(key, 3)
        dequantizer = dequantizers.build(self.dequantizer, g, key=k1)
        ambient = self.ambient or (GaussianMixture(8) if g.ambient_dim == 1 else SplineCoupling())
        x = ambient_points(g, dequantizer, rows, k2, in_parts=ambient.is_multimodal)
        flow = ambient.build(g.ambient_dim, shift=x.mean(0), scale=x.std(0), key=k3)
        flow = ambient.initialize_from_data(flow, x)
        return DequantizedDensity(g, self._cast(flow), self._cast(dequantizer))

    def _cast(self, tree: PyTree) -> PyTree:
        """Every float of the wanted precision."""
        dtype = jnp.float32 if self.precision == 32 else jnp.float64
        if jax.dtypes.canonicalize_dtype(dtype) != dtype:
            raise ValueError(
                "precision=64 needs JAX's x64 mode: call jax.config.update('jax_enable_x64', True) "
                "before anything else."
            )
        return jax.tree.map(lambda a: a.astype(dtype) if eqx.is_inexact_array(a) else a, tree)

    def within(self, seconds: float) -> DequantizedFlow:
        training = dataclasses.replace(self.training, seconds=max(seconds, 1.0))
        return dataclasses.replace(self, training=training)

    def _fit(
        self,
        where: AbstractManifold | AbstractDequantization,
        rows: ArrayLike | Sampler,
        *,
        key: PRNGKeyArray,
        weights: Column | None = None,
        validation: ArrayLike | None = None,
        checkpoint: Checkpoint | None = None,
        on_block: Callable[[Block], None] | None = None,
    ) -> Fitted[DequantizedDensity]:
        """The density fitted to rows (arrays, lists), or to draws of a sampler (key, n) -> rows."""
        manifold = where if isinstance(where, AbstractManifold) else where.manifold
        split_key, check_key, *keys = jax.random.split(key, 2 + self.seeds)
        validation_weights = None
        held_out = None if validation is None else self._points(manifold, validation)
        source: Any
        sample: Any
        if callable(rows):
            source, sample = rows, rows(split_key, FIRST)
        else:
            source = self._points(manifold, rows)
            if held_out is None and self.validation > 0:
                source, weights, held_out, validation_weights = hold_out(
                    source, weights, self.validation, split_key, MOST_HELD_OUT
                )
            sample = source
        fitted = []
        for number, seed_key in enumerate(keys):
            build_key, train_key = jax.random.split(seed_key)
            fitted.append(
                train(
                    self.build(where, sample, key=build_key),
                    source,
                    key=train_key,
                    training=self.training,
                    objective=self.objective,
                    weights=weights,
                    validation=held_out,
                    validation_weights=validation_weights,
                    checkpoint=_numbered(checkpoint, number, self.seeds),
                    on_block=on_block,
                )
            )
            if fitted[-1][1].stopped == INTERRUPTED:
                break
        best = Fitted(*min(fitted, key=lambda pair: pair[1].best_validation))
        check_window(best, check_key)
        if self.ambient is not None and self.ambient.uses_solver:
            check_mass(best, check_key)
        return best

    def _points(self, manifold: AbstractManifold, rows: Any) -> Rows:
        return self._cast(jnp.asarray(as_points(manifold, rows)))


def check_window(fitted: Fitted[DequantizedDensity], key: PRNGKeyArray) -> None:
    """Note in the record where a truncated window of branches loses mass."""
    g = fitted.density.dequantization
    if g.branches == 1:
        return
    lost = 1 - float(covered_share(fitted.density, jax.random.split(key, 2000)))
    if lost > 1e-3:
        fitted.record.events.append(
            f"{lost:.1%} of the ambient mass is outside the branches of {type(g).__name__}, and "
            "missing from the log densities: use a wider window, or another dequantization."
        )


@eqx.filter_jit
def covered_share(density: DequantizedDensity, keys: Array) -> Float[Array, ""]:
    """Share of ambient samples, one for each key, that are among the branches."""
    ambient = paramax.unwrap(density.ambient)
    inside = jax.lax.map(
        lambda k: covers(density.dequantization, ambient.sample(key=k)), keys, batch_size=500
    )
    return inside.mean()


def check_mass(fitted: Fitted[DequantizedDensity], key: PRNGKeyArray) -> None:
    """Note in the record where the log densities are not those of the samples."""
    mass, error = (float(v) for v in reciprocal_mass(fitted.density.ambient, key=key))
    if abs(mass - 1) > 4 * error + 0.02:
        fitted.record.events.append(
            f"The ambient density is off: E g/π over its samples is {mass:.3f} ± {error:.3f}, not "
            "1. Its solver's error was exploited: use tighter tolerances, more steps or cost."
        )


def ambient_points(
    g: AbstractDequantization, dequantizer, rows: Rows, key: PRNGKeyArray, *, in_parts: bool
) -> Float[Array, "n m"]:
    """The rows' preimages under the untrained q(z | y), `FIRST` at the most.

    Each row by one of its branches nearest to zero: the far turns of a wrapped angle are not where
    the flow should start. Of several as near, that on one side, see :func:`on_one_side`; or at
    random, if the flow starts `in_parts` and sides would cut through heaps of rows.
    """

    def one(y, v):
        z = dequantizer.transform(g.manifold.features(y), v)
        x, _ = g.preimages(y, z)
        size = jnp.linalg.norm(x, axis=1)
        return x, size <= size.min() * (1 + 1e-4)

    # The bulk of q only: its tails are for the weights, not for the scale.
    k1, k2, k3 = jax.random.split(key, 3)
    rows = rows[jax.random.permutation(k1, len(rows))[:FIRST]]
    v = jax.random.uniform(k2, (len(rows), g.auxiliary.size), minval=0.1, maxval=0.9)
    x, near = jax.jit(jax.vmap(one))(rows, v)
    branch, doubtful = on_one_side(x, near, key=k3)
    if in_parts and doubtful > MOST_DOUBTFUL:
        branch = jax.random.categorical(k3, jnp.where(near, 0.0, -jnp.inf))
    return jnp.take_along_axis(x, branch[:, None, None], axis=1)[:, 0]


def on_one_side(
    x: Float[Array, "n b m"], allowed: Bool[Array, "n b"], *, key: PRNGKeyArray
) -> tuple[Int[Array, " n"], Float[Array, ""]]:
    """Of each row's allowed branches that which is farthest along a direction, the same for all.

    Rows that are near each other get branches that are, but for those which have two almost as far
    along: of some random directions, the one with the smallest share of these, which is returned
    too. Branches at random would make two heaps of each heap of rotations, by quaternions ±q, for
    the flow to learn, with a bridge.
    """

    def picked(u: Float[Array, " m"]) -> tuple[Int[Array, " n"], Float[Array, ""]]:
        along = jnp.where(allowed, x @ u, -jnp.inf)
        best = jnp.argmax(along, axis=1)
        rest = jnp.where(jnp.arange(along.shape[1]) == best[:, None], -jnp.inf, along)
        gap = (along.max(1) - rest.max(1)) / jnp.linalg.norm(x[:, 0], axis=1)
        return best, jnp.exp(-((gap / 0.3) ** 2)).mean()

    u = jax.random.normal(key, (DIRECTIONS if bool((allowed.sum(1) > 1).any()) else 1, x.shape[2]))
    u = u / jnp.linalg.norm(u, axis=1, keepdims=True)
    branches, doubtful = jax.jit(lambda u: jax.lax.map(picked, u))(u)
    best = jnp.argmin(doubtful)
    return branches[best], doubtful[best]


def _numbered(checkpoint: Checkpoint | None, number: int, seeds: int) -> Checkpoint | None:
    if checkpoint is None or seeds == 1:
        return checkpoint
    return dataclasses.replace(
        checkpoint, path=checkpoint.path.with_name(f"{checkpoint.path.name}.{number}")
    )
