"""Coupling flows with deterministic splits: RealNVP and rational-quadratic splines."""

import dataclasses
from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
from flowjax.bijections import AbstractBijection, Chain, Coupling
from jaxtyping import Array, Float, PRNGKeyArray

from foliax.flows.adapter import flow_to_normal, near_identity
from foliax.flows.base import AbstractAmbient, AbstractAmbientSpec
from foliax.flows.scaled import Scaled
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


@storable("ambient.Roll")
class Roll(AbstractBijection):
    """(x_1, …, x_m) ↦ (x_{k+1}, …, x_m, x_1, …, x_k): a rotation of the coordinates by k."""

    shape: tuple[int, ...] = eqx.field(static=True)
    places: int = eqx.field(static=True)
    cond_shape: tuple[int, ...] | None = eqx.field(static=True)

    def __init__(self, dim: int, places: int):
        self.shape, self.places, self.cond_shape = (dim,), places, None

    def transform_and_log_det(self, x, condition=None):
        """Rolled x, and log|det| = 0."""
        return jnp.roll(x, -self.places), jnp.zeros(())

    def inverse_and_log_det(self, y, condition=None):
        """Rolled back y, and log|det| = 0."""
        return jnp.roll(y, self.places), jnp.zeros(())


def coupling_chain(
    transformer: Transformer,
    dim: int,
    *,
    layers: int,
    width: int,
    depth: int,
    activation: str,
    split: int,
    condition_size: int = 0,
    key: PRNGKeyArray,
) -> Chain:
    """Couplings in which the first ``split`` coordinates drive the others, then a Roll by split.

    So R^3 goes 1 → 2 and R^4 goes 2 → 2; split = 0 stands for m // 2.
    """
    split = split or dim // 2
    if not 0 < split < dim:
        raise ValueError(
            f"A coupling cannot split {dim} coordinate(s) into {split} and {dim - split}. "
            "In one dimension use GaussianMixture or an ODE."
        )
    if activation not in ACTIVATIONS:
        raise ValueError(f"Unknown activation {activation!r}; choose from {sorted(ACTIVATIONS)}.")
    bijections: list[AbstractBijection] = []
    for layer_key in jr.split(key, layers):
        layer = Coupling(
            layer_key,
            transformer=transformer.initial(),
            untransformed_dim=split,
            dim=dim,
            cond_dim=condition_size or None,
            nn_width=width,
            nn_depth=depth,
            nn_activation=ACTIVATIONS[activation],
        )
        bijections.append(eqx.tree_at(lambda c: c.conditioner, layer, replace_fn=near_identity))
        bijections.append(Roll(dim, split))
    return use_transformer(Chain(bijections), transformer)


@storable("ambient.RealNVP")
@dataclasses.dataclass(frozen=True)
class RealNVP(AbstractAmbientSpec):
    """Affine couplings: x_b ↦ scale(x_a) · x_b + shift(x_a), shift linear, scale softplus.

    Networks have ``depth`` hidden layers of ``width``. The scale is bounded below by
    ``min_scale``, which keeps the inverse finite. Dinh et al. 2017; as used by Brofos et al. 2021.
    """

    layers: int = 3
    width: int = 40
    depth: int = 2
    split: int = 0
    activation: str = "relu"
    min_scale: float = 1e-3

    def build(
        self,
        dim: int,
        *,
        shift: Float[Array, " m"],
        scale: Float[Array, " m"],
        condition_size: int = 0,
        key: PRNGKeyArray,
    ) -> AbstractAmbient:
        """The flow of ``layers`` couplings over N(0, I)."""
        chain = coupling_chain(
            AffineTransformer.build(self.min_scale),
            dim,
            layers=self.layers,
            width=self.width,
            depth=self.depth,
            activation=self.activation,
            split=self.split,
            condition_size=condition_size,
            key=key,
        )
        return Scaled(flow_to_normal(chain), shift, scale)


@storable("ambient.SplineCoupling")
@dataclasses.dataclass(frozen=True)
class SplineCoupling(AbstractAmbientSpec):
    """Couplings x_b ↦ spline(x_b; x_a), monotone rational-quadratic with ``knots`` inner knots.

    Splines act on [−interval, interval] in scaled coordinates and are the identity outside.
    Durkan et al. 2019, Neural Spline Flows.
    """

    layers: int = 3
    width: int = 40
    depth: int = 2
    knots: int = 8
    interval: float = 5.0
    split: int = 0
    activation: str = "relu"

    def build(
        self,
        dim: int,
        *,
        shift: Float[Array, " m"],
        scale: Float[Array, " m"],
        condition_size: int = 0,
        key: PRNGKeyArray,
    ) -> AbstractAmbient:
        """The flow of ``layers`` couplings over N(0, I)."""
        chain = coupling_chain(
            SplineTransformer.build(self.knots, self.interval),
            dim,
            layers=self.layers,
            width=self.width,
            depth=self.depth,
            activation=self.activation,
            split=self.split,
            condition_size=condition_size,
            key=key,
        )
        return Scaled(flow_to_normal(chain), shift, scale)
