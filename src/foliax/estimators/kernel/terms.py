"""Terms of kernel sums: masses of cells, sums of logs, and choosing a row by its weight."""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from ...density.batches import pad_to_power_of_two

Scalar = Float[Array, ""]


def sample_row(logs: Float[Array, " n"], *, key: PRNGKeyArray) -> Int[Array, ""]:
    """Draw a row's number with probability proportional to exp(logs).

    First a block of about √n rows, then a row of it: exact, and much less work than one draw from
    all rows when many rows are drawn.
    """
    side = math.isqrt(len(logs) - 1) + 1
    blocks = jnp.pad(logs, (0, side * side - len(logs)), constant_values=-jnp.inf)
    blocks = blocks.reshape(side, side)
    k1, k2 = jax.random.split(key)
    block = jax.random.categorical(k1, jax.nn.logsumexp(blocks, axis=1))
    return block * side + jax.random.categorical(k2, blocks[block])


def select_levels(
    level: Int[np.ndarray, "n c"], levels: tuple[Any, ...]
) -> tuple[Int[np.ndarray, "n c"], tuple[np.ndarray, ...]]:
    """Keep the levels that occur among some rows, and renumber those rows' levels."""
    found = [np.unique(column, return_inverse=True) for column in level.T]
    kept = tuple(
        pad_to_power_of_two(np.asarray(m)[used]) for m, (used, _) in zip(levels, found, strict=True)
    )
    numbers = np.reshape([number for _, number in found], level.T.shape).T
    return numbers.astype(np.int32), kept


def sum_level_masses(
    masses: list[Float[Array, " _"]], level: Int[Array, "n c"]
) -> Float[Array, " n"] | Scalar:
    """Sum the log masses of every row's cells over columns, given the masses of the levels."""
    found = [jnp.take(each, level[:, c], mode="clip") for c, each in enumerate(masses)]
    return sum(found, jnp.zeros(()))


def log_sum(logs: Float[Array, " n"]) -> Scalar:
    """Compute log Σ exp, −inf where all are −inf, faster than a differentiable logsumexp."""
    top = logs.max()
    top = jnp.where(jnp.isfinite(top), top, 0)
    # A compiler may compute logs twice. Far from all rows, they differ by more than exp can hold.
    return jnp.log(jnp.exp(jnp.minimum(logs - top, 0)) @ jnp.ones_like(logs)) + top


def log_cell(
    ends: Float[Array, "n 2"], kappa: Scalar, width: Float[Array, "*n"] | float = 0.0
) -> Float[Array, " n"]:
    """Compute the log mass of cells under a centred normal of precision κ.

    The tail on the nearer side avoids cancellation. Cells narrower than 0.1 deviations use the
    midpoint rule with its first correction, whose error is below 1e-6.

    Args:
        ends: Lower and upper end of each cell.
        kappa: The precision.
        width: The cells' width where the ends are too close together for float32. By default 0:
            the difference of the ends.

    Returns:
        The log mass of each cell.
    """
    ends = ends * jnp.sqrt(kappa)
    low, high = ends[:, 0], ends[:, 1]
    flipped = low + high > 0
    low, high = jnp.where(flipped, -high, low), jnp.where(flipped, -low, high)
    width = width * jnp.sqrt(kappa)
    is_given = width > 0
    centre = jnp.where(is_given, (high + low) / 2, 0.0)
    low, high = (
        jnp.where(is_given, centre - width / 2, low),
        jnp.where(is_given, centre + width / 2, high),
    )
    width = jnp.where(is_given, width, high - low)
    log_high = jax.scipy.special.log_ndtr(high)
    log_low = jax.scipy.special.log_ndtr(low)
    by_tails = log_high + jnp.log1p(-jnp.exp(jnp.minimum(log_low - log_high, -1e-7)))
    narrow = width < 0.1
    width = jnp.where(narrow, width, 0.1)
    middle = jnp.where(narrow, (high + low) / 2, 0.0)
    correction = (middle**2 - 1) * width**2 / 24
    by_middle = -0.5 * middle**2 + jnp.log(width) - 0.5 * jnp.log(2 * jnp.pi)
    return jnp.where(narrow, by_middle + jnp.log1p(jnp.maximum(correction, -0.5)), by_tails)
