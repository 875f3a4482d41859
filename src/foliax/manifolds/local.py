"""Local coordinates: how rows that lie near each other are told apart in single precision.

A model computes in float32, which resolves 1e-7 of a value. Rows at 101325 ± 3, or within 100 m on
the Earth, differ by less than that allows. A manifold therefore offers coordinates that it finds
from the rows in float64: a bijection onto a *working* manifold, centred and scaled, on which a
model is fitted. log p(y) = log p(t) + log |dt/dy|.
"""

from __future__ import annotations

import abc
import itertools
import math
from typing import Any

import equinox as eqx
import numpy as np
from jaxtyping import Float

from ..registry import storable
from .base import AbstractManifold

FAR_OFFSET = 16.0
"""Median over spread from which on values are centred and scaled before they are cast."""
NARROW_SPREAD = 0.05
"""Spread of logarithms below which they are centred and scaled: relative differences of 5 %."""
NARROW_ANGLE = 0.02
"""Radians around their mean within which all points must lie to be told apart by a local chart.

127 km on the Earth. Kernels on the sphere itself resolve 540 m.
"""
SCALE_RANGE = (1e-15, 1e15)
"""Spreads whose squares and reciprocals float32 can hold."""
FAR_CELLS = 2.0**10
"""Cells away from zero from which on counted and rounded values are counted from their median."""
FEW_VALUES = 20
"""Different values of a column below which it does not matter that some are not told apart."""
MOST_MERGED = 0.3
"""Share of a column's different values that may become equal in float32; of 1e7 a quarter does."""
MOST_CELLS = 2.0**16
"""Cells that float32 can tell apart with room for the position within each."""

Rows = Float[np.ndarray, "n size"]
Array = Any
"""NumPy's or JAX's, of shape (…, size)."""


class AbstractCoordinates(eqx.Module):
    """A bijection from a manifold onto a working one, found from rows in float64."""

    working: eqx.AbstractVar[AbstractManifold]
    """Where the coordinates lie."""

    @abc.abstractmethod
    def encode(self, y: Array, xp: Any = np) -> tuple[Array, Array]:
        """Map points to coordinates.

        Args:
            y: Points, of shape (…, size).
            xp: `numpy`, which keeps float64, or `jax.numpy`, for traced code.

        Returns:
            The coordinates t, of shape (…, working.size), and log |dt/dy|, of shape (…).
        """

    @abc.abstractmethod
    def decode(self, t: Array, xp: Any = np) -> Array:
        """Map coordinates back to points."""


@storable("manifolds.Unchanged")
class Unchanged(AbstractCoordinates):
    """t = y: points that need no local coordinates."""

    working: AbstractManifold

    def encode(self, y: Array, xp: Any = np) -> tuple[Array, Array]:
        return y, xp.zeros(y.shape[:-1], y.dtype)

    def decode(self, t: Array, xp: Any = np) -> Array:
        return t


@storable("manifolds.CellsFromMedian")
class CellsFromMedian(AbstractCoordinates):
    """t = (y − offset)/step − origin: cells counted from a whole number; the pmf stays."""

    working: AbstractManifold
    origin: np.ndarray
    step: float = eqx.field(static=True)
    offset: float = eqx.field(static=True)

    def encode(self, y: Array, xp: Any = np) -> tuple[Array, Array]:
        cells = xp.round((y - self.offset) / self.step)
        return cells - self.origin.astype(y.dtype), xp.zeros(y.shape[:-1], y.dtype)

    def decode(self, t: Array, xp: Any = np) -> Array:
        return self.offset + self.step * (self.origin.astype(t.dtype) + t)


@storable("manifolds.Stereographic")
class Stereographic(AbstractCoordinates):
    """t = u/scale, u = 2Bᵀy/(1 + cᵀy) on the sphere S^d; log |du/dy| = d log(1 + ‖u‖²/4).

    c: the rows' mean direction; B: an orthonormal basis of the tangent space there. One to one but
    for the antipode of c, so that no mass is lost.
    """

    working: AbstractManifold
    centre: np.ndarray
    basis: np.ndarray
    scale: np.ndarray

    def encode(self, y: Array, xp: Any = np) -> tuple[Array, Array]:
        centre, basis = self.centre.astype(y.dtype), self.basis.astype(y.dtype)
        u = _half_tangent(y @ basis, y @ centre, xp)
        log_stretch = len(self.scale) * xp.log1p((u**2).sum(-1) / 4)
        return u / self.scale.astype(y.dtype), log_stretch - float(np.log(self.scale).sum())

    def decode(self, t: Array, xp: Any = np) -> Array:
        u = t * self.scale.astype(t.dtype)
        squared = (u**2).sum(-1)[..., None]
        centre, basis = self.centre.astype(t.dtype), self.basis.astype(t.dtype)
        return ((4 - squared) * centre + 4 * (u @ basis.T)) / (4 + squared)


