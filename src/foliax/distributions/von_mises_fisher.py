"""The von Mises–Fisher density exp(κ(yᵀμ − 1))/C(κ) on S^d: normaliser, moments, exact samplers.

Valid for d from 1 to 1,000 and κ from 1e-8 to 1e12. Heights are handled by the drop t = 1 − yᵀμ,
never by yᵀμ: at κ = 1e8 all of t is below float32's rounding of 1.

The normaliser and the mean resultant length are computed in float64 with the order ν = (d − 1)/2
and the radius r = √(ν² + κ²). Below r = 30 by the power series of I_ν and the continued fraction of
I_{ν+1}/I_ν; above it by Debye's uniform expansion, whose terms are written in powers of 1/r, so
that it also covers ν = 0.
"""

from __future__ import annotations

import functools
import math
from fractions import Fraction
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray
from numpy.polynomial.polynomial import polyval2d

from .rejection import sample_by_rejection

Scalar = Float[Array, ""]
Concentration = Float[Array, ""] | float
Values = Float[np.ndarray, "..."]
Real = Values | np.floating | float

DEBYE_RADIUS = 30.0
"""The r from which Debye's expansion is used; its next term is then below 6e-17."""
DEBYE_TERMS = 14
SERIES_TERMS = 50
"""Terms of the power series, and levels of the continued fraction: enough for all r < 30."""
SMALL_KAPPA = 0.1
"""The κ below which a float32 difference from 1 would lose digits of a draw on S²."""


def log_vmf_normaliser(kappa: Real, d: int) -> Values:
    """Compute log C(κ) = log ∫ exp(κ(yᵀμ − 1)) dA over S^d.

    C(κ) = (2π)^{ν+1} I_ν(κ) e^{−κ} / κ^ν with ν = (d − 1)/2. The power series is DLMF 10.25.2,
    Debye's expansion 10.41.3. In the latter νη − κ − ν log κ = ν²/(r + κ) − ν log(ν + r), where
    nothing cancels. The error is below 1e-14 · max(1, |log C|).

    Args:
        kappa: Concentrations κ ≥ 0, of any shape. κ = 0 gives the log area of S^d.
        d: Dimension of the sphere, at least 1.

    Returns:
        log C(κ) in float64, in the shape of `kappa`.
    """
    order, kappa = (d - 1) / 2, np.asarray(kappa, float)
    is_near = np.hypot(order, kappa) < DEBYE_RADIUS
    near, far = np.where(is_near, kappa, 0.0), np.where(is_near, DEBYE_RADIUS, kappa)

    log_area = math.log(2) + (order + 1) * math.log(math.pi) - math.lgamma(order + 1)
    by_series = log_area + np.log1p(_series_excess(order, near)) - near

    debye = _debye(order, far)
    r = debye.radius
    exponent = order**2 / (r + far) - order * np.log(order + r)
    by_debye = (
        (order + 1) * math.log(2 * math.pi)
        + exponent
        - 0.5 * np.log(2 * math.pi * r)
        + np.log1p(debye.excess)
    )
    return np.asarray(np.where(is_near, by_series, by_debye))


def mean_resultant_length(kappa: Real, d: int) -> Values:
    """Compute A(κ) = E yᵀμ = I_{ν+1}(κ)/I_ν(κ), ν = (d − 1)/2.

    By the continued fraction DLMF 10.33.1 or Debye's expansions 10.41.3 and 10.41.5, not by a
    difference of logs. A(κ) ≈ κ/(d + 1) for small κ and 1 − d/(2κ) for large κ. The relative error
    is below 1e-14.

    Args:
        kappa: Concentrations κ ≥ 0, of any shape.
        d: Dimension of the sphere, at least 1.

    Returns:
        A(κ) in float64, in the shape of `kappa`.
    """
    return _moments(kappa, d)[0]


def mean_drop(kappa: Real, d: int) -> Values:
    """Compute E[1 − yᵀμ] = 1 − A(κ) to a relative error of 1e-13, also where A(κ) rounds to 1.

    Args:
        kappa: Concentrations κ ≥ 0, of any shape.
        d: Dimension of the sphere, at least 1.

    Returns:
        1 − A(κ) in float64, in the shape of `kappa`.
    """
    return _moments(kappa, d)[1]


