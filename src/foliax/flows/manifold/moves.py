"""Spline moves of one number of a sphere, a circle or a line.

Rows, if there are several, are on the last axis of every array.
"""

from __future__ import annotations

import abc
from typing import ClassVar

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from ...manifolds.base import safe_norm
from ...manifolds.cover import Block
from ...manifolds.torus import wrap
from .heights import split_height
from .spline import Ends, Move, Spline, shares, slopes

LINE_REACH = 8.0
"""Splines move a line on [−8, 8], and are the identity outside. A logistic has 0.07 % there."""
MAX_LOG_SCALE = 3.0
"""The largest |log scale| of the affine map of a line in one layer."""
AFFINE_SIZE = 2
"""Parameters besides the spline's: the turn of a circle, or the affine map of a line."""
Part = Float[Array, "size *rows"]
Raw = Float[Array, "p *rows"]
Scalar = Float[Array, "*rows"]


def parameter_count(bins: int) -> int:
    """Count the parameters of a move by a spline of `bins`."""
    return 3 * bins + AFFINE_SIZE


class AbstractMove(abc.ABC):
    """Maps x ↦ u of one block that a spline of `bins` moves; parameters of 0 give the identity."""

    is_circular: ClassVar[bool] = False
    """Whether the ends of the spline are one point, with one slope there."""

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
    def own(self, part: Part) -> Float[Array, "f *rows"]:
        """Compute features that the move leaves as they are."""

    @abc.abstractmethod
    def shown(self, part: Part) -> Float[Array, "f *rows"]:
        """Compute features of the whole block."""

    @abc.abstractmethod
    def ends(self, raw: Raw, part: Part) -> Ends:
        """Compute the number that the spline moves, by its distances from both ends."""

    @abc.abstractmethod
    def place(self, raw: Raw, part: Part, move: Move) -> tuple[Part, Scalar]:
        """Compute u from the spline's move, and log |du/dx|."""

    @abc.abstractmethod
    def inverse(self, raw: Raw, part: Part) -> Part:
        """Compute x."""

    def forward(self, raw: Raw, part: Part) -> tuple[Part, Scalar]:
        """Compute u, and log |du/dx|."""
        return self.place(raw, part, self.spline(raw).forward(self.ends(raw, part)))

    def spline(self, raw: Raw) -> Spline:
        """Return the spline of the parameters."""
        return build_spline(raw, self.bins, self.is_circular)


class AbstractHeightMove(AbstractMove):
    """Moves the last number h of a unit vector (√(1 − h²) s, h) and keeps s.

    The slope is 1 at the poles, so that the density is continuous there.
    log |du/dx| = log |dh'/dh| + (m − 3)/2 · log[(1 − h'²)/(1 − h²)] for m numbers.
    """

    @property
    def own_count(self) -> int:
        return self.size - 1

    def own(self, part: Part) -> Float[Array, "f *rows"]:
        return split_height(part)[1]

    def ends(self, raw: Raw, part: Part) -> Ends:
        return split_height(part)[0]

    def place(self, raw: Raw, part: Part, move: Move) -> tuple[Part, Scalar]:
        log_stretch = move.log_slope + (self.size - 3) / 2 * move.log_ratios
        return self._join(part, move), log_stretch

    def inverse(self, raw: Raw, part: Part) -> Part:
        return self._join(part, self.spline(raw).inverse(self.ends(raw, part)))

    def _join(self, part: Part, move: Move) -> Part:
        _, direction, radius = split_height(part)
        side = radius * jnp.exp(move.log_ratios / 2) * direction
        y = jnp.concatenate([side, (move.ends.low - move.ends.high)[None]])
        return y / safe_norm(y)


class HeightMove(AbstractHeightMove):
    """Moves the height of a unit vector."""

    @property
    def shown_count(self) -> int:
        return self.size

    def shown(self, part: Part) -> Float[Array, "f *rows"]:
        return part


class AxisMove(AbstractHeightMove):
    """Moves the height of a unit vector up to its sign: the map commutes with the sign.

    If the direction changes its sign, the spline must be mirrored, see `mirror`. Other blocks see
    the squares, which have no sign.
    """

    @property
    def shown_count(self) -> int:
        return self.size * (self.size + 1) // 2

    def shown(self, part: Part) -> Float[Array, "f *rows"]:
        return (part[:, None] * part)[np.triu_indices(self.size)]

    def mirror(self, raw: Raw) -> Raw:
        """The parameters of the mirrored spline, h ↦ −h'(−h)."""
        before, after, inner = _split_raw(raw, self.bins)
        knots = jnp.concatenate([inner[:1], inner[:0:-1]])
        return jnp.concatenate([before[::-1], after[::-1], knots, raw[3 * self.bins :]])