@storable("manifolds.NarrowAngles")
class NarrowAngles(AbstractCoordinates):
    """t = 2 tan((θ − c)/2)/scale for the angles that lie close together; the others stay.

    The angles that stay come first. One to one but for θ = c + π, so that no mass is lost.
    """

    working: AbstractManifold
    centre: np.ndarray
    scale: np.ndarray
    narrow: tuple[int, ...] = eqx.field(static=True)
    wide: tuple[int, ...] = eqx.field(static=True)

    def encode(self, y: Array, xp: Any = np) -> tuple[Array, Array]:
        turn = y[..., list(self.narrow)] - self.centre.astype(y.dtype)
        u = _half_tangent(xp.sin(turn)[..., None], xp.cos(turn), xp)[..., 0]
        log_stretch = xp.log1p(u**2 / 4).sum(-1) - float(np.log(self.scale).sum())
        t = u / self.scale.astype(y.dtype)
        return xp.concatenate([y[..., list(self.wide)], t], -1), log_stretch

    def decode(self, t: Array, xp: Any = np) -> Array:
        stay = len(self.wide)
        u = t[..., stay:] * self.scale.astype(t.dtype)
        angles = self.centre.astype(t.dtype) + 2 * xp.arctan(u / 2)
        angles = (angles + math.pi) % (2 * math.pi) - math.pi
        order = np.argsort([*self.wide, *self.narrow])
        return xp.concatenate([t[..., :stay], angles], -1)[..., order]


@storable("manifolds.Rodrigues")
class Rodrigues(AbstractCoordinates):
    """t = u/scale, u/2 = the Rodrigues vector g of MᵀR, for rotations R of SO(3) near M.

    g = tan(θ/2) times the axis; dR = 2^{3/2} (1 + ‖u‖²/4)^{−2} du in the Frobenius measure. One to
    one but for half turns, so that no mass is lost.
    """

    working: AbstractManifold
    centre: np.ndarray
    scale: np.ndarray

    def encode(self, y: Array, xp: Any = np) -> tuple[Array, Array]:
        matrix = y.reshape(*y.shape[:-1], 3, 3)
        turn = xp.swapaxes(xp.asarray(self.centre.astype(y.dtype)), 0, 1) @ matrix
        skew = [turn[..., 2, 1] - turn[..., 1, 2], turn[..., 0, 2] - turn[..., 2, 0]]
        skew = xp.stack([*skew, turn[..., 1, 0] - turn[..., 0, 1]], -1)
        trace = turn[..., 0, 0] + turn[..., 1, 1] + turn[..., 2, 2]
        u = _half_tangent(skew / 2, (trace - 1) / 2, xp)
        log_stretch = 2 * xp.log1p((u**2).sum(-1) / 4) - 1.5 * math.log(2)
        return u / self.scale.astype(y.dtype), log_stretch - float(np.log(self.scale).sum())

    def decode(self, t: Array, xp: Any = np) -> Array:
        g = t * self.scale.astype(t.dtype) / 2
        zero = xp.zeros(g.shape[:-1], g.dtype)
        rows = [(zero, -g[..., 2], g[..., 1]), (g[..., 2], zero, -g[..., 0])]
        cross = xp.stack([xp.stack(r, -1) for r in (*rows, (-g[..., 1], g[..., 0], zero))], -2)
        turn = xp.eye(3, dtype=g.dtype) + 2 * (cross + cross @ cross) / (
            1 + (g**2).sum(-1)[..., None, None]
        )
        return (self.centre.astype(g.dtype) @ turn).reshape(*g.shape[:-1], 9)