def concentration(length: Real, d: int, *, least: float, most: float) -> Values:
    """Solve A(κ) = length for κ ∈ [least, most].

    By Newton's method from the estimate κ ≈ R(d + 1 − R²)/(1 − R²) of Banerjee et al. 2005, with
    A' = 1 − A² − dA/κ (Sra 2012). It is applied to log A for R < ½ and to log(1 − A) for R ≥ ½, as
    functions of log κ, which are nearly straight. Rounding of R alone moves κ by a relative
    1e-16/(1 − R).

    Args:
        length: Mean resultant lengths R ∈ [0, 1], of any shape.
        d: Dimension of the sphere, at least 1.
        least: Smallest κ, above 0. The maximum likelihood estimate at R = 0 is 0.
        most: Largest κ. The maximum likelihood estimate at R = 1 is infinite.

    Returns:
        κ in float64, in the shape of `length`.
    """
    length = np.asarray(length, float)
    tiny = np.finfo(float).tiny
    gap = np.maximum(1 - length, tiny)
    is_short = length < 0.5
    log_target = np.log(np.where(is_short, np.maximum(length, tiny), gap))
    kappa = np.clip(length * (d + 1 - length**2) / (gap * (1 + length)), least, most)
    for _ in range(50):
        a, drop = _moments(kappa, d)
        # dA/d(log κ); the lower bound only guards against rounding.
        slope = np.maximum(kappa * drop * (1 + a) - d * a, 1e-3 * a * drop)
        step = np.where(
            is_short,
            (log_target - np.log(a)) * a / slope,
            (np.log(drop) - log_target) * drop / slope,
        )
        before = kappa
        kappa = np.clip(kappa * np.exp(np.clip(step, -2, 2)), least, most)
        if (np.abs(kappa - before) <= 1e-15 * kappa).all():
            break
    return np.asarray(kappa)


def _moments(kappa: Real, d: int) -> tuple[Values, Values]:
    """A(κ) and 1 − A(κ)."""
    order, kappa = (d - 1) / 2, np.asarray(kappa, float)
    is_near = np.hypot(order, kappa) < DEBYE_RADIUS
    near, far = np.where(is_near, kappa, 0.0), np.where(is_near, DEBYE_RADIUS, kappa)

    by_fraction = np.zeros_like(near)
    for k in range(SERIES_TERMS, 0, -1):
        by_fraction = near / (2 * (order + k) + near * by_fraction)

    debye = _debye(order, far)
    r = debye.radius
    # A = I'_ν/I_ν − ν/κ, with r − ν = κ²/(r + ν) and 1 − κ/(r + ν) taken apart.
    lag = far / r * debye.lag / (1 + debye.excess)
    length = far / (r + order) - lag
    drop = (order**2 / (r + far) + order) / (r + order) + lag
    return (
        np.asarray(np.where(is_near, by_fraction, length)),
        np.asarray(np.where(is_near, 1 - by_fraction, drop)),
    )


def _series_excess(order: float, kappa: Real) -> Real:
    """Γ(ν + 1) I_ν(κ)/(κ/2)^ν − 1 by its power series, whose terms are all positive."""
    x = kappa**2 / 4
    excess = np.zeros_like(x)
    for k in range(SERIES_TERMS, 0, -1):
        excess = (1 + excess) * x / (k * (order + k))
    return excess


class _Debye(NamedTuple):
    """r, Σ u_k(p)/ν^k without its first term 1, and Σ (u_k(p) − v_k(p))/ν^k over 1 − p²."""

    radius: Real
    excess: Real
    lag: Real


def _debye(order: float, kappa: Real) -> _Debye:
    """The sums of Debye's expansions of I_ν and I'_ν, with p = ν/r."""
    radius = np.hypot(order, kappa)
    excess, lag = _debye_coefficients()
    square = (order / radius) ** 2
    return _Debye(radius, polyval2d(1 / radius, square, excess), polyval2d(1 / radius, square, lag))


@functools.cache
def _debye_coefficients() -> tuple[np.ndarray, np.ndarray]:
    """Coefficients [k, j] of p^{2j}/r^k in the two sums of `_Debye`, from exact fractions.

    DLMF 10.41.9: u_{k+1} = ½p²(1 − p²)u_k' + ⅛∫₀^p (1 − 5s²)u_k ds. DLMF 10.41.11:
    v_{k+1} = u_{k+1} − (1 − p²)(½p u_k + p²u_k'). Each u_k is p^k times a polynomial in p², and
    p/ν = 1/r.
    """
    excess, lag = np.zeros((2, DEBYE_TERMS + 1, DEBYE_TERMS + 1))
    current = [Fraction(1)]
    for k in range(DEBYE_TERMS):
        following = [Fraction(0)] * (k + 2)
        for j, c in enumerate(current):
            power = k + 2 * j
            following[j] += c * (Fraction(power, 2) + Fraction(1, 8 * (power + 1)))
            following[j + 1] -= c * (Fraction(power, 2) + Fraction(5, 8 * (power + 3)))
            lag[k + 1, j] = float(c * (power + Fraction(1, 2)))
        current = following
        excess[k + 1, : k + 2] = [float(c) for c in current]
    return excess, lag


