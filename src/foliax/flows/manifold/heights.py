"""Recursive flows on spheres: one height after the other, down to the circle."""

from __future__ import annotations

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from ...manifolds.base import safe_norm
from ...registry import storable
from .bijections import AbstractBijection, Conditioner, Point, Scalar, conditioner
from .circle import AbstractCircleMap
from .spline import Ends, Move, Spline, shares, slopes


@storable("rivals.Recursive")
class Recursive(AbstractBijection):
    """On S^d: y = (√(1 − h²) s, h) with s ∈ S^{d−1}; a spline maps each height, then a circle map.

    Each map is conditioned on the heights before it. The area is (1 − h²)^{d/2−1} dh ds, so
    log |dy/dx| = log |dh'/dh| + (d/2 − 1) log[(1 − h'²)/(1 − h²)] + that of s. Only ratios of 1 ± h
    are used, so that nothing is infinite at a pole and no digits are lost near it.
    Rezende et al. 2020.

    Args:
        circle_map: The family of maps of the last circle.
        dim: The dimension d of the sphere, at least 2.
        bins: The number of bins of each spline.
        width: The width of the hidden layers.
        depth: The number of hidden layers.
        key: Initialises the networks.
    """

    circle_map: AbstractCircleMap
    heights: tuple[Conditioner, ...]
    circle: Conditioner
    bins: int = eqx.field(static=True)

    def __init__(
        self,
        circle_map: AbstractCircleMap,
        dim: int,
        bins: int,
        width: int,
        depth: int,
        *,
        key: PRNGKeyArray,
    ):
        k1, k2, *keys = jax.random.split(key, dim + 1)
        self.circle_map, self.bins = circle_map, bins
        self.heights = tuple(
            conditioner(i, jnp.zeros(3 * bins + 1), width, depth, key=k) for i, k in enumerate(keys)
        )
        self.circle = conditioner(dim - 1, circle_map.start(key=k1), width, depth, key=k2)

    def forward(self, x: Point) -> tuple[Point, Scalar]:
        def spline(s: Spline, at: Ends, _) -> tuple[Move, Scalar]:
            move = s.forward(at)
            return move, move.ends.low - move.ends.high

        return self._pass(x, spline, self.circle_map.forward)

    def inverse(self, y: Point) -> tuple[Point, Scalar]:
        def spline(s: Spline, at: Ends, height: Scalar) -> tuple[Move, Scalar]:
            return s.inverse(at), height

        return self._pass(y, spline, self.circle_map.inverse)

    def accurate(self) -> Recursive:
        return self

    def _pass(self, point: Point, spline: Callable, circle_map: Callable) -> tuple[Point, Scalar]:
        """Map all heights; `spline` maps (spline, ends, height) to (move, height of y)."""
        known = jnp.zeros(0, point.dtype)
        log_stretch = jnp.zeros((), point.dtype)
        radius, heights = jnp.ones((), point.dtype), []
        for condition in self.heights:
            ends, side, radius_here = split_height(point)
            raw = condition(known)
            move, height = spline(self._spline(raw), ends, point[-1])
            log_stretch = log_stretch + move.log_slope + (len(point) / 2 - 1.5) * move.log_ratios
            heights.append(radius * (move.ends.low - move.ends.high))
            radius = radius * radius_here * jnp.exp(move.log_ratios / 2)
            known, point = jnp.append(known, height), side
        angle = jnp.arctan2(point[1], point[0])
        angle, log_slope = circle_map(self.circle(known), angle)
        turned = radius * jnp.stack([jnp.cos(angle), jnp.sin(angle)])
        y = jnp.concatenate([turned, *(h[None] for h in reversed(heights))])
        return y / safe_norm(y), log_stretch + log_slope

    def _spline(self, raw: Float[Array, " p"]) -> Spline:
        before, after, at_knots = jnp.split(raw, [self.bins, 2 * self.bins])
        return Spline(shares(before), shares(after), slopes(at_knots))


def split_height(
    y: Float[Array, "size *rows"],
) -> tuple[Ends, Float[Array, "rest *rows"], Float[Array, "*rows"]]:
    """Compute (1 ± h)/2, the direction s (any direction at a pole), and √(1 − h²)."""
    height, side = y[-1], y[:-1]
    radius = safe_norm(side)
    pole = radius == 0
    direction = jnp.where(
        pole, jnp.zeros_like(side).at[0].set(1), side / jnp.where(pole, 1, radius)
    )
    # The distance from the nearer pole comes from the radius, because 1 − |h| loses its digits.
    far = (1 + jnp.abs(height)) / 2
    near = radius**2 / (4 * far)
    up = height >= 0
    return Ends(jnp.where(up, far, near), jnp.where(up, near, far)), direction, radius
