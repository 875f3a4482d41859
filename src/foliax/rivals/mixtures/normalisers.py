"""Normalising constants and their inverses, in log space and float64."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.special import i0e, i1e, ive

Values = Float[np.ndarray, " k"]


def log_bessel(order: float, x: Values) -> Values:
    """log I_ν(x) e^{−x}: by SciPy, or for ν ≥ 30 by Debye's uniform expansion, good to 1e-7.

    DLMF 10.41.3 with three terms; there e^{−x}I_ν underflows.
    """
    if order < 30:
        return np.log(ive(order, x))
    z = x / order
    root = np.hypot(1, z)
    p = 1 / root
    u1 = (3 * p - 5 * p**3) / 24
    u2 = (81 * p**2 - 462 * p**4 + 385 * p**6) / 1152
    u3 = (30375 * p**3 - 369603 * p**5 + 765765 * p**7 - 425425 * p**9) / 414720
    series = np.log1p(u1 / order + u2 / order**2 + u3 / order**3)
    # root − z = 1/(root + z): no difference of large numbers.
    eta = 1 / (root + z) + np.log(z / (1 + root))
    return order * eta - 0.5 * np.log(2 * np.pi * order * root) + series


def log_vmf_constant(kappa: Values, d: int) -> Values:
    """log ∫ exp(κ(yᵀμ − 1)) dA over S^d = log (2π)^{(d+1)/2} I_ν(κ)e^{−κ}/κ^ν, ν = (d−1)/2."""
    order = (d - 1) / 2
    return (d + 1) / 2 * np.log(2 * np.pi) + log_bessel(order, kappa) - order * np.log(kappa)


def resultant(kappa: Values, d: int) -> Values:
    """E yᵀμ = A(κ) = I_{ν+1}(κ)/I_ν(κ) of a von Mises–Fisher density on S^d."""
    order = (d - 1) / 2
    return np.exp(log_bessel(order + 1, kappa) - log_bessel(order, kappa))


def concentration(length: Values, d: int, *, least: float, most: float) -> Values:
    """κ ∈ [least, most] with A(κ) = length, by Newton's method in log κ from Sra's estimate.

    Banerjee et al. 2005, Sra 2012: κ ≈ R(d + 1 − R²)/(1 − R²). A' = 1 − A² − dA/κ.
    """
    gap = np.maximum((1 - length) * (1 + length), 1e-300)
    kappa = np.clip(length * (d + 1 - length**2) / gap, least, most)
    for _ in range(30):
        a = resultant(kappa, d)
        slope = np.maximum((1 - a) * (1 + a) - d * a / kappa, 1e-3 * (1 - a) / kappa)
        step = np.clip((length - a) / (slope * kappa), -1, 1)
        kappa = np.clip(kappa * np.exp(step), least, most)
    return kappa


class Bingham(NamedTuple):
    """log E exp(−Σ λ_j q_j²), the means of the q_j² under that density, and their covariances."""

    log_constant: Values
    mean: Float[np.ndarray, "k 3"]
    covariance: Float[np.ndarray, "k 3 3"]


# Double exponential nodes v on (0, 2): fine enough at both ends for rates up to 1e8.
_T = np.linspace(-3.6, 3.6, 361)
_V, _REST = (2 / (1 + np.exp(-sign * np.pi * np.sinh(_T))) for sign in (1, -1))
_STEP = np.log(_V) + np.log(_REST) + np.log(np.pi / 2 * np.cosh(_T) * (_T[1] - _T[0]))
# (a, b, r) = _RATES λ, λ ascending.
_RATES = np.array([[-0.25, 0.25, 0], [0, 0, 0.25], [0.5, 0, 0]])


def bingham(rates: Float[np.ndarray, "k 3"]) -> Bingham:
    """The Bingham density ∝ exp(−Σ λ_j q_j²) of a uniform q ∈ S³, j = 1, 2, 3, λ ≥ 0.

    With λ ascending, a = (λ₂ − λ₁)/4, b = λ₃/4, r = λ₁/2 and Ī(x) = I₀(x)e^{−x}:
    E exp(−Σ λ_j q_j²) = ½ ∫₀² Ī(av) Ī(b(2 − v)) e^{−rv} dv, by double exponential quadrature.
    The matrix Fisher constant of Lee 2018 (arXiv:1710.03746, eq. 10) at λ = 2(s₂+s₃, s₁+s₃, s₁+s₂).
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
    """Ī'/Ī and Ī''/Ī of Ī(x) = I₀(x)e^{−x}."""
    ratio = i1e(x) / i0e(x)
    by_x = np.where(x > 1e-6, ratio / np.maximum(x, 1e-6), 0.5)
    return ratio - 1, 2 - 2 * ratio - by_x


def bingham_rates(moments: Float[np.ndarray, "k 3"], *, most: float) -> Float[np.ndarray, "k 3"]:
    """The most likely λ ∈ [0, most]³ for means t_j of the q_j².

    The least of log E exp(−Σ λ_j q_j²) + Σ λ_j t_j, which is convex: by Newton's method, projected
    and with halved steps.
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
        rates, now = _improved(rates, now, t, _newton(now, t, residual, held), most)
    return rates


def _newton(now: Bingham, t: np.ndarray, residual: np.ndarray, held: np.ndarray) -> np.ndarray:
    """Newton's step in λ, 0 where λ is held, by the Hessian in units of 1/t."""
    hessian = now.covariance / (t[:, :, None] * t[:, None])
    fixed = held[:, :, None] | held[:, None]
    hessian = np.where(fixed, 0, hessian) + np.eye(3) * (held[:, :, None] + 1e-9)
    return np.linalg.solve(hessian, (residual / t)[:, :, None])[:, :, 0] / t


def _improved(rates, now: Bingham, t, step, most: float) -> tuple[np.ndarray, Bingham]:
    """The longest of a few halvings of the step that does not raise the function."""
    value = now.log_constant + (rates * t).sum(1)
    scale = np.ones((len(t), 1))
    while True:
        tried = np.clip(rates + scale * step, 0, most)
        then = bingham(tried)
        worse = then.log_constant + (tried * t).sum(1) > value + 1e-12
        if not worse.any():
            return tried, then
        scale = np.where(worse[:, None], np.where(scale > 1e-6, scale / 2, 0), scale)
