"""Rejection sampling that compiles: proposals in small batches until one is accepted."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, PRNGKeyArray


def rejection(
    propose: Callable[[PRNGKeyArray], tuple[Array, Bool[Array, ""]]],
    key: PRNGKeyArray,
    *,
    at_once: int = 4,
) -> Array:
    """The first accepted proposal of propose(key) -> (value, accepted), tried in small batches."""

    def some(key):
        values, accepted = jax.vmap(propose)(jax.random.split(key, at_once))
        return values[jnp.argmax(accepted)], accepted.any()

    def again(state):
        key, use = jax.random.split(state[2])
        return *some(use), key

    key, use = jax.random.split(key)
    return jax.lax.while_loop(lambda state: ~state[1], again, (*some(use), key))[0]
