"""Probabilities of cells of lines, each given those before it.

Rows, if there are several, are on the last axis of every array.
"""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import paramax
from jaxtyping import Array, Float, PRNGKeyArray

from ...manifolds.cover import LINE, Cells
from ...registry import storable
from .moves import AbstractMove, Raw, move_for, parameter_count
from .networks import Sizes, evaluate_network, start_networks

MAX_NARROW = 0.01
"""Width of a cell, in scaled coordinates, below which its probability is density times width.

A difference of float32 values would lose digits there; the curvature costs less than 1e-4.
"""
Features = Float[Array, "f *rows"]
Scalar = Float[Array, "*rows"]


@storable("flows.CellSplines")
class CellSplines(eqx.Module):
    """P(cell_j | features, cells before j) = F(high) − F(low), F a logistic after a spline.

    Nothing is sampled: the position within a cell integrates out exactly.

    Args:
        location: A number in the middle of each coordinate's cells.
        scale: The spread of each coordinate.
        features: The number of features.
        width: The width of the hidden layers.
        depth: The number of hidden layers.
        bins: The number of bins of each spline.
        key: Initialises the networks.
    """

    networks: tuple[eqx.nn.MLP, ...]
    location: paramax.NonTrainable
    scale: paramax.NonTrainable
    bins: int = eqx.field(static=True)

    def __init__(
        self,
        location: Float[Array, " c"],
        scale: Float[Array, " c"],
        features: int,
        *,
        width: int,
        depth: int,
        bins: int,
        key: PRNGKeyArray,
    ):
        self.bins = bins
        self.location, self.scale = paramax.NonTrainable(location), paramax.NonTrainable(scale)
        self.networks = tuple(
            start_networks(Sizes(1 + features + i, parameter_count(bins), width, depth), (), k)
            for i, k in enumerate(jax.random.split(key, len(location)))
        )

    def log_prob(self, cells: Cells, features: Features) -> Scalar:
        """Compute the log probability of the cells of one point.

        Args:
            cells: The cells.
            features: What they depend on.
        """
        shape = (-1, *(1,) * (cells.middle.ndim - 1))
        location, scale = (v.reshape(shape) for v in paramax.unwrap((self.location, self.scale)))
        low, high, middle = ((v - location) / scale for v in cells[:3])
        log_width = cells.log_width - jnp.log(scale)
        found = jnp.zeros_like(middle[0])
        for i in range(len(self.networks)):
            raw = self._parameters(i, features, middle)
            found += self._log_cell(raw, low[i], high[i], middle[i], log_width[i])
        return found

    def sample_coordinate(
        self, i: int, middle: Float[Array, " c"], features: Features, *, key: PRNGKeyArray
    ) -> Scalar:
        """Draw a number in the cell of coordinate i, given the middles of the cells before."""
        location, scale = paramax.unwrap((self.location, self.scale))
        raw = self._parameters(i, features, (middle - location) / scale)
        t = self._move.inverse(raw, jax.random.logistic(key, (1,), middle.dtype))[0]
        return location[i] + scale[i] * t

    @property
    def _move(self) -> AbstractMove:
        return move_for(LINE, self.bins)

    def _parameters(self, i: int, features: Features, middle: Float[Array, "c *rows"]) -> Raw:
        before = self._move.shown(middle[:i])
        one = jnp.ones_like(middle[:1])
        return evaluate_network(self.networks[i], jnp.concatenate([one, features, before]))

    def _log_cell(self, raw: Raw, low, high, middle, log_width) -> Scalar:
        is_narrow = log_width < jnp.log(MAX_NARROW)
        is_used = [jnp.isfinite(end) & ~is_narrow for end in (low, high)]
        # A number on the right side of the middle keeps an unused difference finite.
        a, b = jnp.where(is_used[0], low, middle - 1), jnp.where(is_used[1], high, middle + 1)
        moved, log_slopes = jax.vmap(lambda t: self._move.forward(raw, t))(
            jnp.stack([middle, a, b])[:, None]
        )
        u, a, b = moved[:, 0]
        has_low, has_high = jnp.isfinite(low), jnp.isfinite(high)
        narrow = log_logistic(u) + log_slopes[0] + log_width
        # σ(b) − σ(a) = σ(b) σ(−a) (1 − e^{a−b}), which loses no digits in the tails.
        wide = jnp.where(has_high, jax.nn.log_sigmoid(b), 0)
        wide += jnp.where(has_low, jax.nn.log_sigmoid(-a), 0)
        gap = jnp.where(has_low & has_high, b - a, 1)
        wide += jnp.where(has_low & has_high, jnp.log(-jnp.expm1(-gap)), 0)
        return jnp.where(is_narrow, narrow, wide)


def log_logistic(u: Scalar) -> Scalar:
    """Compute the log density of the standard logistic distribution."""
    return jax.nn.log_sigmoid(u) + jax.nn.log_sigmoid(-u)
