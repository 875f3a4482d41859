"""Coupling flows with deterministic splits: RealNVP and rational-quadratic splines."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
from flowjax.bijections import AbstractBijection, Chain, Coupling
from jaxtyping import PRNGKeyArray

from foliax.flows.adapter import flow_to_normal, near_identity
from foliax.flows.base import AbstractAmbient
from foliax.flows.spec import AbstractAmbientSpec
from foliax.flows.transformers import (
    AffineTransformer,
    SplineTransformer,
    Transformer,
    use_transformer,
)
from foliax.registry import storable

ACTIVATIONS: dict[str, Callable] = {
    "relu": jax.nn.relu,
    "silu": jax.nn.silu,
    "tanh": jnp.tanh,
}


def find_activation(name: str) -> Callable:
    """Return the activation of a name; raise `ValueError` if there is none."""
    if name not in ACTIVATIONS:
        raise ValueError(f"Unknown activation {name!r}; choose from {sorted(ACTIVATIONS)}.")
    return ACTIVATIONS[name]


@storable("ambient.Roll")
class Roll(AbstractBijection):
    """(x_1, …, x_m) ↦ (x_{k+1}, …, x_m, x_1, …, x_k): coordinates rolled by k = `places`."""

    shape: tuple[int, ...] = eqx.field(static=True)
    places: int = eqx.field(static=True)
    cond_shape: tuple[int, ...] | None = eqx.field(static=True)

    def __init__(self, dim: int, places: int):
        self.shape, self.places, self.cond_shape = (dim,), places, None

    def transform_and_log_det(self, x, condition=None):
        """Roll x; log |det| = 0."""
        return jnp.roll(x, -self.places), jnp.zeros(())

    def inverse_and_log_det(self, y, condition=None):
        """Roll y back; log |det| = 0."""
        return jnp.roll(y, self.places), jnp.zeros(())


def coupling_chain(
    transformer: Transformer,
    spec: RealNVP | SplineCoupling,
    dim: int,
    *,
    condition_size: int,
    key: PRNGKeyArray,
) -> Chain:
    """Build couplings in which some coordinates condition the map of the others.

    In each layer the first `split` coordinates condition the rest, and then all are rolled by
    `split`. So in R³ one coordinate conditions two, and in R⁴ two condition two.

    Args:
        transformer: The map of one coordinate, whose parameters the network gives.
        spec: The number of layers, the split, and the networks' width, depth and activation.
        dim: The number of coordinates m.
        condition_size: The number of condition features that the networks see besides.
        key: Initialises the networks.

    Returns:
        The chain of couplings, from data to base.

    Raises:
        ValueError: One side of the split is empty, or the activation is unknown.
    """
    split = spec.split or dim // 2
    if not 0 < split < dim:
        raise ValueError(
            f"A coupling cannot split {dim} coordinate(s) into {split} and {dim - split}. "
            "In one dimension use GaussianMixture or an ODE."
        )
    activation = find_activation(spec.activation)
    bijections: list[AbstractBijection] = []
    for layer_key in jr.split(key, spec.layers):
        layer = Coupling(
            layer_key,
            transformer=transformer.initial(),
            untransformed_dim=split,
            dim=dim,
            cond_dim=condition_size or None,
            nn_width=spec.width,
            nn_depth=spec.depth,
            nn_activation=activation,
        )
        bijections.append(eqx.tree_at(lambda c: c.conditioner, layer, replace_fn=near_identity))
        bijections.append(Roll(dim, split))
    return use_transformer(Chain(bijections), transformer)


@storable("ambient.RealNVP")
@dataclasses.dataclass(frozen=True)
class RealNVP(AbstractAmbientSpec):
    """Affine couplings x_b ↦ scale(x_a) · x_b + shift(x_a).

    The shift is linear in the network's output, the scale its softplus. Dinh et al. 2017; as used
    by Brofos et al. 2021.

    Args:
        layers: The number of couplings.
        width: The width of the hidden layers.
        depth: The number of hidden layers.
        split: The number of conditioning coordinates; 0 means half of them.
        activation: The activation, one of "relu", "silu" and "tanh".
        min_scale: The smallest scale, which keeps the inverse finite.
    """

    takes_condition: ClassVar[bool] = True
    min_dim: ClassVar[int] = 2

    layers: int = 3
    width: int = 40
    depth: int = 2
    split: int = 0
    activation: str = "relu"
    min_scale: float = 1e-3

    def _build(self, dim: int, *, condition_size: int, key: PRNGKeyArray) -> AbstractAmbient:
        transformer = AffineTransformer.build(self.min_scale)
        chain = coupling_chain(transformer, self, dim, condition_size=condition_size, key=key)
        return flow_to_normal(chain)


@storable("ambient.SplineCoupling")
@dataclasses.dataclass(frozen=True)
class SplineCoupling(AbstractAmbientSpec):
    """Couplings x_b ↦ spline(x_b; x_a) by monotone rational-quadratic splines.

    Durkan et al. 2019, Neural Spline Flows.

    Args:
        layers: The number of couplings.
        width: The width of the hidden layers.
        depth: The number of hidden layers.
        knots: The number of inner knots of each spline.
        interval: Splines act on [−interval, interval] in scaled coordinates, which holds almost all
            data at the default. Outside they are the identity.
        split: The number of conditioning coordinates; 0 means half of them.
        activation: The activation, one of "relu", "silu" and "tanh".
    """

    takes_condition: ClassVar[bool] = True
    min_dim: ClassVar[int] = 2

    layers: int = 3
    width: int = 40
    depth: int = 2
    knots: int = 8
    interval: float = 5.0
    split: int = 0
    activation: str = "relu"

    def _build(self, dim: int, *, condition_size: int, key: PRNGKeyArray) -> AbstractAmbient:
        transformer = SplineTransformer.build(self.knots, self.interval)
        chain = coupling_chain(transformer, self, dim, condition_size=condition_size, key=key)
        return flow_to_normal(chain)
