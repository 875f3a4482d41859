"""Manifolds given by a constraint, for users' own."""

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

    Distance: straight, ‖y − o‖. `log_volume`: of the whole set, inf where infinite or not known.
    Brofos et al. 2021, appendix on embedded manifolds.
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

    def complaint(self, y: np.ndarray) -> str:
        return f"the constraint is {np.asarray(self._g(jnp.asarray(y)))}, it must be 0."

    def project(self, y: Point) -> Point:
        """Gauss–Newton on the constraint: on the set, and nearest to first order."""

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
        raise ValueError("No uniform sampler is known for a set given by its constraint alone.")

    def dequantization(self) -> AbstractDequantization:
        raise ValueError("A set given by a constraint has no default G: build one with ByAutodiff.")

    def _g(self, y: Point) -> Float[Array, " c"]:
        return jnp.atleast_1d(self.constraint(y))
