"""Local coordinates, in which single precision resolves rows that are close together.

A model computes in float32, which resolves 1e-7 of a value. Rows at 101325 ± 3, or within 100 m on
the Earth, differ by less than that. A manifold therefore finds coordinates from the rows in
float64: a bijection onto a *working* manifold, centred and scaled. The model is fitted there:

    log p(y) = log p(t) + log |dt/dy|.
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
"""Ratio of median to spread above which values are centred and scaled before the cast."""
NARROW_SPREAD = 0.05
"""Spread of logarithms below which they are centred and scaled: relative differences of 5 %."""
NARROW_RADIANS = 0.02
"""Radius around the mean, in radians, within which points get a local chart.

It is 127 km on the Earth. Kernels on the sphere itself resolve 540 m.
"""
SCALE_RANGE = (1e-15, 1e15)
"""Spreads whose squares and reciprocals float32 can hold."""
FAR_CELLS = 2.0**10
"""Cells from zero beyond which whole and rounded values are counted from their median."""
MAX_CELLS = 2.0**16
"""Cells from zero that float32 resolves, with bits left for the position within a cell."""
MAX_WHOLE_CELLS = 2.0**23
"""Whole numbers below this have a middle n + ½ in float32."""

Rows = Float[np.ndarray, "n size"]
Array = Any
"""A NumPy or JAX array of shape (…, size)."""


class AbstractCoordinates(eqx.Module):
    """A bijection from a manifold onto a working manifold, found from rows in float64."""

    working: eqx.AbstractVar[AbstractManifold]
    """The manifold of the coordinates."""

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
    """t = y, for points that need no local coordinates."""

    working: AbstractManifold

    def encode(self, y: Array, xp: Any = np) -> tuple[Array, Array]:
        return y, xp.zeros(y.shape[:-1], y.dtype)

    def decode(self, t: Array, xp: Any = np) -> Array:
        return t


@storable("manifolds.CellsFromMedian")
class CellsFromMedian(AbstractCoordinates):
    """t = (y − offset)/step − origin: cells counted from a whole number; same probabilities."""

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

    c is the rows' mean direction, B an orthonormal basis of the tangent space there. The map is one
    to one except at the antipode of c, so no mass is lost.
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
    """t = 2 tan((θ − c)/2)/scale for narrow angles; wide angles are unchanged.

    The wide angles come first. The map is one to one except at θ = c + π, so no mass is lost.
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

    g = tan(θ/2) times the axis; dR = 2^{3/2} (1 + ‖u‖²/4)^{−2} du in the Frobenius measure. The
    map is one to one except at half turns, so no mass is lost.
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
    """Sizes of the factors' points."""

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
    """Compute 2 tan(θ/2) times a direction from cos θ and sin θ times the direction.

    Beyond a quarter turn, 1 + cos θ is computed as sin² θ/(1 − cos θ), which keeps its digits. At
    half a turn, where the chart ends, the result is large but finite.
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
    """Return the median and spread of each column; both are robust to outliers.

    The spread is half the range of the middle 68 %. If that is 0, it is the standard deviation; if
    all values are equal, it is 1.
    """
    low, median, high = np.quantile(x, [0.16, 0.5, 0.84], axis=0)
    spread = (high - low) / 2
    with np.errstate(over="ignore"):  # values whose squares overflow are refused later
        deviation = x.std(axis=0)
    spread = np.where((spread > 0) | ~np.isfinite(deviation), spread, deviation)
    return median, np.where(spread > 0, spread, 1.0)


def needs_scaling(location: np.ndarray, scale: np.ndarray) -> bool:
    """Whether float32 would lose significant digits of values with this location and scale."""
    least, most = SCALE_RANGE
    return bool(
        (np.abs(location) > FAR_OFFSET * scale).any() or ((scale < least) | (scale > most)).any()
    )


def tangent_basis(centre: np.ndarray) -> np.ndarray:
    """Return an orthonormal basis of the sphere's tangent space, of shape (size, d)."""
    w = centre.copy()
    w[-1] += -1.0 if centre[-1] < 0 else 1.0
    return (np.eye(len(w)) - 2 * np.outer(w, w) / (w @ w))[:, :-1]
