"""q(z | y) by named families: gamma for radii, uniform and beta for positions in a cell."""

from __future__ import annotations

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.scipy.special import betainc, betaln, gammainc, gammaln
from jaxtyping import Array, Float, PRNGKeyArray

from ..manifolds import AbstractDequantization
from ..registry import storable
from .base import (
    AbstractDequantizer,
    AbstractDequantizerSpec,
    Aux,
    Features,
    Uniforms,
    check_kind,
    feature_count,
    inverse_softplus,
    network,
    solve_quantile,
)

MIN_SHAPE = 0.1
"""The smallest parameter of a gamma or beta density, below which quantiles underflow float32."""


@storable("dequantizers.AmortisedGamma")
class AmortisedGamma(AbstractDequantizer):
    """Independent z_i ~ Gamma(a_i(y), rate b_i(y)), which is a power law z^{a−1} as z → 0."""

    net: eqx.nn.MLP

    def transform(self, features: Features, v: Uniforms) -> Aux:
        shape, rate = self._parameters(features)
        log_z = solve_quantile(
            lambda t: gammainc(shape, jnp.exp(t)),
            lambda t: shape * t - jnp.exp(t) - gammaln(shape),
            v,
            low=-60.0,
            high=8.0,
        )
        return jnp.exp(log_z) / rate

    def noise(self, features: Features, z: Aux) -> Uniforms:
        shape, rate = self._parameters(features)
        return gammainc(shape, rate * z)

    def log_prob(self, features: Features, z: Aux) -> Float[Array, ""]:
        shape, rate = self._parameters(features)
        each = shape * jnp.log(rate) + (shape - 1) * jnp.log(z) - rate * z - gammaln(shape)
        return each.sum()

    def _parameters(self, features: Features) -> tuple[Float[Array, " k"], Float[Array, " k"]]:
        shape, rate = jnp.split(jax.nn.softplus(self.net(features)) + MIN_SHAPE, 2)
        return shape, rate


@storable("dequantizers.AmortisedBeta")
class AmortisedBeta(AbstractDequantizer):
    """Independent z_i ~ Beta(a_i(y), b_i(y)) on [0, 1)."""

    net: eqx.nn.MLP

    def transform(self, features: Features, v: Uniforms) -> Aux:
        a, b = self._parameters(features)
        z = solve_quantile(
            lambda t: beta_cdf(a, b, t), lambda t: self._each(a, b, t), v, low=0.0, high=1.0
        )
        info = jnp.finfo(v.dtype)
        return jnp.clip(z, info.tiny, 1 - info.epsneg)

    def noise(self, features: Features, z: Aux) -> Uniforms:
        return beta_cdf(*self._parameters(features), z)

    def log_prob(self, features: Features, z: Aux) -> Float[Array, ""]:
        return self._each(*self._parameters(features), z).sum()

    def _each(self, a, b, z) -> Float[Array, " k"]:
        return (a - 1) * jnp.log(z) + (b - 1) * jnp.log1p(-z) - betaln(a, b)

    def _parameters(self, features: Features) -> tuple[Float[Array, " k"], Float[Array, " k"]]:
        a, b = jnp.split(jax.nn.softplus(self.net(features)) + MIN_SHAPE, 2)
        return a, b


@jax.custom_jvp
def beta_cdf(
    a: Float[Array, " k"], b: Float[Array, " k"], t: Float[Array, " k"]
) -> Float[Array, " k"]:
    """Compute the regularised incomplete beta function, differentiable in a and b too.

    JAX has no derivative in a and b. Central differences replace it, with the step that balances
    truncation and rounding.
    """
    return betainc(a, b, t)


@beta_cdf.defjvp
def _beta_cdf_jvp(primals, tangents):
    (a, b, t), (da, db, dt) = primals, tangents
    h = float(jnp.finfo(t.dtype).eps) ** (1 / 3)
    by_a = (betainc(a * (1 + h), b, t) - betainc(a * (1 - h), b, t)) / (2 * h * a)
    by_b = (betainc(a, b * (1 + h), t) - betainc(a, b * (1 - h), t)) / (2 * h * b)
    by_t = jnp.exp((a - 1) * jnp.log(t) + (b - 1) * jnp.log1p(-t) - betaln(a, b))
    return betainc(a, b, t), by_a * da + by_b * db + by_t * dt


@storable("dequantizers.UniformCells")
class UniformCells(AbstractDequantizer):
    """z uniform on [0, 1)^k for every y: the classical dequantization of counts; also for k = 0."""

    def transform(self, features: Features, v: Uniforms) -> Aux:
        return v

    def noise(self, features: Features, z: Aux) -> Uniforms:
        return z

    def log_prob(self, features: Features, z: Aux) -> Float[Array, ""]:
        return jnp.zeros((), z.dtype)


@storable("dequantizers.Gamma")
@dataclasses.dataclass(frozen=True)
class Gamma(AbstractDequantizerSpec):
    """Gamma densities of radii.

    Args:
        width: The width of the hidden layers. Small networks suffice, since only the variance of
            the density's estimate depends on q.
        depth: The number of hidden layers.
    """

    width: int = 16
    depth: int = 2

    def build(
        self, dequantization: AbstractDequantization, *, condition_size: int = 0, key: PRNGKeyArray
    ) -> AmortisedGamma:
        check_kind(dequantization, "positive", "Gamma")
        start = inverse_softplus(jnp.full(2 * dequantization.auxiliary.size, 6.0 - MIN_SHAPE))
        features = feature_count(dequantization.manifold) + condition_size
        return AmortisedGamma(network(features, start, self.width, self.depth, key=key))


@storable("dequantizers.Beta")
@dataclasses.dataclass(frozen=True)
class Beta(AbstractDequantizerSpec):
    """Beta densities of positions within a cell.

    Args:
        width: The width of the hidden layers. Small networks suffice, since only the variance of
            the density's estimate depends on q.
        depth: The number of hidden layers.
    """

    width: int = 16
    depth: int = 2

    def build(
        self, dequantization: AbstractDequantization, *, condition_size: int = 0, key: PRNGKeyArray
    ) -> AmortisedBeta:
        check_kind(dequantization, "unit", "Beta")
        start = inverse_softplus(jnp.full(2 * dequantization.auxiliary.size, 1.0 - MIN_SHAPE))
        features = feature_count(dequantization.manifold) + condition_size
        return AmortisedBeta(network(features, start, self.width, self.depth, key=key))


@storable("dequantizers.Uniform")
@dataclasses.dataclass(frozen=True)
class Uniform(AbstractDequantizerSpec):
    """Uniform positions within a cell, without parameters."""

    def build(
        self, dequantization: AbstractDequantization, *, condition_size: int = 0, key: PRNGKeyArray
    ) -> UniformCells:
        check_kind(dequantization, "unit", "Uniform")
        return UniformCells()
