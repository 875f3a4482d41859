"""Log densities of rows, refined until their errors are within a tolerance."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import PRNGKeyArray

from ..manifolds.base import as_points


class Evaluation(NamedTuple):
    """Log densities of rows, their standard errors, and whether each is within the tolerance."""

    value: np.ndarray
    error: np.ndarray
    reached: np.ndarray

    def describe(self, tol: float) -> str:
        """One line on how it went."""
        missed = int((~self.reached).sum())
        if not missed:
            return f"All {len(self.value)} log densities have an error below {tol:g}."
        worst = float(self.error.max())
        return (
            f"{missed} of {len(self.value)} log densities have an error above {tol:g} (largest "
            f"{worst:.2g}): raise max_rounds, or train the dequantizer longer."
        )


def evaluate(
    density,
    rows: Any,
    *,
    tol: float = 0.01,
    key: PRNGKeyArray | None = None,
    max_rounds: int = 4,
    chunk: int = 4096,
) -> Evaluation:
    """Log densities of many rows, spending more samples only on rows whose error exceeds `tol`.

    A row's noise depends on its content and the key, so neither chunks nor order matter. A row
    keeps its first estimate that is within `tol`, or the last one, and `reached` says which. An
    estimate with a rare, large weight has a large error and is made again: where such weights carry
    much of a density, what is kept is too low by as much.
    """
    rows = as_points(density.manifold, rows)
    numbers = np.array([zlib.crc32(row.tobytes()) for row in rows], np.uint32)

    def ask(density, which, key, chunk):
        return density.log_probs(rows[which], numbers[which], key, chunk)

    key = jax.random.key(0) if key is None else key
    found = until_within(ask, density, len(rows), tol, key=key, max_rounds=max_rounds, chunk=chunk)
    refuse_nan(found.value, rows)
    return found


def refuse_nan(log_density: np.ndarray, rows: np.ndarray) -> None:
    """Raise where the log density of a row is NaN."""
    if np.isnan(log_density).any():
        row = int(np.argmax(np.isnan(log_density)))
        raise FloatingPointError(f"The log density of row {row} is NaN: {rows[row]}.")


def until_within(
    ask: Callable[..., tuple[np.ndarray, np.ndarray]],
    density,
    n: int,
    tol: float,
    *,
    key: PRNGKeyArray,
    max_rounds: int = 4,
    chunk: int = 4096,
) -> Evaluation:
    """Values and errors of n rows, of which `ask(density, which, key, chunk)` asks for some.

    Those whose error is above `tol` are asked for again, of the refined density.
    """
    value, error = np.full(n, np.nan), np.full(n, np.inf)
    which = np.arange(n)
    for round_number in range(max_rounds):
        round_key = jax.random.fold_in(key, round_number)
        value[which], error[which] = ask(density, which, round_key, chunk)
        which = which[~(error[which] <= tol)]
        finer = density.refined()
        if len(which) == 0 or finer is density:
            break
        density, chunk = finer, max(64, chunk // 4)
    return Evaluation(value, error, error <= tol)
