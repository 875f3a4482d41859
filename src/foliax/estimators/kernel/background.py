"""The uniform component."""

from __future__ import annotations

import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from ...manifolds import AbstractManifold
from ...registry import storable
from .base import AbstractKernels, Point


@storable("rivals.Background")
class Background(AbstractKernels):
    """The uniform density as one component without rows, for manifolds of finite volume."""

    manifold: AbstractManifold

    def log_components(self, y: Point, *, exclude: Int[Array, ""] | int = -1) -> Float[Array, " k"]:
        # A point that is not a number has no density.
        return 0 * y.sum(keepdims=True) - self.manifold.log_total_volume()

    @property
    def n_components(self) -> int:
        return 1

    @property
    def bandwidths(self) -> Float[np.ndarray, " k"]:
        return np.full(1, np.inf)

    def select(self, mask: Bool[np.ndarray, " k"]) -> Background:
        return self

    def sample(self, component: Int[Array, ""], *, key: PRNGKeyArray) -> Point:
        return self.manifold.sample_uniform(key=key)

    @property
    def n_rows(self) -> int:
        return 0

    @property
    def centres(self) -> Float[np.ndarray, "n e"]:
        return np.zeros((0, 0))

    def scaled_embedding(self, rows: np.ndarray) -> Float[np.ndarray, "m e"]:
        return np.zeros((len(rows), 0))

    def cutoff_radii(self, depths: Float[np.ndarray, " k"]) -> Float[np.ndarray, " n"]:
        return np.zeros(0)

    @property
    def log_peaks(self) -> Float[np.ndarray, " k"]:
        return np.full(1, -self.manifold.log_total_volume())

    def subset(self, chosen: Int[np.ndarray, " c"], valid: Bool[np.ndarray, " c"]) -> Background:
        return self
