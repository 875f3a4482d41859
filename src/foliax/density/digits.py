"""Digits that samples lose where a model computes them in float32."""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Key, UInt32

from ..manifolds import AbstractManifold
from .batches import pad_to_power_of_two

DIGITS_KEY_NUMBER = 0x64696769
"""Folded into a sample's key, so that its digits do not depend on the rest of the draw."""


def restore_digits(
    manifold: AbstractManifold, rows: np.ndarray, keys: Key[Array, " n"]
) -> np.ndarray:
    """Draw the digits of samples that float32 has rounded away, where the manifold has such values.

    Args:
        manifold: The manifold.
        rows: Samples, as the model computed them.
        keys: The key of each sample.

    Returns:
        The samples; in float64, if the manifold has values that float32 cannot tell apart.
    """
    if not manifold.rounds_samples or not len(rows):
        return rows
    words = _draw_bits(keys[pad_to_power_of_two(np.arange(len(rows)))], rows.shape[1])
    high, low = np.moveaxis(np.asarray(words)[: len(rows)].astype(np.float64), -1, 0)
    return manifold.restore_digits(rows.astype(np.float64), (high + low / 2**32) / 2**32)


@functools.partial(jax.jit, static_argnums=1)
def _draw_bits(keys: Key[Array, " n"], size: int) -> UInt32[Array, "n size 2"]:
    """Two random words for each value: one alone has fewer digits than a large count."""

    def draw(key):
        return jax.random.bits(jax.random.fold_in(key, DIGITS_KEY_NUMBER), (size, 2), jnp.uint32)

    return jax.vmap(draw)(keys)
