"""Manifolds that users define by a constraint."""

from __future__ import annotations

import math
from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from .base import AbstractDequantization, AbstractManifold, Point, Scalar, safe_norm


class LevelSet(AbstractManifold):
    """{y ∈ R^size: g(y) = 0}, g: R^size -> R^codim of full rank; measure: induced volume.

    Distance: ‖y − o‖. Brofos et al. 2021, appendix on embedded manifolds.

    Args:
        constraint: The function g of one flat point.
        ambient: Length of a flat point.
        codim: Number of independent constraints.
        log_volume: Log of the total measure; the default, inf, means infinite or unknown.
    """

    constraint: Callable[[Array], Array] = eqx.field(static=True)
    ambient: int = eqx.field(static=True)
    codim: int = eqx.field(static=True, default=1)
    log_volume: float = eqx.field(static=True, default=math.inf)

    @property
    def dim(self) -> int:
        return self.ambient - self.codim

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.ambient,)

    def violation(self, y: Point) -> Scalar:
        return jnp.max(jnp.abs(self._g(y)))

    def describe_violation(self, y: np.ndarray) -> str:
        return f"the constraint is {np.asarray(self._g(jnp.asarray(y)))}; it must be 0."

    def project(self, y: Point) -> Point:
        """Solve g(y) = 0 by Gauss–Newton; the result is the nearest point to first order."""

        def step(_, y):
            return y - jnp.linalg.pinv(jax.jacfwd(self._g)(y)) @ self._g(y)

        return jax.lax.fori_loop(0, 20, step, y)

    def distance(self, y: Point, other: Point) -> Scalar:
        return safe_norm(y - other)

    def features(self, y: Point) -> Float[Array, " f"]:
        return y

    def log_total_volume(self) -> float:
        return self.log_volume

    def sample_uniform(self, *, key: PRNGKeyArray) -> Point:
        raise ValueError(
            "A LevelSet has no uniform sampler: its constraint alone does not give one."
        )

    def dequantization(self) -> AbstractDequantization:
        raise ValueError("A LevelSet has no default dequantization. Build one with ByAutodiff.")

    def _g(self, y: Point) -> Float[Array, " c"]:
        return jnp.atleast_1d(self.constraint(y))
