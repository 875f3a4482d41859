"""The vector field of the ODE flows: a tanh network f(t, x), its Jacobian and divergence."""

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Float, PRNGKeyArray

from foliax.flows.adapter import near_identity
from foliax.registry import storable

EXACT_DIM = 16
"""The dimension up to which the divergence is exact for every depth of the network."""


@storable("ambient.TanhField")
class TanhField(eqx.Module):
    """f(t, x) = W_n tanh(… tanh(W_1 (x, t) + b_1) …) + b_n, from R^{m+1} to R^m.

    Args:
        dim: The number of coordinates m of x.
        width: The width of the hidden layers.
        depth: The number of hidden layers.
        key: Initialises the weights.
    """

    layers: tuple[eqx.nn.Linear, ...]

    def __init__(self, dim: int, width: int, depth: int, *, key: PRNGKeyArray):
        mlp = eqx.nn.MLP(dim + 1, dim, width, depth, key=key)
        self.layers = near_identity(mlp, 0.1).layers

    @property
    def dim(self) -> int:
        """The number of coordinates m of x."""
        return int(self.layers[-1].out_features)

    def __call__(self, t: Float[Array, ""], x: Float[Array, " m"]) -> Float[Array, " m"]:
        """Compute f(t, x)."""
        h = jnp.append(x, t)
        for layer in self.layers[:-1]:
            h = jnp.tanh(layer(h))
        return self.layers[-1](h)

    def value_and_tangents(
        self, t: Float[Array, ""], x: Float[Array, " m"], tangents: Float[Array, "k m"]
    ) -> tuple[Float[Array, " m"], Float[Array, "k m"]]:
        """Compute f(t, x), and ∂f/∂x · v for each row v, by one matrix product per layer."""
        h, v = jnp.append(x, t), jnp.pad(tangents, ((0, 0), (0, 1)))
        for layer in self.layers[:-1]:
            h = jnp.tanh(layer(h))
            v = (v @ layer.weight.T) * (1 - h**2)
        return self.layers[-1](h), v @ self.layers[-1].weight.T

    def value_and_divergence(
        self, t: Float[Array, ""], x: Float[Array, " m"], probe: Float[Array, " m"]
    ) -> tuple[Float[Array, " m"], Float[Array, ""]]:
        """Compute f(t, x) and tr ∂f/∂x.

        With two hidden layers tr(W₃ D₂ W₂ D₁ W₁) = d₂ᵀ (W₂ ∘ (W₁ W₃)ᵀ) d₁, d = 1 − tanh², costs one
        matrix product in any dimension. Otherwise forward mode is used up to `EXACT_DIM`, and above
        it Hutchinson's estimate vᵀ ∂f/∂x v with E vvᵀ = I.

        Args:
            t: The time.
            x: The point.
            probe: The v of Hutchinson's estimate, used only if `is_stochastic`.

        Returns:
            The value and the divergence.
        """
        if len(self.layers) == 3:
            return self._closed_form(t, x)
        if self.is_stochastic():
            value, tangent = self.value_and_tangents(t, x, probe[None])
            return value, tangent[0] @ probe
        value, tangents = self.value_and_tangents(t, x, jnp.eye(self.dim, dtype=x.dtype))
        return value, jnp.trace(tangents)

    def is_stochastic(self) -> bool:
        """Whether the divergence is Hutchinson's estimate and not exact."""
        return len(self.layers) != 3 and self.dim > EXACT_DIM

    def _closed_form(
        self, t: Float[Array, ""], x: Float[Array, " m"]
    ) -> tuple[Float[Array, " m"], Float[Array, ""]]:
        first, second, last = self.layers
        h1 = jnp.tanh(first(jnp.append(x, t)))
        h2 = jnp.tanh(second(h1))
        trace = second.weight * (first.weight[:, :-1] @ last.weight).T
        return last(h2), (1 - h2**2) @ (trace @ (1 - h1**2))


def probe_from_bits(x: Float[Array, " m"]) -> Float[Array, " m"]:
    """Draw random signs from the bits of x.

    So `log_prob` stays a function of x, and training cannot adapt to fixed signs.
    """
    bits = jax.lax.bitcast_convert_type(jax.lax.stop_gradient(x), jnp.uint32).ravel()
    key, _ = jax.lax.scan(lambda key, word: (jr.fold_in(key, word), None), jr.key(0), bits)
    return jr.rademacher(key, x.shape, x.dtype)
