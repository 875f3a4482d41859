"""q(z | y) by a conditional flow."""

from __future__ import annotations

import dataclasses
import math

import equinox as eqx
import jax
import jax.numpy as jnp
from flowjax.bijections import AbstractBijection
from flowjax.distributions import Normal as StandardNormal
from flowjax.flows import masked_autoregressive_flow
from jax.scipy.special import ndtr, ndtri
from jaxtyping import Array, Float, PRNGKeyArray
from paramax import unwrap

from ..flows.transformers import SplineTransformer, use_transformer
from ..manifolds import AbstractDequantization
from ..manifolds.auxiliary import Auxiliary
from ..registry import storable
from .base import (
    AbstractDequantizer,
    AbstractDequantizerSpec,
    Aux,
    Features,
    Uniforms,
    feature_count,
)
from .location_scale import INITIAL_SCALES, invert_tails, stretch_tails

INITIAL_SHRINKAGE = 0.3
"""The factor of the initial parameters, so that the flow starts near the identity."""


@storable("dequantizers.FlowDequantizer")
class FlowDequantizer(AbstractDequantizer):
    """u = scale·m + tail(m), m = flow(n; y), with n standard normal and splines within ±interval.

    Outside the interval the flow is the identity, so the tails are those of `HeavyTailed`.
    """

    bijection: AbstractBijection
    auxiliary: Auxiliary

    def transform(self, features: Features, v: Uniforms) -> Aux:
        m = self._flow().transform(ndtri(v), features)
        return self.auxiliary.constrain(self._scales() * m + stretch_tails(m, self.auxiliary))[0]

    def noise(self, features: Features, z: Aux) -> Uniforms:
        m, _ = invert_tails(self.auxiliary.unconstrain(z), self._scales(), self.auxiliary)
        return ndtr(self._flow().inverse(m, features))

    def log_prob(self, features: Features, z: Aux) -> Float[Array, ""]:
        u = self.auxiliary.unconstrain(z)
        m, log_stretch = invert_tails(u, self._scales(), self.auxiliary)
        n, log_det = self._flow().inverse_and_log_det(m, features)
        log_normal = -0.5 * (n**2).sum() - len(u) / 2 * math.log(2 * math.pi)
        return log_normal + log_det - log_stretch - self.auxiliary.constrain(u)[1]

    def _flow(self) -> AbstractBijection:
        return unwrap(self.bijection)

    def _scales(self) -> Float[Array, " k"]:
        return jnp.array([INITIAL_SCALES[kind] for kind in self.auxiliary.kinds])


@storable("dequantizers.ConditionalFlow")
@dataclasses.dataclass(frozen=True)
class ConditionalFlow(AbstractDequantizerSpec):
    """Autoregressive rational-quadratic splines conditioned on y, for densities of any shape.

    Durkan et al. 2019, Neural Spline Flows.

    Args:
        layers: The number of autoregressive layers. One suffices for few coordinates of z.
        width: The width of the hidden layers.
        depth: The number of hidden layers.
        knots: The number of knots of each spline.
        interval: Splines act within ±interval, in standard deviations.
    """

    layers: int = 1
    width: int = 16
    depth: int = 1
    knots: int = 6
    interval: float = 4.0

    def build(
        self, dequantization: AbstractDequantization, *, condition_size: int = 0, key: PRNGKeyArray
    ) -> FlowDequantizer:
        transformer = SplineTransformer.build(self.knots, self.interval)
        flow = masked_autoregressive_flow(
            key,
            base_dist=StandardNormal(jnp.zeros(dequantization.auxiliary.size)),
            transformer=transformer.initial(),
            cond_dim=feature_count(dequantization.manifold) + condition_size,
            flow_layers=self.layers,
            nn_width=self.width,
            nn_depth=self.depth,
            invert=False,
        )
        small = jax.tree.map(
            lambda leaf: leaf * INITIAL_SHRINKAGE if eqx.is_inexact_array(leaf) else leaf,
            flow.bijection,
        )
        small = use_transformer(small, transformer)
        return FlowDequantizer(small, dequantization.auxiliary)
