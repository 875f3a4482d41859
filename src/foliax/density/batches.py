"""Evaluate rows in batches of few compiled sizes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
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
SMALL_BATCH, MEDIUM_BATCH, LARGE_BATCH = 32, 256, 4096
"""Rows of the compiled batches. Tracing and loading a program takes seconds, and a call of it
milliseconds, so that a report, a score and a fit share programs of 256 rows."""
MIN_ROWS_FOR_LARGE_BATCHES = 16_384
"""Rows from which on the calls of medium batches would take longer than another program."""


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


def padded_batches(
    numbers: np.ndarray, limit: int = LARGE_BATCH
) -> Iterator[tuple[np.ndarray, int]]:
    """Split numbers of rows into batches of few sizes.

    Args:
        numbers: The numbers of the rows.
        limit: The most rows of a batch.

    Yields:
        The numbers of a batch, padded by its first one, and how many of them are not padding.
    """
    n = len(numbers)
    smallest = min(limit, SMALL_BATCH if n <= SMALL_BATCH else MEDIUM_BATCH)
    largest = min(limit, LARGE_BATCH) if n >= MIN_ROWS_FOR_LARGE_BATCHES else smallest
    start = 0
    while start < n:
        size = largest if n - start >= largest else smallest
        batch = numbers[start : start + size]
        padding = np.repeat(batch[:1], size - len(batch))
        yield np.concatenate([batch, padding]), len(batch)
        start += size


def map_batches(program: Callable[..., Any], inputs: tuple[Any, ...], batch_size: int) -> Any:
    """Call `program(*batch)` on batches of few sizes, and concatenate what it returns.

    Args:
        program: Takes one batch of each input; compiled for every size it meets.
        inputs: Arrays of equal length; an input may be None.
        batch_size: The most rows at a time.

    Returns:
        The results, as NumPy arrays.
    """
    inputs = jax.tree.map(np.asarray, inputs)
    parts = []
    for numbers, length in padded_batches(np.arange(len(inputs[0])), batch_size):
        batch = jax.tree.map(lambda a, some=numbers: jnp.asarray(a[some]), inputs)
        parts.append(jax.tree.map(lambda a, n=length: np.asarray(a)[:n], program(*batch)))
    return jax.tree.map(lambda *each: np.concatenate(each), *parts)


def rows_at_once(density: Any) -> int:
    """How many rows at a time keep a density's activations in the processor's cache.

    A power of two divides a batch, so that no rest of it is traced and compiled besides.
    """
    most = min(MAX_AT_ONCE, max(1, CACHE_EVALUATIONS // density.work))
    return 1 << (most.bit_length() - 1)


@eqx.filter_jit
def _log_prob_batch(density, rows, row_ids, condition, key) -> LogProb:
    def log_prob(some):
        rows, row_ids, condition = some
        keys = jax.vmap(lambda row_id: jax.random.fold_in(key, row_id))(row_ids)
        return density._log_prob_batch(rows, condition=condition, keys=keys)

    return map_chunks(log_prob, (rows, row_ids, condition), rows_at_once(density))


def map_chunks(function: Callable[[Any], Any], inputs: Any, count: int) -> Any:
    """Call a traced function on chunks of rows, and concatenate what it returns.

    Args:
        function: Maps `inputs` of up to `count` rows to arrays with an entry for each row.
        inputs: Arrays of equal length.
        count: The rows of a chunk. Rows are repeated to fill the last one, so that the function is
            compiled for one size only.
    """
    n = len(jax.tree.leaves(inputs)[0])
    if n <= count:
        return function(inputs)
    chunks = -(-n // count)
    numbers = jnp.minimum(jnp.arange(chunks * count), n - 1).reshape(chunks, count)
    found = jax.lax.map(lambda some: function(jax.tree.map(lambda a: a[some], inputs)), numbers)
    return jax.tree.map(lambda a: a.reshape(chunks * count, *a.shape[2:])[:n], found)
