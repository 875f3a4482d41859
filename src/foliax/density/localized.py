"""A density fitted in local coordinates, evaluated and sampled in the manifold's own points."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Key, PRNGKeyArray

from ..manifolds import AbstractManifold
from ..manifolds.local import AbstractCoordinates
from ..registry import storable
from .base import AbstractDensity, Budget, Condition, Point
from .log_prob import LogProb


@storable("density.LocalizedDensity")
class LocalizedDensity(AbstractDensity):
    """p(y) = p_t(t(y)) |dt/dy|, t the coordinates in which `density` was fitted.

    Rows are mapped in float64, so that large offsets cost no digits. `log_prob` and `sample`, which
    JAX traces, are as exact as the floats that they are given.
    """

    manifold: AbstractManifold
    coordinates: AbstractCoordinates
    density: AbstractDensity

    def _log_prob(
        self, y: Point, *, condition: Condition = None, key: PRNGKeyArray | None = None
    ) -> LogProb:
        t, log_slope = self.coordinates.encode(y, jnp)
        found = self.density._log_prob(t, condition=condition, key=key)
        return LogProb(found.value + log_slope, found.error)

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
        return LogProb(np.asarray(value, np.float64) + log_slope, error)

    def _sample(self, *, condition: Condition = None, key: PRNGKeyArray) -> Point:
        return self.coordinates.decode(self.density._sample(condition=condition, key=key), jnp)

    def sample_rows(
        self, keys: Key[Array, " n"], *, condition: np.ndarray | None = None
    ) -> np.ndarray:
        t = self.density.sample_rows(keys, condition=condition)
        return self.coordinates.decode(np.asarray(t, np.float64))

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
        t, found = self.density.sample_rows_with_log_prob(keys, row_ids, **how)
        rows = self.coordinates.decode(np.asarray(t, np.float64))
        log_slope = self.coordinates.encode(rows)[1]
        return rows, LogProb(np.asarray(found.value, np.float64) + log_slope, found.error)

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
        return LocalizedDensity(self.manifold, self.coordinates, density)
