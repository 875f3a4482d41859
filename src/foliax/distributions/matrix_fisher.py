"""Isotropic matrix Fisher densities on SO(n): masses and exact samplers."""

from __future__ import annotations

import functools
import math

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from ..manifolds.quaternions import rotation_of_quaternion
from .rejection import sample_by_rejection
from .von_mises_fisher import Concentration, Scalar, sample_turn


def log_rotation_mass(kappa: float, n: int) -> float:
    """Compute log E exp(−κ(n − tr R)) over Haar measure on SO(n).

    By Weyl's formula the mean is a product of the norms h_k of orthogonal polynomials in cos θ,
    divided by the same product at κ = 0. The weight is exp(−2κ(1 − cos θ)) dθ, times 1 − cos θ for
    odd n. Stieltjes' procedure finds the norms without cancellation. For n = 3 the mean is
    e^{−2κ}(I₀(2κ) − I₁(2κ)).

    Args:
        kappa: The concentration κ ≥ 0.
        n: The size of the matrices, at least 2.

    Returns:
        The log mean.
    """
    return _log_norms(kappa, n) - _log_norms(0.0, n)


@functools.cache
def _nodes() -> tuple[np.ndarray, np.ndarray]:
    return np.polynomial.legendre.leggauss(512)


@functools.lru_cache(4096)
def _log_norms(kappa: float, n: int) -> float:
    """Compute Σ log h_k; cached, since many kernels have the same concentrations."""
    nodes, weights = _nodes()
    # The weight is negligible beyond 2κ(1 − cos θ) = 60.
    end = 2 * math.asin(min(1.0, math.sqrt(15 / kappa))) if kappa > 15 else math.pi
    theta = end * (nodes + 1) / 2
    drop = 2 * np.sin(theta / 2) ** 2
    mass = weights * end / 2 * np.exp(-2 * kappa * drop) * (drop if n % 2 else 1.0)
    scale = drop.max()
    x = drop / scale
    before, current, norm_before, total = np.zeros_like(x), np.ones_like(x), 1.0, 0.0
    for k in range(n // 2):
        norm = float((mass * current**2).sum())
        total += math.log(norm) + 2 * k * math.log(scale)
        alpha = float((mass * x * current**2).sum()) / norm
        beta = norm / norm_before if k else 0.0
        before, current, norm_before = current, (x - alpha) * current - beta * before, norm
    return total


def sample_rotation(kappa: Concentration, n: int, *, key: PRNGKeyArray) -> Float[Array, "n n"]:
    """Draw one R in SO(n) of density ∝ exp(κ tr R) against Haar measure.

    For n = 2 the angle is von Mises. For n = 3 the angle comes by rejection and the axis is
    uniform. For larger n see `_sample_in_cayley_coordinates`.

    Args:
        kappa: The concentration κ > 0.
        n: The size of the matrix, at least 2.
        key: Random key.

    Returns:
        The rotation matrix.
    """
    if n == 2:
        angle = sample_turn(2 * kappa, key=key)
        cos, sin = jnp.cos(angle), jnp.sin(angle)
        return jnp.array([[cos, -sin], [sin, cos]])
    if n == 3:
        k1, k2 = jax.random.split(key)
        axis = jax.random.normal(k2, (3,))
        axis = axis / jnp.linalg.norm(axis)
        half = sample_rotation_angle(2 * kappa, key=k1) / 2
        return rotation_of_quaternion(jnp.concatenate([jnp.cos(half)[None], jnp.sin(half) * axis]))
    return _sample_in_cayley_coordinates(kappa, n, key=key)


def _sample_in_cayley_coordinates(
    kappa: Concentration, n: int, *, key: PRNGKeyArray
) -> Float[Array, "n n"]:
    """Draw one R in SO(n) by rejection.

    In Cayley's coordinates S = (I − R)(I + R)⁻¹, of singular values s_j = tan(θ_j/2), Haar measure
    is ∏ (1 + s_j²)^{−(n−1)} dS. The proposal is a Haar sample whose S is divided by √(1 + b). The
    angular central Gaussian does the same for Bingham (Kent, Ganeiber and Mardia 2018). With
    x_j = sin²(θ_j/2), the ratio of densities is ∏ exp(−4κx_j)(1 + b x_j)^{n−1}.
    """
    b = 4 * kappa / ((n - 1) * 0.7)
    # The ratio is largest where 1 + b x = (n − 1) b / 4κ.
    peak = jnp.clip(((n - 1) * b / (4 * kappa) - 1) / b, 0, 1)
    top = -4 * kappa * peak + (n - 1) * jnp.log1p(b * peak)
    identity = jnp.eye(n)

    def propose(key):
        k1, k2 = jax.random.split(key)
        haar = jax.random.orthogonal(k1, n)
        haar = haar.at[-1].multiply(jnp.sign(jnp.linalg.det(haar)))
        s = jnp.linalg.solve((identity + haar).T, (identity - haar).T).T / jnp.sqrt(1 + b)
        s = (s - s.T) / 2
        r = jnp.linalg.solve(identity + s, identity - s)
        # A Newton step towards the nearest rotation restores the digits that large angles lose.
        r = r @ (3 * identity - r.T @ r) / 2
        x = jnp.linalg.eigvalsh(s.T @ s)[-2 * (n // 2) :: 2]
        x = x / (1 + x)
        log_ratio = (-4 * kappa * x + (n - 1) * jnp.log1p(b * x) - top).sum()
        return r, log_ratio >= jnp.log(jax.random.uniform(k2))

    return sample_by_rejection(propose, key)


def sample_rotation_angle(rate: Concentration, *, key: PRNGKeyArray) -> Scalar:
    """Draw one ω in (0, π) of density ∝ exp(−rate·(1 − cos ω))(1 − cos ω).

    The proposal is a Maxwell density of ω, since 1 − cos ω ≥ 2ω²/π². Its width is at most 2, which
    only changes the acceptance rate.

    Args:
        rate: The rate, above 0.
        key: Random key.

    Returns:
        The angle in radians.
    """
    width = jnp.minimum(math.pi / (2 * jnp.sqrt(rate)), 2.0)
    most = math.pi**2 / (2 * width**2) - 2 * rate

    def propose(key):
        k1, k2 = jax.random.split(key)
        angle = width * jnp.linalg.norm(jax.random.normal(k1, (3,)))
        rise = 2 * jnp.sin(angle / 2) ** 2
        log_ratio = angle**2 / (2 * width**2) - rate * rise + jnp.log(2 * rise / angle**2) - most
        return angle, (log_ratio >= jnp.log(jax.random.uniform(k2))) & (angle <= math.pi)

    return sample_by_rejection(propose, key)
