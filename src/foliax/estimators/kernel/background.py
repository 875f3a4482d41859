"""The broad component that reaches every point."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from ...manifolds import AbstractManifold
from ...registry import storable
from .components import AbstractKernels

Point = Float[Array, " size"]


@storable("rivals.Background")
class Background(AbstractKernels):
    """The uniform density, for manifolds of finite volume."""

    manifold: AbstractManifold

    def log_components(self, y: Point, *, leave: Int[Array, ""] | int = -1) -> Float[Array, " k"]:
        return jnp.full(1, -self.manifold.log_total_volume(), y.dtype)

    @property
    def breadths(self) -> Float[np.ndarray, " k"]:
        return np.full(1, np.inf)

    @property
    def components(self) -> int:
        return 1

    def only(self, use: Bool[np.ndarray, " k"]) -> Background:
        return self

    def draw(self, component: Int[Array, ""], *, key: PRNGKeyArray) -> Point:
        return self.manifold.sample_uniform(key=key)

    @property
    def count(self) -> int:
        return 0

    @property
    def places(self) -> Float[np.ndarray, "n e"]:
        return np.zeros((0, 0))

    def placed(self, rows: np.ndarray) -> Float[np.ndarray, "m e"]:
        return np.zeros((len(rows), 0))

    def reach(self, depths: Float[np.ndarray, " k"]) -> Float[np.ndarray, " n"]:
        return np.zeros(0)

    @property
    def log_peaks(self) -> Float[np.ndarray, " k"]:
        return np.full(1, -self.manifold.log_total_volume())

    def near(self, chosen: Int[np.ndarray, " c"], valid: Bool[np.ndarray, " c"]) -> Background:
        return self
