"""Evaluate rows in batches of few compiled sizes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from .log_prob import LogProb


def padded(values: np.ndarray) -> np.ndarray:
    """The first one repeated at the end, up to the next power of two and at least 32.

    So that few sizes are ever compiled.
    """
    size = max(32, 1 << (len(values) - 1).bit_length())
    return np.concatenate([values, np.repeat(values[:1], size - len(values), axis=0)])


def rows_log_prob(density, rows, numbers, key, chunk: int) -> tuple[np.ndarray, np.ndarray]:
    """Log densities of rows in chunks of one compiled size; row numbers choose the keys."""
    if not len(rows):
        return np.zeros(0), np.zeros(0)
    found = in_chunks(_chunk_log_prob, density, rows, numbers, key, chunk)
    return found.value, found.error


def in_chunks(program: Callable[..., Any], density, rows, numbers, key, chunk: int) -> Any:
    """`program(density, rows, numbers, key)` of chunks of one compiled size, put together."""
    parts = []
    for start in range(0, len(rows), chunk):
        part, number = rows[start : start + chunk], numbers[start : start + chunk]
        # Padded to a power of two, so that few sizes are ever compiled.
        size = min(chunk, 1 << (len(part) - 1).bit_length())
        padding = size - len(part)
        part = np.concatenate([part, np.repeat(part[:1], padding, axis=0)])
        number = np.concatenate([number, np.repeat(number[:1], padding)])
        found = program(density, jnp.asarray(part), jnp.asarray(number), key)
        parts.append(jax.tree.map(lambda a, n=size - padding: np.asarray(a)[:n], found))
    return jax.tree.map(lambda *each: np.concatenate(each), *parts)


def at_once(density) -> int:
    """As many rows at a time as keep the flow's activations in the processor's cache."""
    return min(4096, max(1, 8192 // density.work))


@eqx.filter_jit
def _chunk_log_prob(density, rows, numbers, key) -> LogProb:
    def one(row_and_number):
        y, number = row_and_number
        return density.log_prob(y, key=jax.random.fold_in(key, number))

    return jax.lax.map(one, (rows, numbers), batch_size=at_once(density))
