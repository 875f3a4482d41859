"""Log densities of rows, refined until their errors are within a tolerance."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import PRNGKeyArray

from ..manifolds.points import as_points
from ..manifolds.row_errors import RowError
from .log_prob import LogProb

MIN_BATCH_SIZE = 64
"""Rows in a batch of a refined density, however much each costs."""


class Evaluation(NamedTuple):
    """Log densities of rows, their standard errors, and whether each is within the tolerance."""

    value: np.ndarray
    error: np.ndarray
    reached: np.ndarray

    def describe(self, tol: float) -> str:
        """Say in one line how many rows are within the tolerance."""
        missed = int((~self.reached).sum())
        if not missed:
            return f"All {len(self.value)} log densities have an error below {tol:g}."
        worst = float(self.error.max())
        return (
            f"{missed} of {len(self.value)} log densities have an error above {tol:g} (largest "
            f"{worst:.2g}): raise max_rounds, or train the dequantizer longer."
        )


def evaluate(
    density: Any,
    rows: Any,
    *,
    tol: float = 0.01,
    condition: Any = None,
    key: PRNGKeyArray | None = None,
    max_rounds: int = 4,
    batch_size: int = 4096,
) -> Evaluation:
    """Evaluate log densities, spending more samples only on rows whose error exceeds `tol`.

    A row's noise depends on its content and the key, so neither batches nor order matter. A row
    keeps its first estimate that is within `tol`, or the last one. An estimate with a rare, large
    weight has a large error and is computed again: where such weights carry much of a density, the
    estimate that is kept is too low by as much.

    Args:
        density: An `AbstractDensity`.
        rows: Points, of shape (n, size), in float64 where they need it.
        tol: The standard error to reach, in nats.
        condition: An (n, c) array of condition features, for a conditional density.
        key: Chooses the noise; by default `jax.random.key(0)`.
        max_rounds: How often a row may be computed, each time with four times the samples.
        batch_size: Rows at a time.

    Returns:
        Values, standard errors, and whether each error is within `tol`.

    Raises:
        OffManifoldError: A row is no point of the manifold.
        RowError: A log density is NaN.
    """
    rows = as_points(density.manifold, rows)
    condition = None if condition is None else np.asarray(condition)
    row_ids = np.array([zlib.crc32(row.tobytes()) for row in rows], np.uint32)

    def log_prob(density, which, key, batch_size):
        some = None if condition is None else condition[which]
        how = {"condition": some, "key": key, "batch_size": batch_size}
        return density.log_prob_rows(rows[which], row_ids[which], **how)

    key = jax.random.key(0) if key is None else key
    limits = {"max_rounds": max_rounds, "batch_size": batch_size}
    found = refine_to_tolerance(log_prob, density, len(rows), tol, key=key, **limits)
    check_not_nan(found.value, rows)
    return found


def check_not_nan(log_density: np.ndarray, rows: np.ndarray) -> None:
    """Raise `RowError` where the log density of a row is NaN."""
    if np.isnan(log_density).any():
        row = int(np.argmax(np.isnan(log_density)))
        raise RowError(row, f"has a log density of NaN, at the point {rows[row]}.")


def refine_to_tolerance(
    log_prob: Callable[..., LogProb],
    density: Any,
    n: int,
    tol: float,
    *,
    key: PRNGKeyArray,
    max_rounds: int = 4,
    batch_size: int = 4096,
) -> Evaluation:
    """Evaluate n rows, and again with a refined density those whose error exceeds `tol`.

    Args:
        log_prob: `log_prob(density, which, key, batch_size)` evaluates some of the rows.
        density: An `AbstractDensity`, refined in every round.
        n: How many rows there are.
        tol: The standard error to reach.
        key: Chooses the noise of every round.
        max_rounds: The most rounds.
        batch_size: Rows at a time in the first round.

    Returns:
        Values, standard errors, and whether each error is within `tol`.
    """
    value, error = np.full(n, np.nan), np.full(n, np.inf)
    which = np.arange(n)
    for round_number in range(max_rounds):
        round_key = jax.random.fold_in(key, round_number)
        value[which], error[which] = log_prob(density, which, round_key, batch_size)
        which = which[~(error[which] <= tol)]
        finer = density.refine()
        if len(which) == 0 or finer is density:
            break
        density, batch_size = finer, max(MIN_BATCH_SIZE, batch_size // 4)
    return Evaluation(value, error, error <= tol)