def sample_von_mises_fisher(
    mean: Float[Array, " size"], kappa: Concentration, *, key: PRNGKeyArray
) -> Float[Array, " size"]:
    """Draw one point of S^d: a drop by `sample_drop`, and a uniform direction across the mean.

    Args:
        mean: The mean direction μ, a unit vector of R^{d+1}.
        kappa: Concentration κ > 0.
        key: Random key.

    Returns:
        A unit vector in the dtype of `mean`.
    """
    drop_key, side_key = jax.random.split(key)
    drop = sample_drop(kappa, len(mean) - 1, key=drop_key)
    side = jax.random.normal(side_key, mean.shape, mean.dtype)
    side = side - (side @ mean) * mean
    # On a circle the rounded side can be exactly 0, once in 1e8 draws: then return the mean.
    side = side / jnp.maximum(jnp.linalg.norm(side), jnp.finfo(mean.dtype).tiny)
    y = mean - drop * mean + jnp.sqrt(drop * (2 - drop)) * side
    return y / jnp.linalg.norm(y)


def sample_turn(kappa: Concentration, *, key: PRNGKeyArray) -> Scalar:
    """Draw one angle θ ∈ (−π, π] of the von Mises density ∝ exp(κ cos θ).

    Args:
        kappa: Concentration κ > 0.
        key: Random key.

    Returns:
        The angle in radians.
    """
    drop_key, sign_key = jax.random.split(key)
    angle = 2 * jnp.arcsin(jnp.sqrt(jnp.minimum(sample_drop(kappa, 1, key=drop_key) / 2, 1)))
    return jnp.where(jax.random.bernoulli(sign_key), angle, -angle)


def sample_drop(kappa: Concentration, d: int, *, key: PRNGKeyArray) -> Scalar:
    """Draw t = 1 − yᵀμ ∈ [0, 2] of density ∝ exp(−κt)(t(2 − t))^{d/2−1}.

    On S² by inverting the distribution function, elsewhere by rejection (Wood 1994). In float32
    rounding changes Wood's acceptance probability by a relative 1e-5 for d ≤ 16 and by less than
    1e-3 for d = 1,000.

    Args:
        kappa: Concentration κ > 0.
        d: Dimension of the sphere, at least 1.
        key: Random key.

    Returns:
        The drop t.
    """
    if d == 2:
        u = jax.random.uniform(key, minval=jnp.finfo(jnp.float32).tiny)
        # u + (1 − u)e^{−2κ}: for small κ as its difference from 1, else as it is, for small u.
        log_survival = jnp.where(
            kappa < SMALL_KAPPA,
            jnp.log1p((1 - u) * jnp.expm1(-2 * kappa)),
            jnp.log(u + (1 - u) * jnp.exp(-2 * kappa)),
        )
        # Clipping only removes rounding.
        return jnp.clip(-log_survival / kappa, 0, 2)
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

    return sample_by_rejection(propose, key)


def wood_drop(normal: Float[Array, " size"], b: Concentration) -> Scalar:
    """Compute Wood's proposal t = 2bβ/(1 − (1 − b)β) ∈ [0, 2] from a normal vector g of R^{d+1}.

    β = (1 + g₀/‖g‖)/2 is Beta(d/2, d/2). The smaller of β and 1 − β is s²/(2‖g‖(‖g‖ + |g₀|)),
    s² = g₁² + …. A sum with 1 would lose its digits near 0 and could be negative.
    """
    norm, first = jnp.linalg.norm(normal), normal[0]
    smaller = normal[1:] @ normal[1:] / (2 * norm * (norm + jnp.abs(first)))
    beta = jnp.where(first < 0, smaller, 1 - smaller)
    rest = jnp.where(first < 0, 1 - smaller, smaller)
    return jnp.minimum(2 * b * beta / (rest + b * beta), 2)
