"""Rejection sampling under jit: proposals come in small batches until one is accepted."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, PRNGKeyArray


def sample_by_rejection(
    propose: Callable[[PRNGKeyArray], tuple[Array, Bool[Array, ""]]],
    key: PRNGKeyArray,
    *,
    batch_size: int = 4,
) -> Array:
    """Draw the first accepted proposal.

    Args:
        propose: Maps a key to a value and whether it is accepted.
        key: Random key.
        batch_size: The number of proposals at once. A few are as fast as one on a vector processor.

    Returns:
        The accepted value.
    """

    def try_batch(key):
        values, accepted = jax.vmap(propose)(jax.random.split(key, batch_size))
        return values[jnp.argmax(accepted)], accepted.any()

    def again(state):
        key, use = jax.random.split(state[2])
        return *try_batch(use), key

    key, use = jax.random.split(key)
    return jax.lax.while_loop(lambda state: ~state[1], again, (*try_batch(use), key))[0]
