"""Residual flow: layers that add gradients of ridge functions, bijective by construction."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import paramax
from jaxtyping import Array, Float, PRNGKeyArray

from foliax.flows.base import AbstractAmbient, Condition
from foliax.flows.determinant import log_determinant_of_positive
from foliax.flows.discrete_ode import invert
from foliax.flows.mixture import MixtureOfGaussians, initial_mixture, mixture_by_em
from foliax.flows.scaled import Scaled
from foliax.flows.spec import AbstractAmbientSpec
from foliax.registry import storable

MAX_CONTRACTION = 0.9
"""The most that negative ridges may subtract from an eigenvalue 1 of a layer's Jacobian."""


@storable("ambient.GradientLayer")
class GradientLayer(eqx.Module):
    """x ↦ e^s ∘ (x + Aᵀ diag(w) tanh(A x + a)) + b, the scaled gradient of a convex function.

    Its Jacobian e^s (I + Aᵀ diag(w (1 − tanh²)) A) is symmetric up to e^s. Negative weights are
    shrunk until Σ |w_k| |A_k|² < `MAX_CONTRACTION`. So eigenvalues exceed 1 − `MAX_CONTRACTION`,
    and no fold can occur.

    Args:
        dim: The number of coordinates m.
        width: The number of ridges h.
        key: Initialises the ridges.
    """

    # Stacked layers have an axis in front.
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

    def bounded_weights(self) -> Float[Array, " h"]:
        """Shrink negative weights by c / (c + Σ |w_k| |A_k|²), with c = `MAX_CONTRACTION`."""
        pull = jnp.sum(jax.nn.relu(-self.weights) * jnp.sum(self.directions**2, axis=1))
        shrunk = self.weights * (MAX_CONTRACTION / (MAX_CONTRACTION + pull))
        return jnp.where(self.weights < 0, shrunk, self.weights)

    def __call__(self, x: Float[Array, " m"]) -> Float[Array, " m"]:
        """Compute the layer's value."""
        h = jnp.tanh(self.directions @ x + self.offsets)
        return jnp.exp(self.log_scale) * (x + (self.bounded_weights() * h) @ self.directions) + (
            self.shift
        )

    def value_and_log_det(
        self, x: Float[Array, " m"]
    ) -> tuple[Float[Array, " m"], Float[Array, ""]]:
        """Compute the layer's value, and the log determinant of its Jacobian."""
        a, w, m = self.directions, self.bounded_weights(), len(x)
        h = jnp.tanh(a @ x + self.offsets)
        value = jnp.exp(self.log_scale) * (x + (w * h) @ a) + self.shift
        # Σ_k w_k (1 − h_k²) A_k A_kᵀ as one matrix product for the whole batch.
        ridges = (w[:, None, None] * a[:, :, None] * a[:, None, :]).reshape(len(h), -1)
        jacobian = jnp.eye(m, dtype=x.dtype) + ((1 - h**2) @ ridges).reshape(m, m)
        return value, log_determinant_of_positive(jacobian) + jnp.sum(self.log_scale)


@storable("ambient.ResidualFlow")
class ResidualFlow(AbstractAmbient):
    """A chain of `GradientLayer` from the data to the base, with the exact determinant.

    It is an Euler discretisation of an ODE with a new gradient field at each step. A layer of width
    h costs h m² instead of h² m. cost = N Σ |Δx|² / m for N layers. `sample` inverts by Newton's
    method.

    Args:
        layers: All layers, stacked.
        base: The base density.
    """

    layers: GradientLayer
    base: MixtureOfGaussians
    dim: int = eqx.field(static=True)

    def __init__(self, layers: GradientLayer, base: MixtureOfGaussians):
        self.layers, self.base, self.dim = layers, base, base.dim

    def log_prob_and_cost(
        self, x: Float[Array, " m"], condition: Condition = None
    ) -> tuple[Float[Array, ""], Float[Array, ""]]:
        """Log density at x, and the kinetic cost of the way to the base."""
        count = len(self.layers.shift)

        def step(state, layer):
            x, log_volume, cost = state
            value, log_det = layer.value_and_log_det(x)
            return (value, log_volume + log_det, cost + count * jnp.mean((value - x) ** 2)), None

        zero = jnp.zeros((), x.dtype)
        (x, log_volume, cost), _ = jax.lax.scan(step, (x, zero, zero), self.layers)
        return self.base.log_prob(x) + log_volume, cost

    def sample(self, *, condition: Condition = None, key: PRNGKeyArray) -> Float[Array, " m"]:
        """One draw of the base, taken back through the layers."""

        def step(x, layer):
            guess = (x - layer.shift) * jnp.exp(-layer.log_scale)
            return invert(layer, x, guess), None

        return jax.lax.scan(step, self.base.sample(key=key), self.layers, reverse=True)[0]


@storable("ambient.Residual")
@dataclasses.dataclass(frozen=True)
class Residual(AbstractAmbientSpec):
    """A residual flow of gradient layers over a mixture of Gaussians: a fast ODE.

    The mixture starts at the data and is trained with the layers. With one Gaussian the flow has to
    tear it to fit separate modes, and leaves a bridge of mass between them. Several Gaussians avoid
    that.

    Args:
        layers: The number of layers.
        width: The number of ridges of each layer.
        components: The number of Gaussians of the base.
    """

    layers: int = 8
    width: int = 64
    components: int = 1

    def _build(self, dim: int, *, condition_size: int, key: PRNGKeyArray) -> AbstractAmbient:
        base_key, *keys = jr.split(key, 1 + self.layers)
        layers = jax.vmap(lambda k: GradientLayer(dim, self.width, key=k))(jnp.stack(keys))
        base = initial_mixture(self.components, dim, key=base_key)
        return ResidualFlow(layers, base)

    @property
    def is_multimodal(self) -> bool:
        return self.components > 1

    def initialize_from_data(
        self, ambient: AbstractAmbient, x: Float[Array, "n m"]
    ) -> AbstractAmbient:
        """Fit the base to the points, since the untrained layers hardly move them.

        The density stays as it is if there are no more points than components.
        """
        if self.components == 1 or len(x) <= self.components:
            return ambient
        assert isinstance(ambient, Scaled)
        shift, scale = paramax.unwrap((ambient.shift, ambient.scale))
        base = mixture_by_em(self.components, (x - shift) / scale)
        return eqx.tree_at(lambda flow: flow.inner.base, ambient, base)
