"""Bingham densities of unit quaternions, which are matrix Fisher densities on SO(3).

Normalising constants by quadrature in float64, rates for given moments, and an exact sampler.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray
from scipy.special import i0e, i1e

from .rejection import sample_by_rejection

Values = Float[np.ndarray, " k"]


class Bingham(NamedTuple):
    """log E exp(−Σ λ_j q_j²), the means of the q_j² under that density, and their covariances."""

    log_constant: Values
    mean: Float[np.ndarray, "k 3"]
    covariance: Float[np.ndarray, "k 3 3"]


# Double exponential nodes v on (0, 2), fine enough at both ends for rates up to 4e12.
_T = np.linspace(-3.6, 3.6, 361)
_V, _REST = (2 / (1 + np.exp(-sign * np.pi * np.sinh(_T))) for sign in (1, -1))
_STEP = np.log(_V) + np.log(_REST) + np.log(np.pi / 2 * np.cosh(_T) * (_T[1] - _T[0]))
# (a, b, r) = _RATES λ, λ ascending.
_RATES = np.array([[-0.25, 0.25, 0], [0, 0, 0.25], [0.5, 0, 0]])


def bingham(rates: Float[np.ndarray, "k 3"]) -> Bingham:
    """Compute the constant and moments of the density ∝ exp(−Σ λ_j q_j²) on S³, j = 1, 2, 3.

    With λ ascending, a = (λ₂ − λ₁)/4, b = λ₃/4, r = λ₁/2 and Ī(x) = I₀(x)e^{−x}:
    E exp(−Σ λ_j q_j²) = ½ ∫₀² Ī(av) Ī(b(2 − v)) e^{−rv} dv, by double exponential quadrature.
    At λ = 2(s₂+s₃, s₁+s₃, s₁+s₂) it is the matrix Fisher constant of Lee 2018 (arXiv:1710.03746,
    eq. 10).

    Args:
        rates: The λ ≥ 0 of k densities, in any order.

    Returns:
        Log constants, means and covariances.
    """
    order = np.argsort(rates, axis=1)
    a, b, r = (np.take_along_axis(rates, order, 1) @ _RATES.T).T[:, :, None]
    log_f = np.log(i0e(a * _V)) + np.log(i0e(b * _REST)) - r * _V + _STEP
    top = log_f.max(1, keepdims=True)
    f = np.exp(log_f - top)
    total = f.sum(1, keepdims=True)
    log_constant = (np.log(total / 2) + top)[:, 0]
    (first_a, second_a), (first_b, second_b) = _slopes(a * _V), _slopes(b * _REST)
    first = np.stack([_V * first_a, _REST * first_b, np.broadcast_to(-_V, f.shape)], 1)
    second = np.einsum("kn,kin,kjn->kij", f / total, first, first)
    second[:, 0, 0] = (f / total * _V**2 * second_a).sum(1)
    second[:, 1, 1] = (f / total * _REST**2 * second_b).sum(1)
    mean = np.einsum("kn,kin->ki", f / total, first)
    hessian = second - mean[:, :, None] * mean[:, None]
    back = np.argsort(order, axis=1)
    mean = np.take_along_axis(-mean @ _RATES, back, 1)
    covariance = np.take_along_axis(_RATES.T @ hessian @ _RATES, back[:, :, None], 1)
    return Bingham(log_constant, mean, np.take_along_axis(covariance, back[:, None], 2))


def _slopes(x: Float[np.ndarray, "k n"]) -> tuple[np.ndarray, np.ndarray]:
    """Compute Ī'/Ī and Ī''/Ī of Ī(x) = I₀(x)e^{−x}."""
    ratio = i1e(x) / i0e(x)
    by_x = np.where(x > 1e-6, ratio / np.maximum(x, 1e-6), 0.5)
    return ratio - 1, 2 - 2 * ratio - by_x


