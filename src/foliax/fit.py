"""From rows to a density: the description of a dequantized flow, and its fitting."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Literal, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray, PyTree

from . import dequantizers
from .ambient import AbstractAmbientSpec, SplineCoupling
from .ambient.mass import reciprocal_mass
from .checkpoint import Checkpoint
from .density import DequantizedDensity
from .dequantizers import AbstractDequantizerSpec, Safe
from .manifolds import AbstractDequantization, AbstractManifold, check_points
from .objectives import AbstractObjective, ImportanceWeighted
from .record import Block, Record
from .training import Column, Rows, Sampler, Table, Training, train


class Fitted(NamedTuple):
    """A density and how its training went."""

    density: DequantizedDensity
    record: Record


@dataclasses.dataclass(frozen=True)
class DequantizedFlow:
    """A density by dequantization: an ambient density, a q(z | y), an objective, a training.

    `validation`: share of the rows held out to choose the parameters, where none are given.
    `seeds`: independent trainings, of which the best on held-out rows is kept.
    `precision`: bits of a float, 32 or 64; 64 needs JAX's x64 mode. Where a solver stands behind
    the ambient density, the fit ends with a check of its mass; the record says if it is off.
    """

    ambient: AbstractAmbientSpec = dataclasses.field(default_factory=SplineCoupling)
    dequantizer: AbstractDequantizerSpec = dataclasses.field(default_factory=Safe)
    objective: AbstractObjective = dataclasses.field(default_factory=ImportanceWeighted)
    training: Training = dataclasses.field(default_factory=Training)
    validation: float = 0.1
    seeds: int = 1
    precision: Literal[32, 64] = 32

    def build(
        self, where: AbstractManifold | AbstractDequantization, rows: Rows, *, key: PRNGKeyArray
    ) -> DequantizedDensity:
        """The untrained density, scaled to the rows."""
        g = where.dequantization() if isinstance(where, AbstractManifold) else where
        k1, k2, k3 = jax.random.split(key, 3)
        dequantizer = dequantizers.build(self.dequantizer, g, key=k1)
        shift, scale = spread(g, dequantizer, rows[:4096], k2)
        ambient = self.ambient.build(g.ambient_dim, shift=shift, scale=scale, key=k3)
        return DequantizedDensity(g, self._cast(ambient), self._cast(dequantizer))

    def _cast(self, tree: PyTree) -> PyTree:
        """Every float of the wanted precision."""
        dtype = jnp.float32 if self.precision == 32 else jnp.float64
        if jax.dtypes.canonicalize_dtype(dtype) != dtype:
            raise ValueError(
                "precision=64 needs JAX's x64 mode: call jax.config.update('jax_enable_x64', True) "
                "before anything else."
            )
        return jax.tree.map(lambda a: a.astype(dtype) if eqx.is_inexact_array(a) else a, tree)

    def fit(
        self,
        where: AbstractManifold | AbstractDequantization,
        rows: Table | Sampler,
        *,
        key: PRNGKeyArray,
        weights: Column | None = None,
        validation: Table | None = None,
        checkpoint: Checkpoint | None = None,
        on_block: Callable[[Block], None] | None = None,
    ) -> Fitted:
        """The density fitted to rows, or to fresh draws of a sampler (key, n) -> rows."""
        split_key, *keys = jax.random.split(key, 1 + self.seeds)
        validation_weights = None
        if not isinstance(rows, Array | np.ndarray):
            sample = rows(split_key, 4096)
        else:
            manifold = where if isinstance(where, AbstractManifold) else where.manifold
            check_points(manifold, np.asarray(rows))
            if validation is None and self.validation > 0:
                rows, weights, validation, validation_weights = hold_out(
                    rows, weights, self.validation, split_key
                )
            rows, validation = self._cast((jnp.asarray(rows), validation))
            sample = jnp.asarray(rows)
        fitted = []
        for number, seed_key in enumerate(keys):
            build_key, train_key = jax.random.split(seed_key)
            fitted.append(
                train(
                    self.build(where, sample, key=build_key),
                    rows,
                    key=train_key,
                    training=self.training,
                    objective=self.objective,
                    weights=weights,
                    validation=validation,
                    validation_weights=validation_weights,
                    checkpoint=_numbered(checkpoint, number, self.seeds),
                    on_block=on_block,
                )
            )
        best = Fitted(*min(fitted, key=lambda pair: pair[1].best_validation))
        if self.ambient.solved:
            check_mass(best, split_key)
        return best


def check_mass(fitted: Fitted, key: PRNGKeyArray) -> None:
    """Note in the record where the log densities are not those of the samples."""
    mass, error = (float(v) for v in reciprocal_mass(fitted.density.ambient, key=key))
    if abs(mass - 1) > 4 * error + 0.02:
        fitted.record.events.append(
            f"The ambient density is off: E g/π over its samples is {mass:.3f} ± {error:.3f}, not "
            "1. Its solver's error was exploited: use tighter tolerances, more steps or cost."
        )


def spread(
    g: AbstractDequantization, dequantizer, rows: Rows, key: PRNGKeyArray
) -> tuple[Float[Array, " m"], Float[Array, " m"]]:
    """Mean and deviation of the rows' preimages under the untrained q(z | y)."""

    def one(y, v):
        z = dequantizer.transform(g.manifold.features(y), v)
        return g.preimages(y, z)[0]

    # The bulk of q only: its tails are for the weights, not for the scale.
    v = jax.random.uniform(key, (len(rows), g.auxiliary.size), minval=0.1, maxval=0.9)
    x = jax.jit(jax.vmap(one))(rows, v).reshape(-1, g.ambient_dim)
    return x.mean(0), x.std(0)


def hold_out(rows, weights, share: float, key: PRNGKeyArray):
    """(rows, weights, held-out rows, their weights): a random split."""
    n = len(rows)
    held = max(1, round(share * n))
    if n - held < 1:
        raise ValueError(f"{n} rows are too few to hold out {share:.0%} of them.")
    order = np.asarray(jax.random.permutation(key, n))
    kept, out = order[held:], order[:held]
    if weights is None:
        return rows[kept], None, rows[out], None
    weights = np.asarray(weights)
    return rows[kept], weights[kept], rows[out], weights[out]


def _numbered(checkpoint: Checkpoint | None, number: int, seeds: int) -> Checkpoint | None:
    if checkpoint is None or seeds == 1:
        return checkpoint
    return dataclasses.replace(checkpoint, path=checkpoint.path.with_suffix(f".{number}"))
