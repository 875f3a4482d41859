"""Stiefel manifolds and the orthogonal group, by Cholesky–polar and by QR."""

from __future__ import annotations

import itertools
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
from .cover import AbstractCover
from .frame_covers import SignedCover, cover_frames

Matrix = Float[Array, "n p"]


@storable("manifolds.Stiefel")
class Stiefel(AbstractManifold):
    """St(n, p) = {M ∈ R^{n×p}: MᵀM = Id_p}; y row-major; measure: induced by the Frobenius norm.

    Volume 2^{p(p−1)/4} · 2^p π^{np/2} / Γ_p(n/2). Distance: Frobenius, ‖Y − O‖.
    """

    n: int = eqx.field(static=True)
    p: int = eqx.field(static=True)

    def __check_init__(self):
        if not 1 <= self.p <= self.n:
            raise ValueError(f"Stiefel(n, p) needs n >= p >= 1, got n={self.n}, p={self.p}.")

    @property
    def dim(self) -> int:
        return self.n * self.p - self.p * (self.p + 1) // 2

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.n, self.p)

    def violation(self, y: Point) -> Scalar:
        return orthonormality_gap(y.reshape(self.shape))

    def describe_violation(self, y: np.ndarray) -> str:
        return describe_orthonormality_violation(y.reshape(self.shape))

    def project(self, y: Point) -> Point:
        """Return the polar factor, the nearest point in the Frobenius norm."""
        u, _, vh = jnp.linalg.svd(y.reshape(self.shape), full_matrices=False)
        return (u @ vh).reshape(-1)

    def distance(self, y: Point, other: Point) -> Scalar:
        return safe_norm(y - other)

    def features(self, y: Point) -> Float[Array, " f"]:
        return y

    def log_total_volume(self) -> float:
        n, p = self.n, self.p
        log_gamma_p = p * (p - 1) / 4 * math.log(math.pi) + sum(
            math.lgamma((n - j) / 2) for j in range(p)
        )
        canonical = p * math.log(2) + n * p / 2 * math.log(math.pi) - log_gamma_p
        return canonical + p * (p - 1) / 4 * math.log(2)

    def sample_uniform(self, *, key: PRNGKeyArray) -> Point:
        return jax.random.orthogonal(key, self.n)[:, : self.p].reshape(-1)

    def cover(self) -> AbstractCover | None:
        from .rotations import SpecialOrthogonal  # not at the top: it imports this module

        if self.n == self.p:
            return SignedCover(self, SpecialOrthogonal(self.n).cover()) if self.n > 1 else None
        return cover_frames(self)

    def dequantization(self) -> QR:
        return QR(self)


def Orthogonal(n: int) -> Stiefel:
    """Return O(n) = St(n, n)."""
    return Stiefel(n, n)


@storable("manifolds.Polar")
class Polar(AbstractDequantization):
    """Full-rank R^{n×p} = St(n, p) × Tri₊(p); M = O·L·Lᵀ, the Cholesky–polar decomposition; z = L.

    log_volume = (p − p(p−1)/4) log 2 + Σ_i (2n−p−i+1) log L_ii + Σ_{i<j} log(σ_i+σ_j), i from 1,
    σ the eigenvalues of LLᵀ. Brofos et al. 2021, Example 9; their text leaves it to autodiff,
    which is NaN at LLᵀ = I.
    """

    manifold: Stiefel

    @property
    def auxiliary(self) -> Auxiliary:
        return auxiliary.triangular(self.manifold.p)

    @property
    def ambient_dim(self) -> int:
        return self.manifold.size

    @property
    def branches(self) -> int:
        return 1

    def quantize(self, x: Ambient) -> tuple[Point, Aux]:
        u, s, vh = jnp.linalg.svd(x.reshape(self.manifold.shape), full_matrices=False)
        # P = VΣVᵀ = (√Σ Vᵀ)ᵀ(√Σ Vᵀ): its Cholesky factor is R of a QR, without squaring.
        factor = positive_qr(jnp.sqrt(s)[:, None] * vh)[1].T
        return (u @ vh).reshape(-1), factor[np.tril_indices(self.manifold.p)]

    def preimages(self, y: Point, z: Aux) -> tuple[Float[Array, "b m"], Float[Array, " b"]]:
        n, p = self.manifold.shape
        factor = lower_triangle(z, p)
        x = y.reshape(n, p) @ factor @ factor.T
        powers = 2 * n - p - np.arange(1, p + 1) + 1
        log_volume = (
            (p - p * (p - 1) / 4) * math.log(2)
            + (powers * jnp.log(jnp.diagonal(factor))).sum()
            + log_pairwise_sums(factor)
        )
        return x.reshape(1, -1), log_volume[None]


