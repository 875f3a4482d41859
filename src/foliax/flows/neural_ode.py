"""Continuous flow: an ODE between the data and a normal, solved with error control."""

import dataclasses
from typing import ClassVar

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Float, PRNGKeyArray

from foliax.flows.base import AbstractAmbient, Condition
from foliax.flows.field import TanhField, probe_from_bits
from foliax.flows.spec import AbstractAmbientSpec
from foliax.registry import storable


@storable("ambient.ContinuousFlow")
class ContinuousFlow(AbstractAmbient):
    """dx/dt = f(t, x) from the data at t = 0 to N(0, I) at t = 1.

    log p(x(0)) = log N(x(1)) + ∫ div f dt, cost = ∫ |f|² dt / m. Chen et al. 2018.
    Adaptive steps keep the local error below rtol and atol, both in `log_prob` and in `sample`, so
    that training cannot exploit the errors of a fixed grid.

    Args:
        field: The vector field f.
        rtol: The relative tolerance of a step.
        atol: The absolute tolerance of a step.
        max_steps: The number of steps after which the solver raises an error.
    """

    field: TanhField
    rtol: float = eqx.field(static=True)
    atol: float = eqx.field(static=True)
    max_steps: int = eqx.field(static=True)
    dim: int = eqx.field(static=True)

    def __init__(self, field: TanhField, *, rtol: float, atol: float, max_steps: int):
        self.field, self.dim = field, field.dim
        self.rtol, self.atol, self.max_steps = rtol, atol, max_steps

    def log_prob_and_cost(
        self, x: Float[Array, " m"], condition: Condition = None
    ) -> tuple[Float[Array, ""], Float[Array, ""]]:
        """Log density at x, and the kinetic cost of the way to the base."""
        probe = probe_from_bits(x) if self.field.is_stochastic() else jnp.zeros_like(x)

        def rate(t, state, args):
            value, divergence = self.field.value_and_divergence(t, state[0], probe)
            return value, divergence, jnp.mean(value**2)

        zero = jnp.zeros((), x.dtype)
        x1, log_volume, cost = self._solve(rate, (x, zero, zero), 0.0, 1.0)
        log_normal = -0.5 * jnp.sum(x1**2) - 0.5 * self.dim * jnp.log(2 * jnp.pi)
        return log_normal + log_volume, cost

    def sample(self, *, condition: Condition = None, key: PRNGKeyArray) -> Float[Array, " m"]:
        """One draw: the same ODE run backwards from a normal."""
        x1 = jr.normal(key, (self.dim,), self.field.layers[0].weight.dtype)
        return self._solve(lambda t, x, args: self.field(t, x), x1, 1.0, 0.0)

    def _solve(self, rate, start, t0: float, t1: float):
        solution = diffrax.diffeqsolve(
            diffrax.ODETerm(rate),
            diffrax.Tsit5(),
            t0,
            t1,
            0.1 * (t1 - t0),
            start,
            stepsize_controller=diffrax.PIDController(rtol=self.rtol, atol=self.atol),
            max_steps=self.max_steps,
            throw=False,
        )
        assert solution.ys is not None
        end = jax.tree.map(lambda leaf: leaf[0], solution.ys)
        return eqx.error_if(
            end,
            solution.result != diffrax.RESULTS.successful,
            f"The ODE of the ambient density was not solved within {self.max_steps} steps at rtol "
            f"{self.rtol:g}, atol {self.atol:g}. To fix it, raise max_steps, loosen rtol and atol, "
            "lower the learning rate, or raise the path cost, which keeps the field smooth.",
        )


@storable("ambient.NeuralODE")
@dataclasses.dataclass(frozen=True)
class NeuralODE(AbstractAmbientSpec):
    """A continuous flow dx/dt = f(t, x), with f a tanh network.

    Args:
        width: The width of the hidden layers.
        depth: The number of hidden layers. Two have an exact divergence in any dimension.
        rtol: The relative tolerance of a step.
        atol: The absolute tolerance of a step.
        max_steps: The number of steps after which the solver raises an error.
    """

    uses_solver: ClassVar[bool] = True

    width: int = 64
    depth: int = 2
    rtol: float = 1e-4
    atol: float = 1e-5
    max_steps: int = 256

    def _build(self, dim: int, *, condition_size: int, key: PRNGKeyArray) -> AbstractAmbient:
        field = TanhField(dim, self.width, self.depth, key=key)
        return ContinuousFlow(field, rtol=self.rtol, atol=self.atol, max_steps=self.max_steps)