def bingham_rates(moments: Float[np.ndarray, "k 3"], *, most: float) -> Float[np.ndarray, "k 3"]:
    """Compute the maximum likelihood estimate λ ∈ [0, most]³ for means t_j of the q_j².

    It minimises the convex function log E exp(−Σ λ_j q_j²) + Σ λ_j t_j by Newton's method, with
    projection and halved steps.

    Args:
        moments: The means t_j of k samples.
        most: The largest rate. The estimate for equal rows is infinite.

    Returns:
        The rates λ.
    """
    t = np.maximum(moments, 1e-15)
    rates = np.clip(0.5 / t - 0.5 / (1 - t.sum(1, keepdims=True)), 0, most)
    now = bingham(rates)
    for _ in range(40):
        residual = now.mean - t
        held = ((rates <= 0) & (residual < 0)) | ((rates >= most) & (residual > 0))
        residual = np.where(held, 0, residual)
        if (np.abs(residual) <= 1e-9 * t).all():
            break
        rates, now = _take_step(rates, now, t, _newton(now, t, residual, held), most)
    return rates


def _newton(now: Bingham, t: np.ndarray, residual: np.ndarray, held: np.ndarray) -> np.ndarray:
    """Compute Newton's step in λ, 0 where λ is held, with the Hessian in units of 1/t."""
    hessian = now.covariance / (t[:, :, None] * t[:, None])
    fixed = held[:, :, None] | held[:, None]
    hessian = np.where(fixed, 0, hessian) + np.eye(3) * (held[:, :, None] + 1e-9)
    return np.linalg.solve(hessian, (residual / t)[:, :, None])[:, :, 0] / t


def _take_step(rates, now: Bingham, t, step, most: float) -> tuple[np.ndarray, Bingham]:
    """Halve the step until it does not increase the function; take it."""
    value = now.log_constant + (rates * t).sum(1)
    scale = np.ones((len(t), 1))
    while True:
        tried = np.clip(rates + scale * step, 0, most)
        then = bingham(tried)
        worse = then.log_constant + (tried * t).sum(1) > value + 1e-12
        if not worse.any():
            return tried, then
        scale = np.where(worse[:, None], np.where(scale > 1e-6, scale / 2, 0), scale)


def envelopes(rates: Float[np.ndarray, "k 3"]) -> Float[np.ndarray, " k"]:
    """Solve Σ_{j=0}^3 1/(b + 2λ_j) = 1, λ₀ = 0, for b ∈ [1, 4] by bisection: the best envelope.

    Args:
        rates: The λ of k densities.

    Returns:
        The b of each, for `sample_bingham`.
    """
    low, high = np.ones(len(rates)), np.full(len(rates), 4.0)
    for _ in range(60):
        b = (low + high) / 2
        above = 1 / b + (1 / (b[:, None] + 2 * rates)).sum(1) > 1
        low, high = np.where(above, b, low), np.where(above, high, b)
    return (low + high) / 2


def sample_bingham(
    rates: Float[Array, " 3"], envelope: Float[Array, ""], *, key: PRNGKeyArray
) -> Float[Array, " 4"]:
    """Draw one unit q of density ∝ exp(−Σ λ_j q_j²), j = 1, 2, 3, whose mode is (1, 0, 0, 0).

    By rejection from an angular central Gaussian: Kent et al. 2013.

    Args:
        rates: The λ_j ≥ 0.
        envelope: The b of `envelopes`.
        key: Random key.

    Returns:
        The unit vector q of R⁴.
    """
    rates = jnp.concatenate([jnp.zeros(1), rates])
    b = envelope
    log_bound = -(4 - b) / 2 + 2 * jnp.log(4 / b)

    def propose(key):
        k1, k2 = jax.random.split(key)
        q = jax.random.normal(k1, (4,)) / jnp.sqrt(1 + 2 * rates / b)
        q = q / jnp.linalg.norm(q)
        height = rates @ q**2
        log_ratio = -height + 2 * jnp.log1p(2 * height / b) - log_bound
        return q, log_ratio >= jnp.log(jax.random.uniform(k2))

    return sample_by_rejection(propose, key)
