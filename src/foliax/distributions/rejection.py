"""Rejection sampling under jit: proposals come in small batches until one is accepted."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PRNGKeyArray

MAX_PROPOSALS = 100_000
"""Proposals after which there is no sample: no sampler of a valid density rejects so many."""


def sample_by_rejection(
    propose: Callable[[PRNGKeyArray], tuple[Float[Array, "..."], Bool[Array, ""]]],
    key: PRNGKeyArray,
    *,
    batch_size: int = 4,
) -> Float[Array, "..."]:
    """Draw the first accepted proposal.

    Args:
        propose: Maps a key to a value and whether it is accepted.
        key: Random key.
        batch_size: The number of proposals at once. A few are as fast as one on a vector processor.

    Returns:
        The accepted value; NaN if `MAX_PROPOSALS` are rejected, as with parameters that are not
        those of a density.
    """

    def try_batch(key):
        values, accepted = jax.vmap(propose)(jax.random.split(key, batch_size))
        return values[jnp.argmax(accepted)], accepted.any()

    def is_searching(state):
        return ~state[1] & (state[3] < MAX_PROPOSALS)

    def again(state):
        key, use = jax.random.split(state[2])
        return *try_batch(use), key, state[3] + batch_size

    key, use = jax.random.split(key)
    start = *try_batch(use), key, jnp.asarray(batch_size)
    value, accepted, _, _ = jax.lax.while_loop(is_searching, again, start)
    return jnp.where(accepted, value, jnp.nan)
