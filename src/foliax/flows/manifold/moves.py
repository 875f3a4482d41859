"""Spline moves of one number of a sphere, a circle or a line."""

from __future__ import annotations

import abc

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ...manifolds.base import safe_norm
from ...manifolds.cover import Block
from ...manifolds.torus import wrap
from .bijections import Scalar
from .heights import split_height
from .spline import Ends, Move, Spline, shares, slopes

LINE_REACH = 8.0
"""Splines move a line on [−8, 8], and are the identity outside. A logistic has 0.07 % there."""
MAX_LOG_SCALE = 3.0
"""The largest |log scale| of the affine map of a line in one layer."""
AFFINE_SIZE = 2
"""Parameters besides the spline's: the turn of a circle, or the affine map of a line."""
Part = Float[Array, " size"]
Raw = Float[Array, " p"]


def parameter_count(bins: int) -> int:
    """Count the parameters of a move by a spline of `bins`."""
    return 3 * bins + AFFINE_SIZE


class AbstractMove(abc.ABC):
    """Maps x ↦ u of one block that a spline of `bins` moves; parameters of 0 give the identity."""

    def __init__(self, size: int, bins: int):
        self.size, self.bins = size, bins

    @property
    @abc.abstractmethod
    def own_count(self) -> int:
        """The number of features of the block that its own parameters may depend on."""

    @property
    @abc.abstractmethod
    def shown_count(self) -> int:
        """The number of features that the parameters of other blocks may depend on."""

    @abc.abstractmethod
    def own(self, part: Part) -> Float[Array, " f"]:
        """Compute features that the move leaves as they are."""

    @abc.abstractmethod
    def shown(self, part: Part) -> Float[Array, " f"]:
        """Compute features of the whole block."""

    @abc.abstractmethod
    def forward(self, raw: Raw, part: Part) -> tuple[Part, Scalar]:
        """Compute u, and log |du/dx|."""

    @abc.abstractmethod
    def inverse(self, raw: Raw, part: Part) -> Part:
        """Compute x."""


class AbstractHeightMove(AbstractMove):
    """Moves the last number h of a unit vector (√(1 − h²) s, h) and keeps s.

    The slope is 1 at the poles, so that the density is continuous there.
    log |du/dx| = log |dh'/dh| + (m − 3)/2 · log[(1 − h'²)/(1 − h²)] for m numbers.
    """

    @property
    def own_count(self) -> int:
        return self.size - 1

    def own(self, part: Part) -> Float[Array, " f"]:
        return split_height(part)[1]

    def forward(self, raw: Raw, part: Part) -> tuple[Part, Scalar]:
        ends, direction, radius = split_height(part)
        move = spline_with_fixed_ends(raw, self.bins).forward(ends)
        log_stretch = move.log_slope + (self.size - 3) / 2 * move.log_ratios
        return self._join(move, direction, radius), log_stretch

    def inverse(self, raw: Raw, part: Part) -> Part:
        ends, direction, radius = split_height(part)
        return self._join(spline_with_fixed_ends(raw, self.bins).inverse(ends), direction, radius)

    def _join(self, move: Move, direction: Array, radius: Scalar) -> Part:
        side = radius * jnp.exp(move.log_ratios / 2) * direction
        y = jnp.append(side, move.ends.low - move.ends.high)
        return y / safe_norm(y)


class HeightMove(AbstractHeightMove):
    """Moves the height of a unit vector."""

    @property
    def shown_count(self) -> int:
        return self.size

    def shown(self, part: Part) -> Float[Array, " f"]:
        return part


class AxisMove(AbstractHeightMove):
    """Moves the height of a unit vector up to its sign: the map commutes with the sign.

    If the direction changes its sign, the spline must be mirrored, see `mirror`. Other blocks see
    the squares, which have no sign.
    """

    @property
    def shown_count(self) -> int:
        return self.size * (self.size + 1) // 2

    def shown(self, part: Part) -> Float[Array, " f"]:
        return jnp.outer(part, part)[np.triu_indices(self.size)]

    def mirror(self, raw: Raw) -> Raw:
        """The parameters of the mirrored spline, h ↦ −h'(−h)."""
        before, after, inner = raw[: 3 * self.bins].reshape(3, self.bins)
        knots = jnp.concatenate([inner[:1], inner[:0:-1]])
        return jnp.concatenate([before[::-1], after[::-1], knots, raw[3 * self.bins :]])


