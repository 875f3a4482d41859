"""Neural ODEs on spheres as bijections."""

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
    """u − (xᵀu) x at x/‖x‖, tangent to whatever sphere rounding leaves x on, and its divergence.

    On the sphere that is Σ_k e_kᵀ ∇u e_k − d xᵀu over an orthonormal basis of the tangent space.
    """
    x = x / safe_norm(x)
    basis = tangent_basis(x)
    u, along = field.value_and_tangents(t, x, basis)
    outward = x @ u
    return u - outward * x, (basis * along).sum() - len(basis) * outward


def tangent_basis(x: Point) -> Float[Array, "d size"]:
    """An orthonormal basis of the tangent space at x: rows of Householder's reflection to ±x."""
    v = x.at[-1].add(jnp.where(x[-1] < 0, -1, 1))
    reflection = jnp.eye(len(x), dtype=x.dtype) - jnp.outer(v, v) / (1 + jnp.abs(x[-1]))
    return reflection[:-1]


@storable("rivals.TangentFlow")
class TangentFlow(AbstractBijection):
    """S^d: x at t = 0 to y at t = 1 along dx/dt = u − (xᵀu) x, u = u(t, x) a network on R^{d+1}.

    d log stretch/dt is the divergence on the sphere, exact. The solver chooses its steps by their
    error, so that the density is that of the ODE, whatever grid the field was trained on.
    Mathieu & Nickel 2020; Lou et al. 2020.
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
            f"{self.rtol:g}, atol {self.atol:g}. Remedies: raise max_steps, loosen rtol and atol, "
            "or train at a lower rate.",
        )
        return end / safe_norm(end), log_stretch


@storable("rivals.GridFlow")
class GridFlow(AbstractBijection):
    """A `TangentFlow` by Runge and Kutta's fourth-order steps: for training, where it is fast.

    A field learns to exploit the errors of a fixed grid, so each point has a grid of its own: the
    nodes (i + δ)/steps, with δ the digits of its first coordinate that nothing depends on. And it
    pays: log stretch is lessened by `cost` · ∫‖dx/dt‖² dt, so that paths stay as short as they
    can. Fields that go far in no time are those which no grid can follow.
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
