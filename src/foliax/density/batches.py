"""Evaluate rows in batches of few compiled sizes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from .log_prob import LogProb

CACHE_EVALUATIONS = 8192
"""Evaluations of a flow at a time whose activations stay in the processor's cache."""
MAX_AT_ONCE = 4096
"""Rows evaluated at a time, however cheap each is."""


def pad_to_power_of_two(values: np.ndarray) -> np.ndarray:
    """Repeat the first value at the end, up to the next power of two and at least 32.

    So only a few sizes are ever compiled.
    """
    size = max(32, 1 << (len(values) - 1).bit_length())
    return np.concatenate([values, np.repeat(values[:1], size - len(values), axis=0)])


def log_prob_in_batches(
    density: Any,
    rows: np.ndarray,
    row_ids: np.ndarray,
    condition: np.ndarray | None,
    key: Any,
    batch_size: int,
) -> LogProb:
    """Log densities of rows in batches of few compiled sizes."""
    if not len(rows):
        return LogProb(np.zeros(0), np.zeros(0))
    inputs = (rows, row_ids, condition)
    return map_batches(
        lambda rows, ids, some: _log_prob_batch(density, rows, ids, some, key), inputs, batch_size
    )


def map_batches(program: Callable[..., Any], inputs: tuple[Any, ...], batch_size: int) -> Any:
    """Call `program(*batch)` on batches of few sizes, and concatenate what it returns.

    Args:
        program: Takes one batch of each input; compiled for every size it meets.
        inputs: Arrays of equal length; an input may be None.
        batch_size: Rows at a time. The last batch is padded to a power of two.

    Returns:
        The results, as NumPy arrays.
    """
    parts = []
    for start in range(0, len(inputs[0]), batch_size):
        batch = jax.tree.map(lambda a, s=start: np.asarray(a[s : s + batch_size]), inputs)
        length = len(batch[0])
        padding = min(batch_size, 1 << (length - 1).bit_length()) - length
        padded = jax.tree.map(
            lambda a, p=padding: jnp.asarray(np.concatenate([a, np.repeat(a[:1], p, axis=0)])),
            batch,
        )
        parts.append(jax.tree.map(lambda a, n=length: np.asarray(a)[:n], program(*padded)))
    return jax.tree.map(lambda *each: np.concatenate(each), *parts)


def rows_at_once(density: Any) -> int:
    """How many rows at a time keep a density's activations in the processor's cache."""
    return min(MAX_AT_ONCE, max(1, CACHE_EVALUATIONS // density.work))


@eqx.filter_jit
def _log_prob_batch(density, rows, row_ids, condition, key) -> LogProb:
    def log_prob(some):
        rows, row_ids, condition = some
        keys = jax.vmap(lambda row_id: jax.random.fold_in(key, row_id))(row_ids)
        return density._log_prob_batch(rows, condition=condition, keys=keys)

    inputs, count = (rows, row_ids, condition), rows_at_once(density)
    whole = len(rows) // count * count
    parts = []
    if whole:
        chunks = jax.tree.map(lambda a: a[:whole].reshape(-1, count, *a.shape[1:]), inputs)
        found = jax.lax.map(log_prob, chunks)
        parts.append(jax.tree.map(lambda a: a.reshape(whole, *a.shape[2:]), found))
    if whole < len(rows):
        parts.append(log_prob(jax.tree.map(lambda a: a[whole:], inputs)))
    return jax.tree.map(lambda *each: jnp.concatenate(each), *parts)
