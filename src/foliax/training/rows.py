"""Rows and weights on the device, or a sampler that draws them."""

from __future__ import annotations

from collections.abc import Callable

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

Rows = Float[Array, "n size"]
Table = Float[Array, "_ size"] | Float[np.ndarray, "_ size"]
Column = Float[Array, " _"] | Float[np.ndarray, " _"]
Sampler = Callable[[PRNGKeyArray, int], Rows]


def _source(
    rows: Table | Sampler, weights: Column | None
) -> tuple[Array | None, Array | None, Sampler | None]:
    if not isinstance(rows, Array | np.ndarray):
        if weights is not None:
            raise ValueError("A sampler's draws have no weights: pass weights only with rows.")
        return None, None, rows
    return *_weighted(rows, weights), None


def _weighted(rows: Table, weights: Column | None) -> tuple[Array, Array]:
    """Rows on the device, weights of mean 1; an error where either cannot be trained on."""
    rows = jnp.asarray(rows)
    if len(rows) == 0:
        raise ValueError("There are no rows to train on.")
    if not bool(jnp.isfinite(rows).all()):
        bad = int(np.argmax(~np.isfinite(np.asarray(rows)).all(1)))
        raise ValueError(f"Row {bad} is not finite: {rows[bad]}.")
    if weights is None:
        return rows, jnp.ones(len(rows), rows.dtype)
    weights = jnp.asarray(weights, rows.dtype)
    if weights.shape != (len(rows),):
        raise ValueError(f"There are {len(rows)} rows and weights of shape {weights.shape}.")
    if not bool((jnp.isfinite(weights) & (weights >= 0)).all()) or float(weights.sum()) == 0:
        raise ValueError("Weights must be finite, non-negative and not all zero.")
    return rows, weights / weights.mean()
