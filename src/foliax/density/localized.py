"""A density fitted in local coordinates, evaluated and sampled in the manifold's own points."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key, PRNGKeyArray

from ..manifolds import AbstractManifold
from ..manifolds.local import AbstractCoordinates
from ..registry import storable
from .base import AbstractDensity
from .log_prob import LogProb

Point = Float[Array, " size"]


@storable("density.LocalizedDensity")
class LocalizedDensity(AbstractDensity):
    """p(y) = p_t(t(y)) |dt/dy|, t the coordinates in which `density` was fitted.

    Rows are mapped in float64, so that large offsets cost no digits. `log_prob` and `sample`, which
    JAX traces, are as exact as the floats that they are given.
    """

    manifold: AbstractManifold
    coordinates: AbstractCoordinates
    density: AbstractDensity

    def log_prob(
        self, y: Point, *, context: None = None, key: PRNGKeyArray | None = None
    ) -> LogProb:
        t, log_slope = self.coordinates.encode(y, jnp)
        found = self.density.log_prob(t, context=context, key=key)
        return LogProb(found.value + log_slope, found.error)

    def log_probs(
        self, rows: np.ndarray, numbers: np.ndarray, key: PRNGKeyArray, chunk: int
    ) -> tuple[np.ndarray, np.ndarray]:
        t, log_slope = self.coordinates.encode(np.asarray(rows, np.float64))
        value, error = self.density.log_probs(t, numbers, key, chunk)
        return np.asarray(value, np.float64) + log_slope, error

    def sample(self, *, context: None = None, key: PRNGKeyArray) -> Point:
        return self.coordinates.decode(self.density.sample(context=context, key=key), jnp)

    def draws(self, keys: Key[Array, " n"]) -> np.ndarray:
        return self.coordinates.decode(np.asarray(self.density.draws(keys), np.float64))

    def draws_and_log_probs(
        self, keys: Key[Array, " n"], numbers: np.ndarray, key: PRNGKeyArray, chunk: int
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        t, value, error = self.density.draws_and_log_probs(keys, numbers, key, chunk)
        rows = self.coordinates.decode(np.asarray(t, np.float64))
        log_slope = self.coordinates.encode(rows)[1]
        return rows, np.asarray(value, np.float64) + log_slope, error

    @property
    def work(self) -> int:
        return self.density.work

    def refined(self) -> LocalizedDensity:
        finer = self.density.refined()
        return self if finer is self.density else self.of(finer)

    def of(self, density: AbstractDensity) -> LocalizedDensity:
        """The same coordinates with another density in them."""
        return LocalizedDensity(self.manifold, self.coordinates, density)
