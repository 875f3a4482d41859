"""A density fitted in local coordinates, evaluated and sampled in the manifold's own points."""

from __future__ import annotations

import math
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Key, PRNGKeyArray

from ..manifolds import AbstractManifold
from ..manifolds.local import AbstractCoordinates
from ..registry import storable
from .base import AbstractDensity, Budget, Condition, Point
from .batches import pad_to_power_of_two
from .log_prob import LogProb


@storable("density.LocalizedDensity")
class LocalizedDensity(AbstractDensity):
    """p(y) = (1 − w) p_t(t(y)) |dt/dy| + w/V, t the coordinates in which `density` was fitted.

    Rows are mapped in float64, so that large offsets cost no digits. `log_prob` and `sample`, which
    JAX traces, are as exact as the floats that they are given.

    Args:
        manifold: The manifold, of total volume V.
        coordinates: The coordinates t.
        density: The density p_t.
        uniform_weight: The weight w of the uniform density. In narrow coordinates, p_t may vanish
            almost everywhere on the manifold. By default there is no uniform component.

    Raises:
        ValueError: The weight is not in [0, 1), or it is positive and the volume is infinite.
    """

    manifold: AbstractManifold
    coordinates: AbstractCoordinates
    density: AbstractDensity
    uniform_weight: float = eqx.field(static=True, default=0.0)

    def __check_init__(self):
        is_finite = math.isfinite(self.manifold.log_total_volume())
        if not 0 <= self.uniform_weight < 1 or (self.uniform_weight and not is_finite):
            raise ValueError(
                f"The weight of the uniform density on {self.manifold} is {self.uniform_weight}: "
                "it must be in [0, 1), and 0 if the volume is infinite."
            )

    def _log_prob(
        self, y: Point, *, condition: Condition = None, key: PRNGKeyArray | None = None
    ) -> LogProb:
        t, log_slope = self.coordinates.encode(y, jnp)
        found = self.density._log_prob(t, condition=condition, key=key)
        return self._add_uniform(LogProb(found.value + log_slope, found.error), jnp)

    def log_prob_rows(
        self,
        rows: np.ndarray,
        row_ids: np.ndarray,
        *,
        condition: np.ndarray | None = None,
        key: PRNGKeyArray,
        batch_size: int,
    ) -> LogProb:
        t, log_slope = self.coordinates.encode(np.asarray(rows, np.float64))
        how = {"condition": condition, "key": key, "batch_size": batch_size}
        value, error = self.density.log_prob_rows(t, row_ids, **how)
        return self._add_uniform(LogProb(np.asarray(value, np.float64) + log_slope, error))

    def _sample(self, *, condition: Condition = None, key: PRNGKeyArray) -> Point:
        if self.uniform_weight == 0:
            return self.coordinates.decode(self.density._sample(condition=condition, key=key), jnp)
        k1, k2 = jax.random.split(key)
        local = self.coordinates.decode(self.density._sample(condition=condition, key=k2), jnp)
        uniform = self.manifold.sample_uniform(key=k2).astype(local.dtype)
        return jnp.where(jax.random.uniform(k1) < self.uniform_weight, uniform, local)

    def sample_rows(
        self, keys: Key[Array, " n"], *, condition: np.ndarray | None = None
    ) -> np.ndarray:
        is_uniform, keys = self._choose_uniform(keys)
        t = self.density.sample_rows(keys, condition=condition)
        rows = self.coordinates.decode(np.asarray(t, np.float64))
        return self._replace_by_uniform(rows, is_uniform, keys)

    def sample_rows_with_log_prob(
        self,
        keys: Key[Array, " n"],
        row_ids: np.ndarray,
        *,
        condition: np.ndarray | None = None,
        key: PRNGKeyArray,
        batch_size: int,
    ) -> tuple[np.ndarray, LogProb]:
        how = {"condition": condition, "key": key, "batch_size": batch_size}
        is_uniform, keys = self._choose_uniform(keys)
        t, found = self.density.sample_rows_with_log_prob(keys, row_ids, **how)
        rows = self.coordinates.decode(np.asarray(t, np.float64))
        value = np.asarray(found.value, np.float64) + self.coordinates.encode(rows)[1]
        value, error = map(np.array, self._add_uniform(LogProb(value, found.error)))
        if is_uniform.any():
            rows = self._replace_by_uniform(rows, is_uniform, keys)
            how["condition"] = None if condition is None else condition[is_uniform]
            value[is_uniform], error[is_uniform] = self.log_prob_rows(
                rows[is_uniform], row_ids[is_uniform], **how
            )
        return rows, LogProb(value, error)

    def _add_uniform(self, local: LogProb, xp: Any = np) -> LogProb:
        """Add the uniform component to log densities in local coordinates."""
        if self.uniform_weight == 0:
            return local
        log_uniform = math.log(self.uniform_weight) - self.manifold.log_total_volume()
        log_local = local.value + math.log1p(-self.uniform_weight)
        value = xp.logaddexp(log_local, log_uniform)
        return LogProb(value, local.error * xp.exp(log_local - value))

    def _choose_uniform(
        self, keys: Key[Array, " n"]
    ) -> tuple[Bool[np.ndarray, " n"], Key[Array, " n"]]:
        """Choose the samples that the uniform component draws, and return keys for the draws."""
        if self.uniform_weight == 0 or not len(keys):
            return np.zeros(len(keys), bool), keys
        first, rest = _split_keys(keys)
        return np.asarray(first) < self.uniform_weight, rest

    def _replace_by_uniform(
        self, rows: np.ndarray, is_uniform: Bool[np.ndarray, " n"], keys: Key[Array, " n"]
    ) -> np.ndarray:
        """Replace some rows by uniform samples."""
        which = np.flatnonzero(is_uniform)
        if not len(which):
            return rows
        # In float64: float32 may have few values in a narrow interval, or none.
        with jax.enable_x64(True):
            drawn = np.asarray(_sample_uniform(self.manifold, keys[pad_to_power_of_two(which)]))
        rows = np.array(rows)
        rows[which] = drawn[: len(which)]
        return rows

    @property
    def work(self) -> int:
        return self.density.work

    @property
    def evaluation_work(self) -> float:
        return self.density.evaluation_work

    def refine(self) -> LocalizedDensity:
        return self.with_density(self.density.refine())

    def with_budget(self, budget: Budget) -> LocalizedDensity:
        return self.with_density(self.density.with_budget(budget))

    def with_density(self, density: AbstractDensity) -> LocalizedDensity:
        """The same coordinates with another density in them."""
        if density is self.density:
            return self
        return LocalizedDensity(self.manifold, self.coordinates, density, self.uniform_weight)


@jax.jit
def _split_keys(keys: Key[Array, " n"]) -> tuple[Float[Array, " n"], Key[Array, " n"]]:
    """A uniform number for each key, and another key."""
    first, rest = jnp.moveaxis(jax.vmap(jax.random.split)(keys), 1, 0)
    return jax.vmap(jax.random.uniform)(first), rest


@eqx.filter_jit
def _sample_uniform(manifold: AbstractManifold, keys: Key[Array, " n"]) -> Float[Array, "n size"]:
    return jax.vmap(lambda key: manifold.sample_uniform(key=key))(keys)
