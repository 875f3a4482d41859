"""Autoregressive splines on products of spheres, circles and lines.

Rows, if there are several, are on the last axis of every array: a processor then works on many at
once, and a training step takes half as long as with rows first.
"""

from __future__ import annotations

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import paramax
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray, PyTree

from ...manifolds.base import safe_norm
from ...manifolds.cover import Block
from ...registry import storable
from .moves import AbstractMove, AxisMove, Raw, build_spline, move_for, parameter_count
from .networks import Sizes, evaluate_networks, start_networks
from .spline import Ends, Move

Point = Float[Array, "m *rows"]
Scalar = Float[Array, "*rows"]
Condition = Float[Array, "c *rows"]


class Layer(NamedTuple):
    """The arrays of one layer.

    Attributes:
        networks: The parameters of one network for each block.
        matrices: A matrix for each unit vector. It comes first, and chooses the axis of the height.
        log_det: The sum of their log |det|.
        order: The place of each block in the order of the moves.
    """

    networks: PyTree
    matrices: tuple[Array, ...]
    log_det: Float[Array, ""]
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

        moves = self._moves

        def apply(carry, layer: Layer):
            x, log_stretch = carry
            parts, more = self._apply_matrices(self._split(x), layer.matrices)
            more += layer.log_det
            raw = self._all_parameters(parts, layer, condition)
            ends = [move.ends(r, part) for move, r, part in zip(moves, raw, parts, strict=True)]
            found = _spline_moves(raw, jax.tree.map(lambda *e: jnp.stack(e), *ends), moves)
            placed = [
                move.place(raw[i], part, jax.tree.map(lambda a, i=i: a[i], found))
                for i, (move, part) in enumerate(zip(moves, parts, strict=True))
            ]
            u, stretches = zip(*placed, strict=True)
            return (jnp.concatenate(u), log_stretch + more + sum(stretches)), None

        return jax.lax.scan(apply, (x, jnp.zeros_like(x[0])), self._layers())[0]

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
        # The diagonals say the determinants; a decomposition would take seconds to compile.
        log_det = jnp.zeros(len(self.orders))
        for linear in self.linear:
            log_det += jnp.trace(linear, axis1=1, axis2=2)
        return Layer(eqx.filter(self.networks, eqx.is_array), matrices, log_det, self.orders)

    def _all_parameters(
        self, parts: list[Array], layer: Layer, condition: Condition | None
    ) -> Float[Array, "blocks p *rows"]:
        """Evaluate the networks of all blocks in one program."""
        seen = self._mask(layer, self._features(parts, condition))
        raw = evaluate_networks(layer.networks, seen)
        axes = {i: move for i, move in enumerate(self._moves) if isinstance(move, AxisMove)}
        if not axes:
            return raw
        which = np.array(list(axes))
        some = jax.tree.map(lambda a: a[which], layer.networks)
        mirrored = evaluate_networks(some, jnp.stack([self._mirror(i, seen[i]) for i in axes]))
        more = [move.mirror(found) for move, found in zip(axes.values(), mirrored, strict=True)]
        return raw.at[which].add(jnp.stack(more))

    def _parameters(
        self, i: int, parts: list[Array], layer: Layer, condition: Condition | None
    ) -> Raw:
        """Evaluate the network of block i on what its move may depend on."""
        networks = jax.tree.map(lambda a: a[i : i + 1], layer.networks)
        seen = self._mask(layer, self._features(parts, condition))[i]
        raw = evaluate_networks(networks, seen[None])[0]
        move = self._moves[i]
        if not isinstance(move, AxisMove):
            return raw
        return raw + move.mirror(evaluate_networks(networks, self._mirror(i, seen)[None])[0])

    def _features(self, parts: list[Array], condition: Condition | None) -> Float[Array, "f *rows"]:
        """All features: 1, the condition's, and each block's own and shown ones."""
        found = [jnp.ones_like(parts[0][:1]), *([] if condition is None else [condition])]
        for move, part in zip(self._moves, parts, strict=True):
            found += [move.own(part), move.shown(part)]
        return jnp.concatenate(found)

    def _owners(self) -> tuple[Int[np.ndarray, " f"], Bool[np.ndarray, " f"]]:
        """The block of each feature after the condition's, and whether it is one of its own."""
        blocks, is_own = [], []
        for i, move in enumerate(self._moves):
            blocks += [i] * (move.own_count + move.shown_count)
            is_own += [True] * move.own_count + [False] * move.shown_count
        return np.array(blocks), np.array(is_own)

    def _mask(
        self, layer: Layer, features: Float[Array, "f *rows"]
    ) -> Float[Array, "blocks f *rows"]:
        """What each block's parameters may depend on; other features are 0."""
        owner, is_own = self._owners()
        block = np.arange(len(self.blocks))[:, None]
        is_earlier = layer.order[owner] < layer.order[:, None]
        seen = jnp.where(is_own, owner == block, is_earlier).astype(features.dtype)
        always = jnp.ones((len(self.blocks), len(features) - len(owner)), features.dtype)
        mask = jnp.concatenate([always, seen], axis=1)
        return mask.reshape(*mask.shape, *(1,) * (features.ndim - 1)) * features

    def _mirror(self, i: int, seen: Float[Array, "f *rows"]) -> Float[Array, "f *rows"]:
        """What the network of axis i sees where its vector has the other sign."""
        owner, is_own = self._owners()
        sign = np.where(is_own & (owner == i), -1.0, 1.0).astype(np.float32)
        sign = np.concatenate([np.ones(len(seen) - len(sign), np.float32), sign])
        return seen * sign.reshape(-1, *(1,) * (seen.ndim - 1))

    def _split(self, x: Point) -> list[Array]:
        return jnp.split(x, np.cumsum([block.size for block in self.blocks])[:-1])

    def _apply_matrices(
        self, parts: list[Array], matrices: tuple[Array, ...]
    ) -> tuple[list[Array], Scalar]:
        """Map each unit vector x to Ax/‖Ax‖; return log |du/dx| − log |det A| = −Σ m log ‖Ax‖."""
        left, moved = iter(matrices), []
        log_stretch = jnp.zeros_like(parts[0][0])
        for block, part in zip(self.blocks, parts, strict=True):
            if block.is_unit_vector:
                matrix = next(left)
                part = matrix @ part
                norm = safe_norm(part)
                log_stretch -= block.size * jnp.log(norm)
                part = part / norm
            moved.append(part)
        return moved, log_stretch


def invertible(raw: Float[Array, "m m"]) -> Float[Array, "m m"]:
    """Return LU of unconstrained numbers, the identity of zeros: L has ones on its diagonal."""
    lower = jnp.eye(len(raw), dtype=raw.dtype) + jnp.tril(raw, -1)
    upper = jnp.diag(jnp.exp(jnp.diagonal(raw))) + jnp.triu(raw, 1)
    return lower @ upper


def _spline_moves(
    raw: Float[Array, "blocks p *rows"], ends: Ends, moves: list[AbstractMove]
) -> Move:
    """Move the numbers of all blocks by their splines, in one program."""
    is_circular = np.array([move.is_circular for move in moves])
    bins = moves[0].bins

    def one(raw, ends, is_circular):
        return build_spline(raw, bins, is_circular).forward(ends)

    return jax.vmap(one)(raw, ends, is_circular)


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
