"""Networks that give the parameters of splines; rows are on the last axis of every array."""

from __future__ import annotations

import math
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray


def evaluate_networks(
    networks: eqx.nn.MLP, seen: Float[Array, "blocks f *rows"]
) -> Float[Array, "blocks p *rows"]:
    """Evaluate a network for each block, on what each sees."""
    return jax.vmap(evaluate_network)(networks, seen)


def evaluate_network(
    network: eqx.nn.MLP, x: Float[Array, "inputs *rows"]
) -> Float[Array, "outputs *rows"]:
    """Evaluate a SiLU network at all rows."""
    *hidden, last = network.layers
    for layer in hidden:
        x = jax.nn.silu(_apply_linear(layer, x))
    return _apply_linear(last, x)


def _apply_linear(layer: eqx.nn.Linear, x: Float[Array, "i *rows"]) -> Float[Array, "o *rows"]:
    assert layer.bias is not None
    return layer.weight @ x + layer.bias.reshape(-1, *(1,) * (x.ndim - 1))


class Sizes(NamedTuple):
    """The sizes of a network: its inputs and outputs, and the width and number of hidden layers."""

    inputs: int
    outputs: int
    width: int
    depth: int


def start_networks(sizes: Sizes, shape: tuple[int, ...], key: PRNGKeyArray) -> eqx.nn.MLP:
    """Build SiLU networks with small outputs, which are parameters near those of the identity.

    NumPy draws the numbers: JAX would compile a program for each shape, which takes seconds.

    Args:
        sizes: The sizes of each network.
        shape: The leading axes of every array.
        key: Chooses the numbers.
    """
    rng = np.random.default_rng(np.asarray(jax.random.key_data(key)))

    def draw(leaf: jax.ShapeDtypeStruct, reach: float) -> Array:
        return jnp.asarray(rng.uniform(-reach, reach, (*shape, *leaf.shape)), leaf.dtype)

    network = eqx.filter_eval_shape(eqx.nn.MLP, *sizes, jax.nn.silu, key=key)
    for number, layer in enumerate(network.layers):
        is_last, reach = number == sizes.depth, 1 / math.sqrt(layer.in_features)
        new = (
            draw(layer.weight, 0.1 * reach if is_last else reach),
            draw(layer.bias, 0.0 if is_last else reach),
        )
        network = eqx.tree_at(
            lambda n, i=number: (n.layers[i].weight, n.layers[i].bias), network, new
        )
    return network