@storable("manifolds.SideBySide")
class SideBySide(AbstractCoordinates):
    """The coordinates of a product's factors, concatenated."""

    working: AbstractManifold
    parts: tuple[AbstractCoordinates, ...]
    sizes: tuple[int, ...] = eqx.field(static=True)
    """Of the factors' points."""

    def encode(self, y: Array, xp: Any = np) -> tuple[Array, Array]:
        each = [part.encode(v, xp) for part, v in self._with(y, self.sizes)]
        return xp.concatenate([t for t, _ in each], -1), sum(log for _, log in each)

    def decode(self, t: Array, xp: Any = np) -> Array:
        sizes = [part.working.size for part in self.parts]
        return xp.concatenate([part.decode(v, xp) for part, v in self._with(t, sizes)], -1)

    def _with(self, y: Array, sizes: Any) -> list[tuple[AbstractCoordinates, Array]]:
        ends = np.cumsum([0, *sizes])
        pieces = [y[..., a:b] for a, b in itertools.pairwise(ends)]
        return list(zip(self.parts, pieces, strict=True))


def _half_tangent(sine: Array, cosine: Array, xp: Any) -> Array:
    """2 tan(θ/2) times a direction, given sin θ times it and cos θ.

    Beyond a quarter turn 1 + cos θ is found as sin² θ/(1 − cos θ), which keeps its digits. Half a
    turn away, where the chart ends, the result is far out rather than infinite.
    """
    least = float(np.finfo(sine.dtype).eps)
    squared = (sine**2).sum(-1)[..., None]
    cosine = cosine[..., None]
    at_the_end = (cosine < 0) & (squared < least**2)
    sine = xp.where(at_the_end, least / math.sqrt(sine.shape[-1]), sine)
    squared = xp.where(at_the_end, least**2, squared)
    beyond = squared / xp.where(cosine < 0, 1 - cosine, 1)
    return 2 * sine / xp.where(cosine < 0, beyond, 1 + cosine)


def location_and_scale(x: Rows) -> tuple[np.ndarray, np.ndarray]:
    """Median and spread of each column; the spread is half the range of the middle 68 %.

    Outliers do not move them. Where most values are equal, the spread is the standard deviation,
    and 1 where all are.
    """
    low, median, high = np.quantile(x, [0.16, 0.5, 0.84], axis=0)
    spread = (high - low) / 2
    spread = np.where(spread > 0, spread, x.std(axis=0))
    return median, np.where(spread > 0, spread, 1.0)


def needs_scaling(location: np.ndarray, scale: np.ndarray) -> bool:
    """Whether float32 would lose digits that matter of values of this location and scale."""
    least, most = SCALE_RANGE
    return bool(
        (np.abs(location) > FAR_OFFSET * scale).any() or ((scale < least) | (scale > most)).any()
    )


def tangent_basis(centre: np.ndarray) -> np.ndarray:
    """(size, d): an orthonormal basis of the tangent space of the sphere, by a reflection."""
    w = centre.copy()
    w[-1] += -1.0 if centre[-1] < 0 else 1.0
    return (np.eye(len(w)) - 2 * np.outer(w, w) / (w @ w))[:, :-1]


class ResolutionError(ValueError):
    """Values that differ by less than single precision resolves.

    `coordinate`: which of a point's numbers; `reason`: what is wrong and how to fix it.
    """

    def __init__(self, coordinate: int, reason: str):
        self.coordinate, self.reason = coordinate, reason
        super().__init__(f"Coordinate {coordinate} of the points: {reason}")


def check_resolution(coordinates: AbstractCoordinates, rows: Rows) -> None:
    """Raise `ResolutionError` where a cast to float32 makes most of a column's values equal."""
    parts, sizes = (coordinates,), (rows.shape[1],)
    if isinstance(coordinates, SideBySide):
        parts, sizes = coordinates.parts, coordinates.sizes
    starts = np.cumsum([0, *sizes[:-1]])
    columns = np.split(rows, starts[1:], axis=1)
    for part, start, values in zip(parts, starts, columns, strict=True):
        for number, column in enumerate(part.encode(values)[0].T):
            exact = len(np.unique(column))
            told_apart = len(np.unique(column.astype(np.float32)))
            if exact > FEW_VALUES and told_apart < (1 - MOST_MERGED) * exact:
                raise ResolutionError(
                    int(start) + min(number, values.shape[1] - 1),
                    f"of {exact} different values single precision tells {told_apart} apart, since "
                    "they lie in groups that are far narrower than the distance between them. Fit "
                    "the groups separately, or round the values and declare the column as rounded.",
                )
