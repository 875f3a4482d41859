"""Directional statistics: von Mises–Fisher and matrix Fisher, their masses and exact samplers.

Heights are handled by t = 1 − yᵀμ, never by yᵀμ: at κ = 1e8 all of t is below float32's rounding
of 1.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, PRNGKeyArray
from scipy.special import ive

from ..manifolds.rotations import rotation_of_quaternion

Scalar = Float[Array, ""]
Concentration = Float[Array, ""] | float


def log_vmf_mass(
    kappa: Float[np.ndarray, ...] | np.floating | float, d: int
) -> Float[np.ndarray, ...]:
    """log ∫ exp(κ yᵀμ) dA over S^d = log (2π)^{(d+1)/2} I_ν(κ)/κ^ν, ν = (d−1)/2."""
    order = (d - 1) / 2
    # SciPy's Bessel function gives up near 1e9; its expansion is exact there.
    large = np.asarray(kappa, float) > 1e6
    moderate = np.where(large, 1.0, kappa)
    far = np.where(large, kappa, 1e6)
    log_far = -0.5 * np.log(2 * math.pi * far) + np.log1p((1 - 4 * order**2) / (8 * far))
    log_bessel = np.where(large, log_far, np.log(ive(order, moderate))) + kappa
    return np.asarray((d + 1) / 2 * math.log(2 * math.pi) + log_bessel - order * np.log(kappa))


def sample_von_mises_fisher(
    mean: Float[Array, " size"], kappa: Concentration, *, key: PRNGKeyArray
) -> Float[Array, " size"]:
    """One draw on S^d around a unit vector: a drop, and a uniform direction to the side."""
    drop_key, side_key = jax.random.split(key)
    drop = sample_drop(kappa, len(mean) - 1, key=drop_key)
    side = jax.random.normal(side_key, mean.shape, mean.dtype)
    side = side - (side @ mean) * mean
    side = side / jnp.linalg.norm(side)
    y = mean - drop * mean + jnp.sqrt(drop * (2 - drop)) * side
    return y / jnp.linalg.norm(y)


def sample_turn(kappa: Concentration, *, key: PRNGKeyArray) -> Scalar:
    """One angle in (−π, π] of density ∝ exp(κ cos θ)."""
    drop_key, sign_key = jax.random.split(key)
    angle = 2 * jnp.arcsin(jnp.sqrt(jnp.minimum(sample_drop(kappa, 1, key=drop_key) / 2, 1)))
    return jnp.where(jax.random.bernoulli(sign_key), angle, -angle)


def sample_drop(kappa: Concentration, d: int, *, key: PRNGKeyArray) -> Scalar:
    """t = 1 − yᵀμ, density ∝ exp(−κt)(t(2 − t))^{d/2−1}: inverted for d = 2, else Wood (1994)."""
    if d == 2:
        u = jax.random.uniform(key, minval=jnp.finfo(jnp.float32).tiny)
        return jnp.clip(-jnp.log(u + (1 - u) * jnp.exp(-2 * kappa)) / kappa, 0, 2)
    b = d / (2 * kappa + jnp.sqrt(4 * kappa**2 + d**2))
    # Wood's x₀ = (1 − b)/(1 + b), by its distance from 1.
    rest = 2 * b / (1 + b)

    def propose(key):
        k1, k2 = jax.random.split(key)
        drop = wood_drop(jax.random.normal(k1, (d + 1,)), b)
        log_ratio = kappa * (rest - drop) + d * (
            jnp.log(rest + (1 - rest) * drop) - jnp.log(rest * (2 - rest))
        )
        return drop, log_ratio >= jnp.log(jax.random.uniform(k2))

    return rejection(propose, key)


def wood_drop(normal: Float[Array, " size"], b: Concentration) -> Scalar:
    """Wood's proposal t = 2bβ/(1 − (1 − b)β) by a normal vector g of R^{d+1}; it is within [0, 2].

    β = (1 + g₀/‖g‖)/2 is Beta(d/2, d/2). The smaller of β and 1 − β is s²/(2‖g‖(‖g‖ + |g₀|)),
    s² = g₁² + …: a sum with 1 has lost its digits near 0, and may be just below it.
    """
    norm, first = jnp.linalg.norm(normal), normal[0]
    smaller = normal[1:] @ normal[1:] / (2 * norm * (norm + jnp.abs(first)))
    beta = jnp.where(first < 0, smaller, 1 - smaller)
    rest = jnp.where(first < 0, 1 - smaller, smaller)
    return jnp.minimum(2 * b * beta / (rest + b * beta), 2)


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


def rejection(
    propose: Callable[[PRNGKeyArray], tuple[Array, Bool[Array, ""]]],
    key: PRNGKeyArray,
    *,
    at_once: int = 4,
) -> Array:
    """The first accepted proposal of propose(key) -> (value, accepted), tried in small batches."""

    def some(key):
        values, accepted = jax.vmap(propose)(jax.random.split(key, at_once))
        return values[jnp.argmax(accepted)], accepted.any()

    def again(state):
        key, use = jax.random.split(state[2])
        return *some(use), key

    key, use = jax.random.split(key)
    return jax.lax.while_loop(lambda state: ~state[1], again, (*some(use), key))[0]
