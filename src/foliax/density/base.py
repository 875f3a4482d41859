"""The interface of a density on a manifold."""

from __future__ import annotations

import abc

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array, Float, Key, PRNGKeyArray

from ..manifolds import AbstractManifold
from .batches import rows_log_prob
from .log_prob import LogProb

Point = Float[Array, " size"]


class AbstractDensity(eqx.Module):
    """A density on a manifold, against its reference measure: what metrics and plots see."""

    manifold: eqx.AbstractVar[AbstractManifold]

    @abc.abstractmethod
    def log_prob(
        self, y: Point, *, context: None = None, key: PRNGKeyArray | None = None
    ) -> LogProb:
        """Log density of y with its standard error, by a fixed budget; pure."""

    @abc.abstractmethod
    def sample(self, *, context: None = None, key: PRNGKeyArray) -> Point:
        """One exact draw."""

    def log_probs(
        self, rows: np.ndarray, numbers: np.ndarray, key: PRNGKeyArray, chunk: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """`log_prob` and its errors of many rows; a row's number and the key choose its noise."""
        return rows_log_prob(self, rows, numbers, key, chunk)

    def draws(self, keys: Key[Array, " n"]) -> np.ndarray:
        """`sample` by each of many keys."""
        return np.asarray(_draws(self, keys))

    def draws_and_log_probs(
        self, keys: Key[Array, " n"], numbers: np.ndarray, key: PRNGKeyArray, chunk: int
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """`draws` of the keys, and their `log_probs`: more can be known of a draw than of a row."""
        rows = self.draws(keys)
        return rows, *self.log_probs(rows, numbers, key, chunk)

    @property
    @abc.abstractmethod
    def work(self) -> int:
        """How many evaluations of a flow or the like one `log_prob` takes."""

    @abc.abstractmethod
    def refined(self) -> AbstractDensity:
        """The same density with four times the budget; itself where it is exact."""


@eqx.filter_jit
def _draws(density: AbstractDensity, keys: Key[Array, " n"]) -> Float[Array, "n size"]:
    return jax.lax.map(lambda key: density.sample(key=key), keys, batch_size=1024)
