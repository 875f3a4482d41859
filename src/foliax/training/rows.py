"""Rows, weights and conditions on the device."""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..density.dataset import Dataset


class Batch(NamedTuple):
    """Rows on the device, with weights of mean 1 and conditions, if they have any."""

    rows: Float[Array, "n size"]
    weights: Float[Array, " n"]
    condition: Float[Array, "n c"] | None = None

    def take(self, chosen: Array) -> Batch:
        """Some of the rows, by number."""
        condition = None if self.condition is None else self.condition[chosen]
        return Batch(self.rows[chosen], self.weights[chosen], condition)


def to_device(data: Dataset) -> Batch:
    """Move rows to the device and scale their weights to a mean of 1.

    Raises:
        ValueError: There are no rows, or one is not finite on the device.
    """
    rows = jnp.asarray(data.rows)
    if len(rows) == 0:
        raise ValueError("There are no rows to train on.")
    if not bool(jnp.isfinite(rows).all()):
        bad = int(np.argmax(~np.isfinite(np.asarray(rows)).all(1)))
        raise ValueError(f"{data.names[bad]} is not finite: {rows[bad]}.")
    condition = None if data.condition is None else jnp.asarray(data.condition, rows.dtype)
    if data.weights is None:
        return Batch(rows, jnp.ones(len(rows), rows.dtype), condition)
    weights = jnp.asarray(data.weights, rows.dtype)
    return Batch(rows, weights / weights.mean(), condition)
