"""The interface of a density on a manifold."""

from __future__ import annotations

import abc
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key, PRNGKeyArray, UInt32

from ..manifolds import AbstractManifold
from .batches import LARGE_BATCH, log_prob_in_batches, map_batches
from .digits import restore_digits
from .evaluate import Evaluation, evaluate
from .log_prob import LogProb

Point = Float[Array, " size"]
Condition = Float[Array, " c"] | None
Budget = str
"""`"coarse"`, `"default"` or `"thorough"`: how many z an integral over z takes."""

EVALUATION_WORK_UNITS = 1e-5
"""Work units of one evaluation that `work` counts, where a density does not know better.

A work unit is about one second of one core of a laptop of the 2020s, as calibrated at a release by
`python -m benchmarks.cost`. It is a fixed measure: no clock is read.
"""


class AbstractDensity(eqx.Module):
    """A density on a manifold, against its reference measure.

    The public methods take rows: `log_prob`, `sample` and `evaluate`. A leaf implements `_log_prob`
    and `_sample` for one point, which JAX can trace, and may override the methods for many rows
    where it knows a faster way.
    """

    manifold: eqx.AbstractVar[AbstractManifold]

    def log_prob(
        self,
        y: Float[Array, "*n size"] | np.ndarray,
        *,
        condition: Float[Array, "*n c"] | np.ndarray | None = None,
        key: PRNGKeyArray | None = None,
    ) -> LogProb:
        """Log densities by a fixed budget: a pure function for `jit`, `vmap` and `grad`.

        Args:
            y: One point, of shape (size,), or rows of them.
            condition: The features of the condition, one row for each point.
            key: Noise, for densities that are integrated by sampling.

        Returns:
            Log densities and their standard errors, 0 where they are exact.
        """
        y = jnp.asarray(y)
        condition = None if condition is None else jnp.asarray(condition)
        if y.ndim == 1:
            return self._log_prob(y, condition=condition, key=key)
        keys = None if key is None else jax.random.split(key, len(y))
        return self._log_prob_batch(y, condition=condition, keys=keys)

    def sample(
        self,
        n: int | None = None,
        *,
        condition: Float[Array, "*n c"] | np.ndarray | None = None,
        key: PRNGKeyArray,
    ) -> Any:
        """Draw exact samples.

        Args:
            n: How many. Without it, one point that JAX can trace.
            condition: The features of the condition: one vector for all, or a row for each.
            key: The i-th of n samples uses `fold_in(key, i)`.

        Returns:
            A NumPy array of shape (n, size), or one point.

        Raises:
            FloatingPointError: A sample is not finite.
        """
        if n is None:
            one = None if condition is None else jnp.asarray(condition)
            return self._sample(condition=one, key=key)
        keys = jax.vmap(lambda i: jax.random.fold_in(key, i))(jnp.arange(n))
        rows = self.sample_rows(keys, condition=rows_of_condition(condition, n))
        check_samples(rows)
        return rows

    def evaluate(
        self,
        rows: Any,
        *,
        tol: float = 0.01,
        condition: Any = None,
        key: PRNGKeyArray | None = None,
        max_rounds: int = 4,
        batch_size: int = 4096,
    ) -> Evaluation:
        """Log densities of rows to a tolerance; see :func:`foliax.evaluate`."""
        known = {"condition": condition, "max_rounds": max_rounds, "batch_size": batch_size}
        return evaluate(self, rows, tol=tol, key=key, **known)

    @abc.abstractmethod
    def _log_prob(
        self, y: Point, *, condition: Condition = None, key: PRNGKeyArray | None = None
    ) -> LogProb:
        """Log density of one point."""

    def _log_prob_batch(
        self,
        rows: Float[Array, "n size"],
        *,
        condition: Float[Array, "n c"] | None = None,
        keys: Key[Array, " n"] | None = None,
    ) -> LogProb:
        """Log densities of a few rows at once, each with its own key."""
        return jax.vmap(lambda y, c, k: self._log_prob(y, condition=c, key=k))(
            rows, condition, keys
        )

    @abc.abstractmethod
    def _sample(self, *, condition: Condition = None, key: PRNGKeyArray) -> Point:
        """Draw one point."""

    def log_prob_rows(
        self,
        rows: np.ndarray,
        row_ids: np.ndarray,
        *,
        condition: np.ndarray | None = None,
        key: PRNGKeyArray,
        batch_size: int,
    ) -> LogProb:
        """Log densities of rows, in batches; a row's noise is `fold_in(key, its id)`."""
        return log_prob_in_batches(self, rows, row_ids, condition, key, batch_size)

    def sample_rows(
        self, keys: Key[Array, " n"], *, condition: np.ndarray | None = None
    ) -> np.ndarray:
        """Draw one point for each key, with digits that float32 lacks where there are such."""
        if not len(keys):
            return np.zeros((0, self.manifold.size), np.float32)
        inputs = (jax.random.key_data(keys), condition)
        rows = map_batches(lambda data, some: _sample_keys(self, data, some), inputs, LARGE_BATCH)
        return restore_digits(self.manifold, rows, keys)

    def sample_rows_with_log_prob(
        self,
        keys: Key[Array, " n"],
        row_ids: np.ndarray,
        *,
        condition: np.ndarray | None = None,
        key: PRNGKeyArray,
        batch_size: int,
    ) -> tuple[np.ndarray, LogProb]:
        """Draw one point for each key, with its log density.

        A density may know more about its own samples than about given rows, such as their z.
        """
        rows = self.sample_rows(keys, condition=condition)
        how = {"condition": condition, "key": key, "batch_size": batch_size}
        return rows, self.log_prob_rows(rows, row_ids, **how)

    @property
    @abc.abstractmethod
    def work(self) -> int:
        """Evaluations of a flow, or of something as expensive, that one log density takes."""

    @property
    def evaluation_work(self) -> float:
        """Work units that the log density of one of many rows takes."""
        return self.work * EVALUATION_WORK_UNITS

    @abc.abstractmethod
    def refine(self) -> AbstractDensity:
        """The same density with four times the budget; itself where it is exact."""

    def with_budget(self, budget: Budget) -> AbstractDensity:
        """The same density with few or many nodes per integral; itself where it is exact."""
        return self


def rows_of_condition(condition: Any, n: int) -> np.ndarray | None:
    """One row of condition features for each of n samples."""
    if condition is None:
        return None
    condition = np.asarray(condition)
    return np.broadcast_to(condition, (n, condition.shape[-1]))


def check_samples(rows: np.ndarray) -> None:
    """Raise `FloatingPointError` where a sample is not finite."""
    lost = np.flatnonzero(~np.isfinite(rows).all(axis=1))
    if len(lost):
        raise FloatingPointError(
            f"Sample {lost[0]} is not finite: {rows[lost[0]]} ({len(lost)} of {len(rows)} samples "
            "are not). If a flow throws samples farther out than its floats reach, train it for "
            "longer, at a lower learning rate, or bound its networks (activation='tanh')."
        )


@eqx.filter_jit
def _sample_keys(
    density: AbstractDensity, key_data: UInt32[Array, "n _"], condition: Array | None
) -> Float[Array, "n size"]:
    def sample(data_and_condition):
        data, condition = data_and_condition
        return density._sample(condition=condition, key=jax.random.wrap_key_data(data))

    return jax.lax.map(sample, (key_data, condition), batch_size=1024)
