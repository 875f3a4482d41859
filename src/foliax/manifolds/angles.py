"""Angles by formulas that compile to vector instructions."""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

Angles = Float[Array, "*n"]

MAX_NEAR_TANGENT = math.sqrt(2) - 1
"""tan(π/8): larger tangents are measured from π/4, so that the series has small arguments."""
NUMERATOR = (
    -8.750608600031904122785e-1,
    -1.615753718733365076637e1,
    -7.500855792314704667340e1,
    -1.228866684490136173410e2,
    -6.485021904942025371773e1,
)
DENOMINATOR = (
    1.0,
    2.485846490142306297962e1,
    1.650270098316988542046e2,
    4.328810604912902668951e2,
    4.853903996359136964868e2,
    1.945506571482613964425e2,
)
"""(arctan t − t)/t³ = N(t²)/D(t²) up to tan(π/8) to 2e-16. Moshier, Cephes, `atan.c`, 1995."""


@jax.custom_jvp
def acute_angle(sine: Angles, cosine: Angles) -> Angles:
    """Compute arctan2(sine, cosine) of two numbers that are not negative, from 0 to π/2.

    XLA calls a function for each `arctan2` or `arcsin`, which takes nine times as long on CPUs.
    The relative error is 3e-16 in float64 and 2e-7 in float32.

    Args:
        sine: The sine of the angle, or a multiple of it.
        cosine: The cosine, or the same multiple of it.

    Returns:
        The angle. It is not a number if both are 0.
    """
    low, high = jnp.minimum(sine, cosine), jnp.maximum(sine, cosine)
    is_near = low <= MAX_NEAR_TANGENT * high
    t = jnp.where(is_near, low, low - high) / jnp.where(is_near, high, low + high)
    z = t * t
    fraction = _polynomial(NUMERATOR, z) / _polynomial(DENOMINATOR, z)
    angle = t + t * z * fraction + jnp.where(is_near, 0.0, math.pi / 4)
    return jnp.where(sine <= cosine, angle, math.pi / 2 - angle)


@acute_angle.defjvp
def _acute_angle_jvp(primals: tuple, tangents: tuple) -> tuple[Angles, Angles]:
    (sine, cosine), (d_sine, d_cosine) = primals, tangents
    slope = (cosine * d_sine - sine * d_cosine) / (sine**2 + cosine**2)
    return acute_angle(sine, cosine), slope


def _polynomial(coefficients: tuple[float, ...], z: Angles) -> Angles:
    """Evaluate a polynomial by Horner's rule, the highest power first."""
    found = jnp.full_like(z, coefficients[0])
    for coefficient in coefficients[1:]:
        found = found * z + np.asarray(coefficient, z.dtype)
    return found
