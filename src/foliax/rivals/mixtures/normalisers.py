"""Normalising constants and their inverses, in log space and float64."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float
from scipy.special import ive

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
