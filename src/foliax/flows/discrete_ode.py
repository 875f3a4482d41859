"""Discrete flow: the steps of an ODE solver as layers with exact Jacobians."""

import dataclasses
from collections.abc import Callable
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import optimistix as optx
from jaxtyping import Array, Float, PRNGKeyArray

from foliax.flows.base import AbstractAmbient, Condition
from foliax.flows.determinant import log_determinant
from foliax.flows.field import TanhField
from foliax.flows.spec import AbstractAmbientSpec
from foliax.registry import storable


@storable("ambient.DiscreteFlow")
class DiscreteFlow(AbstractAmbient):
    """N midpoint steps x ↦ x + h f(t + h/2, x + h/2 f(t, x)), h = 1/N, from data to N(0, I).

    log p(x) = log N(x_N) + Σ log det(∂step/∂x) is exact for the computed map, so training cannot
    exploit the error of a step. cost = Σ h |f|² / m. The map is a bijection while each step's
    determinant is positive, which the barrier of `log_determinant` ensures. `sample` inverts by
    Newton's method.

    Args:
        field: The vector field f.
        steps: The number of steps N.
    """

    field: TanhField
    steps: int = eqx.field(static=True)
    dim: int = eqx.field(static=True)

    def __init__(self, field: TanhField, *, steps: int):
        self.field, self.steps, self.dim = field, steps, field.dim

    def log_prob_and_cost(
        self, x: Float[Array, " m"], condition: Condition = None
    ) -> tuple[Float[Array, ""], Float[Array, ""]]:
        """Log density at x, and the kinetic cost of the way to the base."""

        def layer(state, t):
            x, log_volume, cost = state
            x, jacobian, velocity = self._step_and_jacobian(t, x)
            cost = cost + jnp.mean(velocity**2) / self.steps
            log_volume = log_volume + log_determinant(jacobian)
            return (x, log_volume, cost), None

        zero = jnp.zeros((), x.dtype)
        start = (x, zero, zero)
        (x1, log_volume, cost), _ = jax.lax.scan(layer, start, self._times(x.dtype))
        log_normal = -0.5 * jnp.sum(x1**2) - 0.5 * self.dim * jnp.log(2 * jnp.pi)
        return log_normal + log_volume, cost

    def sample(self, *, condition: Condition = None, key: PRNGKeyArray) -> Float[Array, " m"]:
        """One draw: a normal, taken back through the steps."""
        dtype = self.field.layers[0].weight.dtype
        x1 = jr.normal(key, (self.dim,), dtype)
        return jax.lax.scan(
            lambda x, t: (self._invert_step(t, x), None), x1, self._times(dtype), reverse=True
        )[0]

    def _times(self, dtype) -> Float[Array, " n"]:
        return jnp.arange(self.steps, dtype=dtype) / self.steps

    def _step(self, t: Float[Array, ""], x: Float[Array, " m"]) -> Float[Array, " m"]:
        h = 1 / self.steps
        return x + h * self.field(t + h / 2, x + h / 2 * self.field(t, x))

    def _step_and_jacobian(
        self, t: Float[Array, ""], x: Float[Array, " m"]
    ) -> tuple[Float[Array, " m"], Float[Array, "m m"], Float[Array, " m"]]:
        """Compute the step, its transposed Jacobian (rows are tangents), and the velocity."""
        h, eye = 1 / self.steps, jnp.eye(self.dim, dtype=x.dtype)
        slope, tangents = self.field.value_and_tangents(t, x, eye)
        velocity, tangents = self.field.value_and_tangents(
            t + h / 2, x + h / 2 * slope, eye + h / 2 * tangents
        )
        return x + h * velocity, eye + h * tangents, velocity

    def _invert_step(self, t: Float[Array, ""], y: Float[Array, " m"]) -> Float[Array, " m"]:
        h = 1 / self.steps
        guess = y - h * self.field(t + h / 2, y - h / 2 * self.field(t + h, y))
        return invert(lambda x: self._step(t, x), y, guess)


def invert(
    step: Callable[[Float[Array, " m"]], Float[Array, " m"]],
    y: Float[Array, " m"],
    guess: Float[Array, " m"],
) -> Float[Array, " m"]:
    """Solve step(x) = y by Newton's method.

    Args:
        step: The map.
        y: Its value.
        guess: Where to start.

    Returns:
        x.

    Raises:
        EquinoxRuntimeError: The method does not converge.
    """
    tol = 50 * float(jnp.finfo(y.dtype).eps)
    solver = optx.Newton(rtol=tol, atol=tol)
    x = optx.root_find(lambda x, _: step(x) - y, solver, guess, max_steps=64, throw=False).value
    residual = jnp.max(jnp.abs(step(x) - y))
    return eqx.error_if(
        x,
        ~(residual <= 10 * tol * (1 + jnp.max(jnp.abs(y)))),
        "A step of the flow could not be inverted while sampling. Use more steps, or a larger "
        "weight of the path cost in training.",
    )


@storable("ambient.DiscreteODE")
@dataclasses.dataclass(frozen=True)
class DiscreteODE(AbstractAmbientSpec):
    """Midpoint steps of an ODE dx/dt = f(t, x), with f a tanh network.

    Args:
        width: The width of the hidden layers.
        depth: The number of hidden layers.
        steps: The number of steps.
    """

    uses_solver: ClassVar[bool] = True

    width: int = 64
    depth: int = 2
    steps: int = 8

    def _build(self, dim: int, *, condition_size: int, key: PRNGKeyArray) -> AbstractAmbient:
        field = TanhField(dim, self.width, self.depth, key=key)
        return DiscreteFlow(field, steps=self.steps)
