"""Residual flow: gradients of ridge functions added in turn, bijective by construction."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import paramax
from jaxtyping import Array, Float, PRNGKeyArray

from foliax.flows.base import AbstractAmbient, AbstractAmbientSpec
from foliax.flows.determinant import log_determinant_of_positive
from foliax.flows.discrete_ode import inverse_of
from foliax.flows.mixture import MixtureOfGaussians, initial_mixture, mixture_by_em
from foliax.flows.scaled import Scaled
from foliax.registry import storable

SLACK = 0.9
"""How far the negative ridges may pull an eigenvalue of a layer's Jacobian down from 1."""


@storable("ambient.GradientLayer")
class GradientLayer(eqx.Module):
    """x ↦ e^s ∘ (x + Aᵀ diag(w) tanh(A x + a)) + b, the scaled gradient of a convex function.

    Its Jacobian e^s (I + Aᵀ diag(w (1 − tanh²)) A) is symmetric up to e^s; the negative weights are
    shrunk until Σ |w_k| |A_k|² < SLACK, so its eigenvalues exceed 1 − SLACK and no fold can occur.
    """

    # With an axis before for many layers, stacked.
    directions: Float[Array, "... h m"]
    offsets: Float[Array, "... h"]
    weights: Float[Array, "... h"]
    log_scale: Float[Array, "... m"]
    shift: Float[Array, "... m"]

    def __init__(self, dim: int, width: int, *, key: PRNGKeyArray):
        directions_key, offsets_key, weights_key = jr.split(key, 3)
        self.directions = jr.normal(directions_key, (width, dim))
        self.offsets = 2 * jr.normal(offsets_key, (width,))
        self.weights = 0.1 / width * jr.normal(weights_key, (width,))
        self.log_scale = jnp.zeros(dim)
        self.shift = jnp.zeros(dim)

    def safe_weights(self) -> Float[Array, " h"]:
        """The weights, negative ones shrunk by SLACK / (SLACK + Σ |w_k| |A_k|²)."""
        pull = jnp.sum(jax.nn.relu(-self.weights) * jnp.sum(self.directions**2, axis=1))
        return jnp.where(self.weights < 0, self.weights * (SLACK / (SLACK + pull)), self.weights)

    def __call__(self, x: Float[Array, " m"]) -> Float[Array, " m"]:
        """The layer's value."""
        h = jnp.tanh(self.directions @ x + self.offsets)
        return jnp.exp(self.log_scale) * (x + (self.safe_weights() * h) @ self.directions) + (
            self.shift
        )

    def value_and_log_det(
        self, x: Float[Array, " m"]
    ) -> tuple[Float[Array, " m"], Float[Array, ""]]:
        """The layer's value and the log-determinant of its Jacobian."""
        a, w, m = self.directions, self.safe_weights(), len(x)
        h = jnp.tanh(a @ x + self.offsets)
        value = jnp.exp(self.log_scale) * (x + (w * h) @ a) + self.shift
        # Σ_k w_k (1 − h_k²) A_k A_kᵀ as one matrix product for the whole batch
        ridges = (w[:, None, None] * a[:, :, None] * a[:, None, :]).reshape(len(h), -1)
        jacobian = jnp.eye(m, dtype=x.dtype) + ((1 - h**2) @ ridges).reshape(m, m)
        return value, log_determinant_of_positive(jacobian) + jnp.sum(self.log_scale)


@storable("ambient.ResidualFlow")
class ResidualFlow(AbstractAmbient):
    """A chain of :class:`GradientLayer` from the data to the base, with the exact determinant.

    An Euler discretisation of an ODE with a new gradient field at each step, at the price H m² of a
    layer rather than H² m. cost = N Σ |Δx|² / m. ``sample`` inverts by Newton's method.
    """

    layers: GradientLayer
    """All of them, stacked."""
    base: MixtureOfGaussians
    dim: int = eqx.field(static=True)

    def __init__(self, layers: GradientLayer, base: MixtureOfGaussians):
        self.layers, self.base, self.dim = layers, base, base.dim

    def log_prob_and_cost(self, x: Float[Array, " m"]) -> tuple[Float[Array, ""], Float[Array, ""]]:
        """Log density at x, and the kinetic cost of the way to the base."""
        count = len(self.layers.shift)

        def step(state, layer):
            x, log_volume, cost = state
            value, log_det = layer.value_and_log_det(x)
            return (value, log_volume + log_det, cost + count * jnp.mean((value - x) ** 2)), None

        zero = jnp.zeros((), x.dtype)
        (x, log_volume, cost), _ = jax.lax.scan(step, (x, zero, zero), self.layers)
        return self.base.log_prob(x) + log_volume, cost

    def sample(self, *, key: PRNGKeyArray) -> Float[Array, " m"]:
        """One draw of the base, taken back through the layers."""

        def step(x, layer):
            guess = (x - layer.shift) * jnp.exp(-layer.log_scale)
            return inverse_of(layer, x, guess), None

        return jax.lax.scan(step, self.base.sample(key=key), self.layers, reverse=True)[0]


@storable("ambient.Residual")
@dataclasses.dataclass(frozen=True)
class Residual(AbstractAmbientSpec):
    """Residual flow of ``layers`` gradient layers with ``width`` ridges: the fast ODE.

    Its base is a mixture of ``components`` Gaussians, which starts where the data are and is
    trained along. One Gaussian has to be torn where the data are in parts, and leaves a bridge of
    mass between them; several need not be.
    """

    layers: int = 8
    width: int = 64
    components: int = 1

    def build(
        self,
        dim: int,
        *,
        shift: Float[Array, " m"],
        scale: Float[Array, " m"],
        key: PRNGKeyArray,
    ) -> AbstractAmbient:
        """The flow over its base, which starts as N(0, I) or alike."""
        base_key, *keys = jr.split(key, 1 + self.layers)
        layers = jax.vmap(lambda k: GradientLayer(dim, self.width, key=k))(jnp.stack(keys))
        base = initial_mixture(self.components, dim, key=base_key)
        return Scaled(ResidualFlow(layers, base), shift, scale)

    @property
    def is_multimodal(self) -> bool:
        return self.components > 1

    def initialize_from_data(self, ambient: AbstractAmbient, x: Float[Array, "n m"]) -> AbstractAmbient:
        """With the base where the points are: the untrained layers hardly move them.

        As it is, where there are no more points than components.
        """
        if self.components == 1 or len(x) <= self.components:
            return ambient
        assert isinstance(ambient, Scaled)
        shift, scale = paramax.unwrap((ambient.shift, ambient.scale))
        base = mixture_by_em(self.components, (x - shift) / scale)
        return eqx.tree_at(lambda flow: flow.inner.base, ambient, base)
