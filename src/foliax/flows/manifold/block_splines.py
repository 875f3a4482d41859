"""Autoregressive splines on products of spheres, circles and lines."""

from __future__ import annotations

import math
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import paramax
from jaxtyping import Array, Float, Int, PRNGKeyArray, PyTree

from ...manifolds.base import safe_norm
from ...manifolds.cover import Block
from ...registry import storable
from .bijections import Point, Scalar
from .moves import AbstractMove, AxisMove, Raw, move_for, parameter_count

Condition = Float[Array, " c"]


class Layer(NamedTuple):
    """The arrays of one layer.

    Attributes:
        networks: The parameters of one network for each block.
        matrices: A matrix for each unit vector. It comes first, and chooses the axis of the height.
        order: The place of each block in the order of the moves.
    """

    networks: PyTree
    matrices: tuple[Array, ...]
    order: Int[Array, " blocks"]


@storable("flows.BlockSplines")
class BlockSplines(eqx.Module):
    """x ↦ u on a product of blocks: in each layer a spline moves one number of each block.

    A unit vector is first mapped by a matrix, x ↦ Ax/‖Ax‖, which commutes with the scaling of rays;
    its number is then its height along the last axis. Those of circles and lines are their
    coordinates. The parameters depend on what the move keeps of its own block, on the blocks
    that come before in the layer's order, and on the condition. So log |du/dx| is a sum, and takes
    one evaluation of the networks. Rezende et al. 2020; Durkan et al. 2019; Papamakarios et al.
    2017.

    Args:
        blocks: The blocks, at least one.
        condition_size: The number of condition features.
        layers: The number of layers.
        width: The width of the hidden layers.
        depth: The number of hidden layers.
        bins: The number of bins of each spline.
        key: Initialises networks, axes and orders.
    """

    networks: eqx.nn.MLP
    frames: tuple[paramax.NonTrainable, ...]
    linear: tuple[Float[Array, "layers m m"], ...]
    orders: Int[Array, "layers blocks"]
    blocks: tuple[Block, ...] = eqx.field(static=True)
    bins: int = eqx.field(static=True)

    def __init__(
        self,
        blocks: tuple[Block, ...],
        condition_size: int,
        *,
        layers: int,
        width: int,
        depth: int,
        bins: int,
        key: PRNGKeyArray,
    ):
        network_key, frame_key, order_key = jax.random.split(key, 3)
        self.blocks, self.bins = blocks, bins
        inputs = 1 + condition_size + sum(m.own_count + m.shown_count for m in self._moves)
        sizes = Sizes(inputs, parameter_count(bins), width, depth)
        self.networks = start_networks(sizes, (layers, len(blocks)), network_key)
        self.frames = tuple(
            paramax.NonTrainable(_random_frames(jax.random.fold_in(frame_key, i), layers, b.size))
            for i, b in enumerate(blocks)
            if b.is_unit_vector
        )
        self.linear = tuple(jnp.zeros_like(paramax.unwrap(frame)) for frame in self.frames)
        self.orders = _random_orders(order_key, layers, len(blocks))

    def to_base(self, x: Point, condition: Condition | None = None) -> tuple[Point, Scalar]:
        """Compute u, and log |du/dx|.

        Args:
            x: The coordinates of all blocks.
            condition: The condition's features.
        """

        def apply(carry, layer: Layer):
            x, log_stretch = carry
            turned, more = self._apply_matrices(self._split(x), layer.matrices)
            moved = [
                move.forward(self._parameters(i, turned, layer, condition), part)
                for i, (move, part) in enumerate(zip(self._moves, turned, strict=True))
            ]
            u, stretches = zip(*moved, strict=True)
            return (jnp.concatenate(u), log_stretch + more + sum(stretches)), None

        return jax.lax.scan(apply, (x, jnp.zeros((), x.dtype)), self._layers())[0]

    def from_base(self, u: Point, condition: Condition | None = None) -> Point:
        """Compute the x of u; blocks follow each other in a layer, since each needs those before.

        Args:
            u: The coordinates of all blocks.
            condition: The condition's features.
        """

        def apply(u, layer: Layer):
            def move_back(place, parts):
                return [
                    jax.lax.cond(
                        layer.order[i] == place,
                        lambda i=i: self._moves[i].inverse(
                            self._parameters(i, parts, layer, condition), parts[i]
                        ),
                        lambda i=i: parts[i],
                    )
                    for i in range(len(parts))
                ]

            parts = jax.lax.fori_loop(0, len(self.blocks), move_back, self._split(u))
            inverse = tuple(jnp.linalg.inv(matrix) for matrix in layer.matrices)
            return jnp.concatenate(self._apply_matrices(parts, inverse)[0]), None

        return jax.lax.scan(apply, u, self._layers(), reverse=True)[0]

    @property
    def _moves(self) -> list[AbstractMove]:
        return [move_for(block, self.bins) for block in self.blocks]

    def _layers(self) -> Layer:
        """The layers, with a leading axis in every array."""
        matrices = tuple(
            jax.vmap(lambda q, a: q @ invertible(a))(paramax.unwrap(frame), linear)
            for frame, linear in zip(self.frames, self.linear, strict=True)
        )
        return Layer(eqx.filter(self.networks, eqx.is_array), matrices, self.orders)

    def _parameters(
        self, i: int, parts: list[Array], layer: Layer, condition: Condition | None
    ) -> Raw:
        """Evaluate the network of block i on what its move may depend on."""
        network = self._network(i, layer)
        seen = self._seen(i, parts, layer, condition)
        move = self._moves[i]
        if not isinstance(move, AxisMove):
            return network(seen)
        parts = [-part if i == j else part for j, part in enumerate(parts)]
        return network(seen) + move.mirror(network(self._seen(i, parts, layer, condition)))

    def _seen(
        self, i: int, parts: list[Array], layer: Layer, condition: Condition | None
    ) -> Float[Array, " f"]:
        """What the parameters of block i may depend on."""
        seen = [jnp.ones(1, parts[0].dtype), *([] if condition is None else [condition])]
        for j, (move, part) in enumerate(zip(self._moves, parts, strict=True)):
            own = move.own(part) if i == j else jnp.zeros(move.own_count, part.dtype)
            is_earlier = layer.order[j] < layer.order[i]
            seen += [own, jnp.where(is_earlier, move.shown(part), 0)]
        return jnp.concatenate(seen)

    def _network(self, i: int, layer: Layer) -> eqx.nn.MLP:
        static = eqx.filter(self.networks, eqx.is_array, inverse=True)
        return eqx.combine(jax.tree.map(lambda a: a[i], layer.networks), static)

    def _split(self, x: Point) -> list[Array]:
        return jnp.split(x, np.cumsum([block.size for block in self.blocks])[:-1])

    def _apply_matrices(
        self, parts: list[Array], matrices: tuple[Array, ...]
    ) -> tuple[list[Array], Scalar]:
        """Map each unit vector x to Ax/‖Ax‖; log |du/dx| = log |det A| − m log ‖Ax‖."""
        left, moved = iter(matrices), []
        log_stretch = jnp.zeros((), parts[0].dtype)
        for block, part in zip(self.blocks, parts, strict=True):
            if block.is_unit_vector:
                matrix = next(left)
                part = matrix @ part
                norm = safe_norm(part)
                log_stretch += jnp.linalg.slogdet(matrix)[1] - block.size * jnp.log(norm)
                part = part / norm
            moved.append(part)
        return moved, log_stretch


