"""What every dequantization density q(z | y) offers, and what every description of one offers."""

from __future__ import annotations

import abc
from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from ..manifolds import AbstractDequantization, AbstractManifold

Features = Float[Array, " f"]
Aux = Float[Array, " k"]
Uniforms = Float[Array, " k"]
"""Noise in (0, 1)^k: independent uniforms for sampling, a low-discrepancy set for integration."""


class AbstractDequantizer(eqx.Module):
    """A density q(z | y) in dz, that sees y by its manifold's features."""

    @abc.abstractmethod
    def transform(self, features: Features, v: Uniforms) -> Aux:
        """z of uniform noise v: distributed as q(· | y), differentiable in the parameters."""

    @abc.abstractmethod
    def noise(self, features: Features, z: Aux) -> Uniforms:
        """The v of which z is the transform."""

    @abc.abstractmethod
    def log_prob(self, features: Features, z: Aux) -> Float[Array, ""]:
        """log q(z | y)."""


class AbstractDequantizerSpec(abc.ABC):
    """A description of a dequantization density: a frozen dataclass of numbers and strings."""

    @abc.abstractmethod
    def build(
        self, dequantization: AbstractDequantization, *, key: PRNGKeyArray
    ) -> AbstractDequantizer:
        """The density on the dequantization's auxiliary set, before training."""


def feature_count(manifold: AbstractManifold) -> int:
    """How many features networks see."""
    return jax.eval_shape(manifold.features, jax.ShapeDtypeStruct((manifold.size,), float)).shape[0]


def network(
    features: int, out: Float[Array, " o"], width: int, depth: int, *, key: PRNGKeyArray
) -> eqx.nn.MLP:
    """A ReLU network of `depth` hidden layers whose output starts near the constant `out`."""
    net = eqx.nn.MLP(features, len(out), width, depth, key=key)
    return eqx.tree_at(
        lambda n: (n.layers[-1].weight, n.layers[-1].bias),
        net,
        (net.layers[-1].weight * 0.1, out),
    )


def refuse_unless(dequantization: AbstractDequantization, kind: str, family: str) -> None:
    """Raise where a family is for another set of z."""
    others = sorted(set(dequantization.auxiliary.kinds) - {kind})
    if others:
        raise ValueError(
            f"{family} is a density for {kind} z; that of {type(dequantization).__name__} is "
            f"{' and '.join(others)} too. Use HeavyTailed, Normal or ConditionalFlow."
        )


def inverse_softplus(value: Float[Array, ...]) -> Float[Array, ...]:
    """The a with softplus(a) = value."""
    return value + jnp.log(-jnp.expm1(-value))


def solve_quantile(
    cdf: Callable[[Array], Array],
    log_pdf: Callable[[Array], Array],
    v: Float[Array, " k"],
    *,
    low: float,
    high: float,
) -> Float[Array, " k"]:
    """The t in (low, high) with cdf(t) = v, by bisection; its gradient is the implicit one.

    One Newton step from the solution, as a constant, has the solution's value and, through the
    cdf, the derivative −∂cdf/pdf in the parameters.
    """

    def halve(_, bracket):
        below, above = bracket
        middle = (below + above) / 2
        left = cdf(middle) < v
        return jnp.where(left, middle, below), jnp.where(left, above, middle)

    start = (jnp.full_like(v, low), jnp.full_like(v, high))
    below, above = jax.lax.stop_gradient(jax.lax.fori_loop(0, 40, halve, start))
    t = jax.lax.stop_gradient((below + above) / 2)
    gap = cdf(t) - v
    density = jax.lax.stop_gradient(jnp.exp(log_pdf(t)))
    # The bisected value stands: only the gradient of the step is kept.
    return t - (gap - jax.lax.stop_gradient(gap)) / jnp.maximum(density, jnp.finfo(v.dtype).tiny)
