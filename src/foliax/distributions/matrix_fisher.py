"""Isotropic matrix Fisher densities on SO(n): their masses and exact samplers."""

from __future__ import annotations

import functools
import math

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from ..manifolds.quaternion import rotation_of_quaternion
from .rejection import rejection
from .von_mises_fisher import Concentration, Scalar, sample_turn


def log_rotation_mass(kappa: float, n: int) -> float:
    """log E exp(−κ(n − tr R)) over Haar measure on SO(n).

    By Weyl's formula it is a product of the norms h_k of orthogonal polynomials in cos θ, for the
    weight exp(−2κ(1 − cos θ)) dθ, times 1 − cos θ for odd n, over the same product at κ = 0: found
    by Stieltjes' procedure, in which nothing cancels. For n = 3: e^{−2κ}(I₀(2κ) − I₁(2κ)).
    """
    return _log_norms(kappa, n) - _log_norms(0.0, n)


@functools.cache
def _nodes() -> tuple[np.ndarray, np.ndarray]:
    return np.polynomial.legendre.leggauss(512)


@functools.lru_cache(4096)
def _log_norms(kappa: float, n: int) -> float:
    """Kept, since kernels of the same concentrations are made again and again."""
    nodes, weights = _nodes()
    # Beyond 2κ(1 − cos θ) = 60 nothing is left.
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
    """One R in SO(n) of density ∝ exp(κ tr R) against Haar measure.

    n = 2: von Mises. n = 3: an angle by rejection, and an axis. Beyond, by rejection: in Cayley's
    coordinates S = (I − R)(I + R)⁻¹, of singular values tan(θ_j/2), Haar measure is
    ∏ (1 + s_j²)^{−(n−1)} dS. Shrinking a Haar draw's S by 1/√(1 + b) gives an envelope, as the
    angular central Gaussian does for Bingham (Kent, Ganeiber and Mardia 2018): with
    x_j = sin²(θ_j/2), the ratio is ∏ exp(−4κx_j)(1 + b x_j)^{n−1}.
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
    b = 4 * kappa / ((n - 1) * 0.7)
    # The ratio's largest value, where 1 + b x = (n − 1) b / 4κ.
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
        # One step of Newton's towards the nearest rotation: wide turns lose digits.
        r = r @ (3 * identity - r.T @ r) / 2
        x = jnp.linalg.eigvalsh(s.T @ s)[-2 * (n // 2) :: 2]
        x = x / (1 + x)
        log_ratio = (-4 * kappa * x + (n - 1) * jnp.log1p(b * x) - top).sum()
        return r, log_ratio >= jnp.log(jax.random.uniform(k2))

    return rejection(propose, key)


def sample_rotation_angle(rate: Concentration, *, key: PRNGKeyArray) -> Scalar:
    """One ω in (0, π) of density ∝ exp(−rate·(1 − cos ω))(1 − cos ω).

    1 − cos ω ≥ 2ω²/π²: a Maxwell law of ω is an envelope; a wide one is narrowed, at a factor.
    """
    width = jnp.minimum(math.pi / (2 * jnp.sqrt(rate)), 2.0)
    most = math.pi**2 / (2 * width**2) - 2 * rate

    def propose(key):
        k1, k2 = jax.random.split(key)
        angle = width * jnp.linalg.norm(jax.random.normal(k1, (3,)))
        rise = 2 * jnp.sin(angle / 2) ** 2
        log_ratio = angle**2 / (2 * width**2) - rate * rise + jnp.log(2 * rise / angle**2) - most
        return angle, (log_ratio >= jnp.log(jax.random.uniform(k2))) & (angle <= math.pi)

    return rejection(propose, key)