def invertible(raw: Float[Array, "m m"]) -> Float[Array, "m m"]:
    """Return LU of unconstrained numbers, the identity of zeros: L has ones on its diagonal."""
    lower = jnp.eye(len(raw), dtype=raw.dtype) + jnp.tril(raw, -1)
    upper = jnp.diag(jnp.exp(jnp.diagonal(raw))) + jnp.triu(raw, 1)
    return lower @ upper


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


def _random_frames(key: PRNGKeyArray, layers: int, size: int) -> Float[Array, "layers m m"]:
    """Uniform random orthogonal matrices."""
    rng = np.random.default_rng(np.asarray(jax.random.key_data(key)))
    q, r = np.linalg.qr(rng.standard_normal((layers, size, size)))
    return jnp.asarray(q * np.sign(np.diagonal(r, axis1=1, axis2=2))[:, None], jnp.float32)


def _random_orders(key: PRNGKeyArray, layers: int, count: int) -> Int[Array, "layers blocks"]:
    """The given order, its reverse, and then random ones: two layers already mix all blocks."""
    forward = np.arange(count)
    rng = np.random.default_rng(np.asarray(jax.random.key_data(key)))
    orders = [forward, forward[::-1], *(rng.permutation(count) for _ in range(2, layers))]
    return jnp.asarray(np.stack(orders[:layers]), jnp.int32)
