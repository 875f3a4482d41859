"""The open probability simplex: compositions, shares of a whole."""

from __future__ import annotations

import math

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from ..registry import storable
from . import auxiliary
from .auxiliary import Auxiliary
from .base import AbstractDequantization, AbstractManifold, Ambient, Aux, Point, Scalar, safe_norm


@storable("manifolds.Simplex")
class Simplex(AbstractManifold):
    """{y ∈ R^{d+1}: y_i > 0, Σ y_i = 1}; measure: induced volume, in total √(d+1)/d!.

    The measure is √(d+1) times Lebesgue measure of the first d coordinates. Shares of 0 are
    invalid. Distance: ‖y − o‖.

    Args:
        d: Dimension, one less than the number of shares.
    """

    d: int = eqx.field(static=True)

    def __check_init__(self):
        if self.d < 1:
            raise ValueError(f"Simplex(d) needs d >= 1, got {self.d}.")

    @property
    def dim(self) -> int:
        return self.d

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.d + 1,)

    def violation(self, y: Point) -> Scalar:
        not_positive = jnp.max(jnp.where(y > 0, 0, 1 - y))
        return jnp.maximum(not_positive, jnp.abs(y.sum() - 1))

    def describe_violation(self, y: np.ndarray) -> str:
        if y.min() <= 0:
            return (
                f"share {int(np.argmin(y))} is {y.min():.9g}; shares must be above 0. Replace "
                "zeros by a small share, or leave the component out."
            )
        return f"the shares sum to {y.sum():.9g}; the sum must be 1. Divide by it first."

    def project(self, y: Point) -> Point:
        """Divide by the sum: an open set has no nearest point."""
        return y / y.sum()

    def distance(self, y: Point, other: Point) -> Scalar:
        return safe_norm(y - other)

    def features(self, y: Point) -> Float[Array, " f"]:
        return (self.d + 1) * y - 1

    def log_total_volume(self) -> float:
        return math.log(self.d + 1) / 2 - math.lgamma(self.d + 1)

    def sample_uniform(self, *, key: PRNGKeyArray) -> Point:
        return jax.nn.softmax(jnp.log(jax.random.exponential(key, self.shape)))

    def dequantization(self) -> IsometricLogRatio:
        return IsometricLogRatio(self)


@storable("manifolds.IsometricLogRatio")
class IsometricLogRatio(AbstractDequantization):
    """R^d -> simplex by y = softmax(Hx); no z; x = Hᵀ log y; log_volume = −log(d+1) − Σ log y_i.

    H, of shape (d+1, d), has orthonormal columns that sum to 0, so that no share is special:
    permuting shares rotates x. Egozcue et al. 2003, Mathematical Geology 35.
    """

    manifold: Simplex

    @property
    def auxiliary(self) -> Auxiliary:
        return auxiliary.empty()

    @property
    def ambient_dim(self) -> int:
        return self.manifold.d

    @property
    def branches(self) -> int:
        return 1

    def quantize(self, x: Ambient) -> tuple[Point, Aux]:
        y = jax.nn.softmax(jnp.asarray(helmert(self.manifold.d), x.dtype) @ x)
        return y, jnp.zeros(0, x.dtype)

    def preimages(self, y: Point, z: Aux) -> tuple[Float[Array, "b m"], Float[Array, " b"]]:
        logs = jnp.log(y)
        x = jnp.asarray(helmert(self.manifold.d).T, y.dtype) @ logs
        return x[None], (-math.log(self.manifold.d + 1) - logs.sum())[None]


def helmert(d: int) -> Float[np.ndarray, "n d"]:
    """Return the Helmert basis, of shape (d+1, d): orthonormal columns that sum to 0."""
    basis = np.zeros((d + 1, d))
    for k in range(1, d + 1):
        basis[:k, k - 1] = 1 / math.sqrt(k * (k + 1))
        basis[k, k - 1] = -k / math.sqrt(k * (k + 1))
    return basis
