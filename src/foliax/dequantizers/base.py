"""The interface of dequantization densities q(z | y), and that of their descriptions."""

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
"""Noise in (0, 1)^k: independent uniforms to sample, a low-discrepancy set to integrate."""
BISECTION_STEPS = 40
"""Halvings of an interval, which exhaust the digits of float32."""


class AbstractDequantizer(eqx.Module):
    """A density q(z | y) in dz, conditioned on the manifold's features of y."""

    @abc.abstractmethod
    def transform(self, features: Features, v: Uniforms) -> Aux:
        """Map noise to z.

        Args:
            features: The features of y.
            v: Noise in (0, 1)^k.

        Returns:
            z, distributed as q(· | y) for uniform v, and differentiable in the parameters.
        """

    @abc.abstractmethod
    def noise(self, features: Features, z: Aux) -> Uniforms:
        """Map z to noise: the inverse of `transform`."""

    @abc.abstractmethod
    def log_prob(self, features: Features, z: Aux) -> Float[Array, ""]:
        """Compute log q(z | y)."""


class AbstractDequantizerSpec(abc.ABC):
    """The description of a dequantization density: a frozen dataclass of numbers and strings."""

    @abc.abstractmethod
    def build(
        self, dequantization: AbstractDequantization, *, condition_size: int = 0, key: PRNGKeyArray
    ) -> AbstractDequantizer:
        """Build the density on the dequantization's auxiliary set, before training.

        Args:
            dequantization: The dequantization whose z the density is for.
            key: Initialises the networks.

        Returns:
            The density.

        Raises:
            ValueError: The family is for another set of z.
        """


def feature_count(manifold: AbstractManifold) -> int:
    """Count the features of a point, which are the inputs of networks."""
    return jax.eval_shape(manifold.features, jax.ShapeDtypeStruct((manifold.size,), float)).shape[0]


def network(
    features: int, out: Float[Array, " o"], width: int, depth: int, *, key: PRNGKeyArray
) -> eqx.nn.MLP:
    """Build a ReLU network whose output starts near a constant.

    Args:
        features: The number of inputs.
        out: The constant.
        width: The width of the hidden layers.
        depth: The number of hidden layers.
        key: Initialises the weights.

    Returns:
        The network.
    """
    net = eqx.nn.MLP(features, len(out), width, depth, key=key)
    return eqx.tree_at(
        lambda n: (n.layers[-1].weight, n.layers[-1].bias),
        net,
        (net.layers[-1].weight * 0.1, out),
    )


def check_kind(dequantization: AbstractDequantization, kind: str, family: str) -> None:
    """Raise `ValueError` if z has coordinates of another kind than a family is for."""
    others = sorted(set(dequantization.auxiliary.kinds) - {kind})
    if others:
        raise ValueError(
            f"{family} is a density for {kind} z, but the z of {type(dequantization).__name__} has "
            f"{' and '.join(others)} coordinates. Use HeavyTailed, Normal or ConditionalFlow."
        )


def inverse_softplus(value: Float[Array, ...]) -> Float[Array, ...]:
    """Compute the a with softplus(a) = value."""
    return value + jnp.log(-jnp.expm1(-value))


def solve_quantile(
    cdf: Callable[[Array], Array],
    log_pdf: Callable[[Array], Array],
    v: Float[Array, " k"],
    *,
    low: float,
    high: float,
) -> Float[Array, " k"]:
    """Solve cdf(t) = v for t in (low, high) by bisection, with the implicit gradient.

    A Newton step from the solution, held constant, keeps the solution's value. Through the cdf it
    has the derivative −∂cdf/pdf in the parameters.

    Args:
        cdf: The distribution function of each coordinate.
        log_pdf: Its log density.
        v: The probabilities.
        low: The lower end of the search.
        high: The upper end of the search.

    Returns:
        The quantiles t.
    """

    def halve(_, bracket):
        below, above = bracket
        middle = (below + above) / 2
        left = cdf(middle) < v
        return jnp.where(left, middle, below), jnp.where(left, above, middle)

    start = (jnp.full_like(v, low), jnp.full_like(v, high))
    below, above = jax.lax.stop_gradient(jax.lax.fori_loop(0, BISECTION_STEPS, halve, start))
    t = jax.lax.stop_gradient((below + above) / 2)
    gap = cdf(t) - v
    density = jax.lax.stop_gradient(jnp.exp(log_pdf(t)))
    # The value stays that of the bisection; the step only adds its gradient.
    return t - (gap - jax.lax.stop_gradient(gap)) / jnp.maximum(density, jnp.finfo(v.dtype).tiny)