class AngleMove(AbstractMove):
    """Turns an angle and moves it by a circular spline.

    The turn is the angle of a vector: unlike a number, it can wind as other angles go around.
    """

    @property
    def own_count(self) -> int:
        return 0

    @property
    def shown_count(self) -> int:
        return 4

    def own(self, part: Part) -> Float[Array, " f"]:
        return part[:0]

    def shown(self, part: Part) -> Float[Array, " f"]:
        both = jnp.concatenate([part, 2 * part])
        return jnp.concatenate([jnp.cos(both), jnp.sin(both)])

    def forward(self, raw: Raw, part: Part) -> tuple[Part, Scalar]:
        move = circular_spline(raw, self.bins).forward(_angle_ends(part - self._turn(raw)))
        return jnp.pi * (move.ends.low - move.ends.high)[None], move.log_slope

    def inverse(self, raw: Raw, part: Part) -> Part:
        move = circular_spline(raw, self.bins).inverse(_angle_ends(part))
        return wrap(jnp.pi * (move.ends.low - move.ends.high)[None] + self._turn(raw))

    def _turn(self, raw: Raw) -> Scalar:
        return jnp.arctan2(raw[-1], 1 + raw[-2])


class LineMove(AbstractMove):
    """Moves a real number by an affine map, then by a spline on [−8, 8]."""

    @property
    def own_count(self) -> int:
        return 0

    @property
    def shown_count(self) -> int:
        return 1

    def own(self, part: Part) -> Float[Array, " f"]:
        return part[:0]

    def shown(self, part: Part) -> Float[Array, " f"]:
        # Bounded, so that an outlier does not take the networks where they never were.
        return jnp.tanh(part / LINE_REACH) * LINE_REACH / 2

    def forward(self, raw: Raw, part: Part) -> tuple[Part, Scalar]:
        log_scale = self._log_scale(raw)
        x = part[0] * jnp.exp(log_scale) + raw[-2]
        inside = jnp.abs(x) < LINE_REACH
        move = spline_with_fixed_ends(raw, self.bins).forward(_line_ends(jnp.where(inside, x, 0)))
        moved = jnp.where(inside, LINE_REACH * (move.ends.low - move.ends.high), x)
        return moved[None], log_scale + jnp.where(inside, move.log_slope, 0)

    def inverse(self, raw: Raw, part: Part) -> Part:
        inside = jnp.abs(part[0]) < LINE_REACH
        move = spline_with_fixed_ends(raw, self.bins).inverse(
            _line_ends(jnp.where(inside, part[0], 0))
        )
        x = jnp.where(inside, LINE_REACH * (move.ends.low - move.ends.high), part[0])
        return ((x - raw[-2]) * jnp.exp(-self._log_scale(raw)))[None]

    def _log_scale(self, raw: Raw) -> Scalar:
        return MAX_LOG_SCALE * jnp.tanh(raw[-1] / MAX_LOG_SCALE)


def move_for(block: Block, bins: int) -> AbstractMove:
    """Return the move of a block."""
    kinds = {"sphere": HeightMove, "axis": AxisMove, "circle": AngleMove, "line": LineMove}
    return kinds[block.kind](block.size, bins)


def spline_with_fixed_ends(raw: Raw, bins: int) -> Spline:
    """Return the spline with slope 1 at both ends; its first parameter of a slope is unused."""
    before, after, inner = raw[: 3 * bins].reshape(3, bins)
    one = jnp.ones(1, raw.dtype)
    knots = jnp.concatenate([one, slopes(inner[1:]), one])
    return Spline(shares(before), shares(after), knots)


def circular_spline(raw: Raw, bins: int) -> Spline:
    """Return the spline with the same slope at both ends."""
    before, after, inner = raw[: 3 * bins].reshape(3, bins)
    knots = slopes(inner)
    return Spline(shares(before), shares(after), jnp.append(knots, knots[0]))


def _angle_ends(angle: Part) -> Ends:
    angle = wrap(angle)[0]
    return Ends((jnp.pi + angle) / (2 * jnp.pi), (jnp.pi - angle) / (2 * jnp.pi))


def _line_ends(x: Scalar) -> Ends:
    return Ends((LINE_REACH + x) / (2 * LINE_REACH), (LINE_REACH - x) / (2 * LINE_REACH))