class AngleMove(AbstractMove):
    """Turns an angle and moves it by a circular spline.

    The turn is the angle of a vector: unlike a number, it can wind as other angles go around.
    """

    is_circular: ClassVar[bool] = True

    @property
    def own_count(self) -> int:
        return 0

    @property
    def shown_count(self) -> int:
        return 4

    def own(self, part: Part) -> Float[Array, "f *rows"]:
        return part[:0]

    def shown(self, part: Part) -> Float[Array, "f *rows"]:
        both = jnp.concatenate([part, 2 * part])
        return jnp.concatenate([jnp.cos(both), jnp.sin(both)])

    def ends(self, raw: Raw, part: Part) -> Ends:
        return _angle_ends(part - self._turn(raw))

    def place(self, raw: Raw, part: Part, move: Move) -> tuple[Part, Scalar]:
        return jnp.pi * (move.ends.low - move.ends.high)[None], move.log_slope

    def inverse(self, raw: Raw, part: Part) -> Part:
        move = self.spline(raw).inverse(_angle_ends(part))
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

    def own(self, part: Part) -> Float[Array, "f *rows"]:
        return part[:0]

    def shown(self, part: Part) -> Float[Array, "f *rows"]:
        # Bounded, so that an outlier does not take the networks where they never were.
        return jnp.tanh(part / LINE_REACH) * LINE_REACH / 2

    def ends(self, raw: Raw, part: Part) -> Ends:
        x = self._scaled(raw, part)
        return _line_ends(jnp.where(jnp.abs(x) < LINE_REACH, x, 0))

    def place(self, raw: Raw, part: Part, move: Move) -> tuple[Part, Scalar]:
        x = self._scaled(raw, part)
        inside = jnp.abs(x) < LINE_REACH
        moved = jnp.where(inside, LINE_REACH * (move.ends.low - move.ends.high), x)
        return moved[None], self._log_scale(raw) + jnp.where(inside, move.log_slope, 0)

    def inverse(self, raw: Raw, part: Part) -> Part:
        inside = jnp.abs(part[0]) < LINE_REACH
        move = self.spline(raw).inverse(_line_ends(jnp.where(inside, part[0], 0)))
        x = jnp.where(inside, LINE_REACH * (move.ends.low - move.ends.high), part[0])
        return ((x - raw[-2]) * jnp.exp(-self._log_scale(raw)))[None]

    def _scaled(self, raw: Raw, part: Part) -> Scalar:
        return part[0] * jnp.exp(self._log_scale(raw)) + raw[-2]

    def _log_scale(self, raw: Raw) -> Scalar:
        return MAX_LOG_SCALE * jnp.tanh(raw[-1] / MAX_LOG_SCALE)


def move_for(block: Block, bins: int) -> AbstractMove:
    """Return the move of a block."""
    kinds = {"sphere": HeightMove, "axis": AxisMove, "circle": AngleMove, "line": LineMove}
    return kinds[block.kind](block.size, bins)


def build_spline(raw: Raw, bins: int, is_circular: bool | Bool[Array, ""]) -> Spline:
    """Return the spline of unconstrained parameters.

    Args:
        raw: Widths before and after the move, and slopes at the knots.
        bins: The number of bins.
        is_circular: Whether both ends have the slope of the first knot. Otherwise it is 1.
    """
    before, after, inner = _split_raw(raw, bins)
    knots = slopes(inner)
    first, others = jnp.split(knots, [1])
    end = jnp.where(is_circular, first, 1)
    return Spline(shares(before), shares(after), jnp.concatenate([end, others, end]))


def _split_raw(raw: Raw, bins: int) -> tuple[Array, Array, Array]:
    # By products: XLA would fuse all of the gradient into the concatenation that is the gradient of
    # a split, and evaluate it again for every parameter.
    picks = np.eye(3 * bins, len(raw), dtype=np.float32).reshape(3, bins, len(raw))
    before, after, inner = (jnp.tensordot(pick, raw, 1, precision="highest") for pick in picks)
    return before, after, inner


def _angle_ends(angle: Part) -> Ends:
    angle = wrap(angle)[0]
    return Ends((jnp.pi + angle) / (2 * jnp.pi), (jnp.pi - angle) / (2 * jnp.pi))


def _line_ends(x: Scalar) -> Ends:
    return Ends((LINE_REACH + x) / (2 * LINE_REACH), (LINE_REACH - x) / (2 * LINE_REACH))
