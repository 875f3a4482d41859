"""Probabilities of cells of lines, each given those before it."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import paramax
from jaxtyping import Array, Float, PRNGKeyArray

from ...manifolds.cover import LINE, Cells
from ...registry import storable
from .bijections import Scalar
from .block_splines import Sizes, start_networks
from .moves import AbstractMove, Raw, move_for, parameter_count

MAX_NARROW = 0.01
"""Width of a cell, in scaled coordinates, below which its probability is density times width.

A difference of float32 values would lose digits there; the curvature costs less than 1e-4.
"""
Features = Float[Array, " f"]


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
        location, scale = paramax.unwrap((self.location, self.scale))
        low, high, middle = ((v - location) / scale for v in cells[:3])
        log_width = cells.log_width - jnp.log(scale)
        found = jnp.zeros((), middle.dtype)
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

    def _parameters(self, i: int, features: Features, middle: Float[Array, " c"]) -> Raw:
        before = self._move.shown(middle[:i])
        one = jnp.ones(1, features.dtype)
        return self.networks[i](jnp.concatenate([one, features, before]))

    def _log_cell(self, raw: Raw, low, high, middle, log_width) -> Scalar:
        def place(t: Scalar) -> tuple[Scalar, Scalar]:
            u, log_slope = self._move.forward(raw, t[None])
            return u[0], log_slope

        is_narrow = log_width < jnp.log(MAX_NARROW)
        u, log_slope = place(middle)
        narrow = log_logistic(u) + log_slope + log_width
        ends = []
        for end in (low, high):
            is_used = jnp.isfinite(end) & ~is_narrow
            # A number on the right side of the middle keeps the unused difference finite.
            spare = middle + jnp.where(end < middle, -1.0, 1.0)
            ends.append((place(jnp.where(is_used, end, spare))[0], jnp.isfinite(end)))
        (a, has_low), (b, has_high) = ends
        # σ(b) − σ(a) = σ(b) σ(−a) (1 − e^{a−b}), which loses no digits in the tails.
        wide = jnp.where(has_high, jax.nn.log_sigmoid(b), 0)
        wide += jnp.where(has_low, jax.nn.log_sigmoid(-a), 0)
        gap = jnp.where(has_low & has_high, b - a, 1)
        wide += jnp.where(has_low & has_high, jnp.log(-jnp.expm1(-gap)), 0)
        return jnp.where(is_narrow, narrow, wide)


def log_logistic(u: Scalar) -> Scalar:
    """Compute the log density of the standard logistic distribution."""
    return jax.nn.log_sigmoid(u) + jax.nn.log_sigmoid(-u)