@storable("manifolds.QR")
class QR(AbstractDequantization):
    """Full-rank R^{n×p} = St(n, p) × Tri₊(p); M = Q·Lᵀ; z = L.

    log_volume = −p(p−1)/4 log 2 + Σ_i (n−i) log L_ii, i from 1. Brofos et al. 2021, last appendix,
    which leaves out the constant.
    """

    manifold: Stiefel

    @property
    def auxiliary(self) -> Auxiliary:
        return auxiliary.triangular(self.manifold.p)

    @property
    def ambient_dim(self) -> int:
        return self.manifold.size

    @property
    def branches(self) -> int:
        return 1

    def quantize(self, x: Ambient) -> tuple[Point, Aux]:
        q, r = positive_qr(x.reshape(self.manifold.shape))
        return q.reshape(-1), r.T[np.tril_indices(self.manifold.p)]

    def preimages(self, y: Point, z: Aux) -> tuple[Float[Array, "b m"], Float[Array, " b"]]:
        n, p = self.manifold.shape
        factor = lower_triangle(z, p)
        powers = n - np.arange(1, p + 1)
        log_volume = -p * (p - 1) / 4 * math.log(2) + (powers * jnp.log(jnp.diagonal(factor))).sum()
        return (y.reshape(n, p) @ factor.T).reshape(1, -1), log_volume[None]


def orthonormality_gap(matrix: Matrix) -> Scalar:
    """Return the largest entry of |MᵀM − Id|."""
    return jnp.max(jnp.abs(matrix.T @ matrix - jnp.eye(matrix.shape[1], dtype=matrix.dtype)))


def describe_orthonormality_violation(matrix: np.ndarray) -> str:
    """Say which columns are not orthonormal."""
    gram = matrix.T @ matrix - np.eye(matrix.shape[1])
    i, j = np.unravel_index(np.argmax(np.abs(gram)), gram.shape)
    product = f"{gram[i, j] + (i == j):.6g}"
    if i == j:
        return f"column {i} of the matrix has squared norm {product}; it must be 1."
    return f"columns {i} and {j} of the matrix have inner product {product}; it must be 0."


def positive_qr(matrix: Matrix) -> tuple[Matrix, Float[Array, "p p"]]:
    """Return the QR factorisation whose R has a positive diagonal."""
    q, r = jnp.linalg.qr(matrix)
    signs = jnp.where(jnp.diagonal(r) < 0, -1, 1).astype(matrix.dtype)
    return q * signs, r * signs[:, None]


def lower_triangle(z: Aux, p: int) -> Float[Array, "p p"]:
    """Build L from its entries, row by row."""
    return jnp.zeros((p, p), z.dtype).at[np.tril_indices(p)].set(z)


def log_pairwise_sums(factor: Float[Array, "p p"]) -> Scalar:
    """Compute Σ_{i<j} log(σ_i + σ_j), σ the eigenvalues of LLᵀ, without an eigensolver.

    p = 2: tr P. p = 3: e₁e₂ − e₃ of the elementary symmetric functions, each a sum of squares of
    minors of L. Else: log det of the second additive compound 2·Wᵀ(P ⊗ I)W, W an orthonormal basis
    of the skew matrices, by QR of (L ⊗ I)ᵀW.
    """
    p = factor.shape[0]
    pairs = list(itertools.combinations(range(p), 2))
    # The product is homogeneous of degree 2 in L for each pair: scale it against overflow.
    scale = jax.lax.stop_gradient(jnp.max(jnp.abs(factor)))
    scaled = factor / scale
    if p == 1:
        return jnp.zeros((), factor.dtype)
    if p == 2:
        log_product = jnp.log((scaled**2).sum())
    elif p == 3:
        rows = np.array(pairs)
        minors = (
            scaled[rows[:, :1], rows[:, 0]] * scaled[rows[:, 1:], rows[:, 1]]
            - scaled[rows[:, :1], rows[:, 1]] * scaled[rows[:, 1:], rows[:, 0]]
        )
        e3 = jnp.prod(jnp.diagonal(scaled)) ** 2
        log_product = jnp.log((scaled**2).sum() * (minors**2).sum() - e3)
    else:
        skew = np.zeros((len(pairs), p, p))
        for k, (i, j) in enumerate(pairs):
            skew[k, i, j], skew[k, j, i] = math.sqrt(0.5), -math.sqrt(0.5)
        compound = jnp.einsum("kij,il->ljk", skew.astype(factor.dtype), scaled)
        triangle = jnp.linalg.qr(compound.reshape(p * p, -1), mode="r")
        log_product = 2 * jnp.log(jnp.abs(jnp.diagonal(triangle))).sum() + len(pairs) * math.log(2)
    # The scale is a constant for autodiff, so its logarithm must be one too.
    return log_product + 2 * len(pairs) * jnp.log(scale)
