"""Neural ODEs on spheres."""

from __future__ import annotations

import functools

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ...manifolds.base import safe_norm
from ...registry import storable
from ..field import TanhField
from .bijections import AbstractBijection, Point, Scalar


def velocity_and_divergence(field: TanhField, t: Scalar, x: Point) -> tuple[Point, Scalar]:
    """Compute the tangent field u − (xᵀu) x at x/‖x‖, and its divergence on the sphere.

    The divergence is Σ_k e_kᵀ ∇u e_k − d xᵀu over an orthonormal basis e of the tangent space.

    Args:
        field: The field u on R^{d+1}.
        t: The time.
        x: The point, on the sphere up to rounding.

    Returns:
        The velocity and the divergence.
    """
    x = x / safe_norm(x)
    basis = tangent_basis(x)
    u, along = field.value_and_tangents(t, x, basis)
    outward = x @ u
    return u - outward * x, (basis * along).sum() - len(basis) * outward


def tangent_basis(x: Point) -> Float[Array, "d size"]:
    """Compute an orthonormal basis of the tangent space at x, by a Householder reflection."""
    v = x.at[-1].add(jnp.where(x[-1] < 0, -1, 1))
    reflection = jnp.eye(len(x), dtype=x.dtype) - jnp.outer(v, v) / (1 + jnp.abs(x[-1]))
    return reflection[:-1]


@storable("rivals.TangentFlow")
class TangentFlow(AbstractBijection):
    """On S^d: x at t = 0 moves to y at t = 1 along dx/dt = u − (xᵀu) x, with u(t, x) a network.

    d log |dy/dx|/dt is the exact divergence on the sphere. The solver chooses its steps by their
    error, so that the density is that of the ODE. Mathieu & Nickel 2020; Lou et al. 2020.

    Args:
        field: The network u.
        rtol: The relative tolerance of a step.
        atol: The absolute tolerance of a step.
        max_steps: The number of steps after which the solver raises an error.
    """

    field: TanhField
    rtol: float = eqx.field(static=True)
    atol: float = eqx.field(static=True)
    max_steps: int = eqx.field(static=True)

    def forward(self, x: Point) -> tuple[Point, Scalar]:
        return self._solve(x, 0.0, 1.0)

    def inverse(self, y: Point) -> tuple[Point, Scalar]:
        return self._solve(y, 1.0, 0.0)

    def accurate(self) -> TangentFlow:
        return self

    def _solve(self, start: Point, t0: float, t1: float) -> tuple[Point, Scalar]:
        def rate(t, state, args):
            return velocity_and_divergence(self.field, t, state[0])

        solution = diffrax.diffeqsolve(
            diffrax.ODETerm(rate),
            diffrax.Tsit5(),
            t0,
            t1,
            0.1 * (t1 - t0),
            (start, jnp.zeros((), start.dtype)),
            stepsize_controller=diffrax.PIDController(rtol=self.rtol, atol=self.atol),
            max_steps=self.max_steps,
            throw=False,
        )
        assert solution.ys is not None
        end, log_stretch = jax.tree.map(lambda leaf: leaf[0], solution.ys)
        end = eqx.error_if(
            end,
            solution.result != diffrax.RESULTS.successful,
            f"The ODE on the sphere was not solved within {self.max_steps} steps at rtol "
            f"{self.rtol:g}, atol {self.atol:g}. To fix it, raise max_steps, loosen rtol and atol, "
            "or lower the learning rate.",
        )
        return end / safe_norm(end), log_stretch


@storable("rivals.GridFlow")
class GridFlow(AbstractBijection):
    """A `TangentFlow` by fixed fourth-order Runge–Kutta steps, which are fast in training.

    Training can exploit the errors of a fixed grid, so each point has its own grid: the nodes
    (i + δ)/steps, where δ comes from low digits of the first coordinate. In addition, log |dy/dx|
    is reduced by cost · ∫‖dx/dt‖² dt, which keeps paths short. No grid can follow a field that
    moves points far in a short time.

    Args:
        flow: The flow to approximate.
        steps: The number of steps.
        cost: The weight of the path's kinetic energy.
    """

    flow: TangentFlow
    steps: int = eqx.field(static=True)
    cost: float = eqx.field(static=True)

    def forward(self, x: Point) -> tuple[Point, Scalar]:
        return self._solve(x, self._times(x))

    def inverse(self, y: Point) -> tuple[Point, Scalar]:
        return self._solve(y, 1 - self._times(y))

    def accurate(self) -> TangentFlow:
        return self.flow

    def _times(self, x: Point) -> Float[Array, " nodes"]:
        delta = jax.lax.stop_gradient(1e4 * x[0]) % 1
        inner = (jnp.arange(self.steps) + delta) / self.steps
        return jnp.concatenate([jnp.zeros(1), inner, jnp.ones(1)]).astype(x.dtype)

    def _solve(self, start: Point, times: Float[Array, " nodes"]) -> tuple[Point, Scalar]:
        def step(state, ends):
            (x, log_stretch), (t0, t1) = state, ends
            h = t1 - t0
            rate = functools.partial(velocity_and_divergence, self.flow.field)
            v1, l1 = rate(t0, x)
            v2, l2 = rate(t0 + h / 2, x + h / 2 * v1)
            v3, l3 = rate(t0 + h / 2, x + h / 2 * v2)
            v4, l4 = rate(t1, x + h * v3)
            x = x + h / 6 * (v1 + 2 * v2 + 2 * v3 + v4)
            paid = self.cost * jnp.abs(h) / 6 * (v1 @ v1 + 2 * v2 @ v2 + 2 * v3 @ v3 + v4 @ v4)
            log_stretch = log_stretch + h / 6 * (l1 + 2 * l2 + 2 * l3 + l4) - paid
            return (x / safe_norm(x), log_stretch), None

        state = start, jnp.zeros((), start.dtype)
        return jax.lax.scan(step, state, (times[:-1], times[1:]))[0]
