"""Monotone rational-quadratic splines that keep the distances of a point from both ends.

FlowJAX's spline has one coordinate. Near an end the distance from it would be a difference of
almost equal numbers, and on a sphere that distance is the square of the distance to the pole.

Arrays may have further axes after those in the annotations, one number for each row: with rows on
the last axis a processor works on many of them at once.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

Scalar = Float[Array, "*rows"]
MIN_BIN = 1e-3
"""The smallest width of a bin, as a share of the interval."""
MIN_SLOPE = 1e-3
"""The smallest slope at a knot."""
MAX_BINS = 500
"""The largest number of bins, at which half of the interval is taken by `MIN_BIN`."""


class Ends(NamedTuple):
    """A point of [0, 1] by its distances from 0 and from 1, each to full relative accuracy."""

    low: Scalar
    high: Scalar


class Move(NamedTuple):
    """The image of a point under a spline."""

    ends: Ends
    log_slope: Scalar
    log_ratios: Scalar
    """log of (new low · new high) / (old low · old high), which is finite also at the ends."""


class Spline(NamedTuple):
    """s ↦ s' on [0, 1], s' = t_k + H (sξ² + d_k ξζ)/(s + (d_k + d_{k+1} − 2s)ξζ) in bin k.

    ξ = 1 − ζ is the position in the bin, w and H its widths before and after, s = H/w, and d the
    slopes at the knots. Gregory & Delbourgo 1982; Durkan et al. 2019.
    """

    before: Float[Array, "bins *rows"]
    after: Float[Array, "bins *rows"]
    slopes: Float[Array, "knots *rows"]

    def forward(self, at: Ends) -> Move:
        """Compute s'."""
        k = _bin(self.before, at)
        xi, zeta = _within(self.before, at, k)
        return self._move(k, xi, zeta)

    def inverse(self, at: Ends) -> Move:
        """Compute s by the quadratic equation for ξ and its mirror image for ζ."""
        k = _bin(self.after, at)
        eta, rest = _within(self.after, at, k)
        s, d0, d1 = self._bin_shape(k)
        # Solve from the nearer knot, since the spline may stretch the rounding of the farther one.
        near_low = eta <= rest
        xi, zeta = _root(s, d0, d1, eta), _root(s, d1, d0, rest)
        xi, zeta = jnp.where(near_low, xi, 1 - zeta), jnp.where(near_low, 1 - xi, zeta)
        _, log_slope, log_ratios = self._move(k, xi, zeta)
        return Move(_position(self.before, k, xi, zeta), -log_slope, -log_ratios)

    def _bin_shape(self, k) -> tuple[Scalar, Scalar, Scalar]:
        """Compute H/w of bin k and the slopes at its knots."""
        slope = _pick(self.after, k) / _pick(self.before, k)
        return slope, _pick(self.slopes[:-1], k), _pick(self.slopes[1:], k)

    def _move(self, k, xi: Scalar, zeta: Scalar) -> Move:
        s, d0, d1 = self._bin_shape(k)
        bottom = s + (d0 + d1 - 2 * s) * xi * zeta
        up, down = (s * xi + d0 * zeta) / bottom, (s * zeta + d1 * xi) / bottom
        old = _position(self.before, k, xi, zeta)
        new = _position(self.after, k, xi * up, zeta * down)
        top = d1 * xi**2 + 2 * s * xi * zeta + d0 * zeta**2
        log_slope = 2 * jnp.log(s / bottom) + jnp.log(top)
        # In the bin at an end the distance cancels from the ratio.
        first, last = k == 0, k == len(self.before) - 1
        low = jnp.where(first, s * up, new.low / jnp.where(first, 1, old.low))
        high = jnp.where(last, s * down, new.high / jnp.where(last, 1, old.high))
        return Move(new, log_slope, jnp.log(low) + jnp.log(high))


def _bin(widths: Float[Array, "bins *rows"], at: Ends):
    # A product with a triangle: XLA compiles a cumulative sum to a slower program.
    knots = np.tril(np.ones((len(widths) - 1, len(widths)), np.float32)) @ widths
    return (at.low >= knots).sum(0)


def _numbers(values: Float[Array, "bins *rows"]) -> np.ndarray:
    """The numbers of the bins, along the first axis."""
    return np.arange(len(values)).reshape(-1, *(1,) * (values.ndim - 1))


def _pick(values: Float[Array, "bins *rows"], k) -> Scalar:
    """Return values[k] by a sum: the gradient of a gather would be a slow scatter."""
    return jnp.where(_numbers(values) == k, values, 0).sum(0)


def _within(widths: Float[Array, "bins *rows"], at: Ends, k) -> tuple[Scalar, Scalar]:
    """Compute ξ and ζ = 1 − ξ by the distance from the nearer end, which has finer rounding."""
    below, above = _outside(widths, k)
    width = _pick(widths, k)
    xi, zeta = (at.low - below) / width, (at.high - above) / width
    first, last, by_low = k == 0, k == len(widths) - 1, at.low <= at.high
    return jnp.where(by_low | first, xi, 1 - zeta), jnp.where(by_low & ~last, 1 - xi, zeta)


def _position(widths: Float[Array, "bins *rows"], k, xi: Scalar, zeta: Scalar) -> Ends:
    below, above = _outside(widths, k)
    width = _pick(widths, k)
    return Ends(below + width * xi, above + width * zeta)


def _outside(widths: Float[Array, "bins *rows"], k) -> tuple[Scalar, Scalar]:
    """Compute the lengths of the bins below and above bin k, exactly 0 at the ends."""
    number = _numbers(widths)
    return jnp.where(number < k, widths, 0).sum(0), jnp.where(number > k, widths, 0).sum(0)


def _root(s: Scalar, d0: Scalar, d1: Scalar, eta: Scalar) -> Scalar:
    """Solve for ξ in [0, 1]: η (s + (d0 + d1 − 2s) ξ (1 − ξ)) = sξ² + d0 ξ (1 − ξ)."""
    bend = eta * (d0 + d1 - 2 * s)
    a, b = s - d0 + bend, d0 - bend
    # a + b = s > 0, so a > 0 where b < 0, and neither form loses digits where it is used.
    root = jnp.sqrt(b**2 + 4 * a * s * eta)
    plus = b >= 0
    return jnp.where(
        plus,
        2 * s * eta / jnp.where(plus, b + root, 1),
        (root - b) / jnp.where(plus, 1, 2 * a),
    )


def shares(raw: Float[Array, "bins *rows"]) -> Float[Array, "bins *rows"]:
    """Map reals to positive numbers of sum 1, none below `MIN_BIN`."""
    return MIN_BIN + (1 - len(raw) * MIN_BIN) * jax.nn.softmax(raw, axis=0)


def slopes(raw: Float[Array, "knots *rows"]) -> Float[Array, "knots *rows"]:
    """Map reals to positive numbers; 0 maps to 1."""
    return MIN_SLOPE + jax.nn.softplus(raw + math.log(math.expm1(1 - MIN_SLOPE)))


def check_bins(bins: int) -> None:
    """Raise `ValueError` if a spline cannot have this number of bins."""
    if not 2 <= bins <= MAX_BINS:
        raise ValueError(f"A spline needs 2 to {MAX_BINS} bins, got {bins}.")
