"""Serial correlation: rows that are much nearer to their followers than to random rows.

The followers are those at lags 1, 2, …, since tables can alternate between several paths.

Distances are those of features, in float64. A factor of finite volume is one part of a row; each
column of another factor is a part of its own, since columns have units of their own.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from .base import AbstractManifold

MIN_ROWS = 100
"""Rows below which no correlation is significant."""
MAX_PAIRS = 4096
"""Pairs of rows that are compared. Always as many, so that one compiled program serves all."""
MAX_LAG = 8
"""The largest lag at which rows are compared: the most paths between which they may take turns."""
LAG_RATIO = 10
"""How many times as far apart the rows of a reference pair are as those of a tested pair.

Rows sorted by a label are near their successors, but not nearer than to the tenth row after them.
Rows that take turns between a few places are near at the period, but also at its tenfold. A lag
above 1 must also be nearer than lag 1, which it is in no sorted table.
"""
MAX_TENFOLD_RATIO = 0.7
"""Largest ratio of the distances at the nearest lag to those at ten times that lag.

It is 1 for rows that take turns between places, also where the next places are near.
"""
MIN_PAIRS = 50
"""Pairs below which a lag is not tested."""
MIN_DEVIATIONS = 5.0
"""Standard deviations by which followers must be nearer: 1 false alarm of a lag in 3 million.

Of 12,400 tables (independent rows, in their order and sorted, and rows that take turns between
places) none gives an alarm.
"""
VARIANCE_FACTOR = 6.0
"""The most by which dependence increases the variance of a difference of two fractions.

Each pair shares rows with at most two others, which makes the variance of a fraction at most three
times p(1 − p)/n. Two fractions are compared.
"""
MAX_RANK_CORRELATION = 0.99
"""Correlation of ranks with row numbers above which rows are sorted along a direction."""
DECORRELATED_RATIO = 0.5
"""Ratio of distances to those of random pairs at which rows hardly depend on each other."""
LENGTHS_PER_BLOCK = 4
"""Correlation lengths in a block, so that most rows are far from the ends of their block."""
MIN_BLOCKS, MAX_BLOCKS = 10, 50
"""Numbers of blocks to propose: enough to hold some out, and no more than scores need."""


class Part(NamedTuple):
    """A factor of a table: its points, and the columns by which the table may be sorted."""

    manifold: AbstractManifold
    points: Float[np.ndarray, "n size"]
    columns: Float[np.ndarray, "n c"]


class SerialCorrelation(NamedTuple):
    """How near rows are to those that follow them."""

    ratio: float
    """The median distance of rows at the lag over that of random pairs."""
    length: int
    """The number of rows after which distances reach half of those of random pairs."""
    n: int
    """The number of rows."""
    lag: int
    """1 for consecutive rows, m for rows that alternate between m paths."""

    @property
    def blocks(self) -> int:
        """The number of blocks of consecutive rows that hardly depend on each other."""
        wanted = self.n // (LENGTHS_PER_BLOCK * self.length)
        return int(np.clip(wanted, MIN_BLOCKS, MAX_BLOCKS))


def serial_correlation(
    manifold: AbstractManifold, rows: Float[np.ndarray, "n size"]
) -> SerialCorrelation | None:
    """Measure the serial correlation of whole rows.

    Args:
        manifold: The manifold.
        rows: Points, in the order in which they were recorded.

    Returns:
        The correlation; None if it is not significant, or if the rows are sorted.
    """
    ends = np.cumsum([factor.size for factor in manifold.factors])[:-1]
    pieces = np.split(np.asarray(rows, np.float64), ends, axis=1)
    parts = [Part(f, own, own) for f, own in zip(manifold.factors, pieces, strict=True)]
    if len(rows) < MIN_ROWS or any(_are_sorted(parts)):
        return None
    return _Walk.of(parts).correlation()


def serial_correlations(parts: Sequence[Part]) -> list[SerialCorrelation | None]:
    """Measure the serial correlation of each factor of a table.

    Args:
        parts: The factors.

    Returns:
        For each factor, the correlation of its most correlated part, as `serial_correlation`.
    """
    if not parts or len(parts[0].points) < MIN_ROWS:
        return [None] * len(parts)
    pairs = zip(parts, _are_sorted(parts), strict=True)
    return [None if is_sorted else _most_correlated(part) for part, is_sorted in pairs]


def _most_correlated(part: Part) -> SerialCorrelation | None:
    walk = _Walk.of([part])
    each = [walk.take([number]).correlation() for number in range(len(walk.sizes))]
    present = [found for found in each if found is not None]
    return min(present, key=lambda found: found.ratio, default=None)


class _Walk(NamedTuple):
    """Features of rows in their order, and how many of them belong to each part."""

    parts: tuple[Part, ...]
    sizes: tuple[int, ...]
    chosen: tuple[int, ...]
    """The parts whose distances count."""

    @staticmethod
    def of(parts: Sequence[Part]) -> _Walk:
        sizes = []
        for part in parts:
            width = jax.eval_shape(part.manifold.features, jnp.zeros(part.manifold.size)).shape[0]
            is_finite = math.isfinite(part.manifold.log_total_volume())
            sizes += [width] if is_finite else [1] * width
        return _Walk(tuple(parts), tuple(sizes), tuple(range(len(sizes))))

    def take(self, chosen: Sequence[int]) -> _Walk:
        return self._replace(chosen=tuple(chosen))

    def correlation(self) -> SerialCorrelation | None:
        """The correlation at the lag of the nearest rows, if it is significant at some lag."""
        n = len(self.parts[0].points)
        random = np.random.default_rng(0)
        starts = np.arange(n - LAG_RATIO)
        if len(starts) > MAX_PAIRS:
            starts = np.sort(random.choice(starts, MAX_PAIRS, replace=False))
        here = self._features(starts)
        others = self._features(random.permutation(n)[: len(starts)])
        scales = _part_distances(here, others, self.sizes)
        scale = np.median(scales, axis=1)
        used = [k for k in self.chosen if scale[k] > 0]
        if not used:
            return None

        def distances(others: np.ndarray) -> np.ndarray:
            each = _part_distances(here, others, self.sizes)[used] / scale[used, None]
            return np.sqrt((each**2).mean(0))

        def at_lag(lag: int) -> np.ndarray:
            return distances(self._features(np.minimum(starts + lag, n - 1)))

        apart = distances(others)
        if not _has_near_lag(at_lag, apart, n - starts):
            return None
        medians = [np.median(at_lag(lag)[starts + lag < n]) for lag in range(1, MAX_LAG + 1)]
        typical, lag = np.median(apart), 1 + int(np.argmin(medians))
        tenfold = at_lag(LAG_RATIO * lag)[starts + LAG_RATIO * lag < n]
        if len(tenfold) and medians[lag - 1] > MAX_TENFOLD_RATIO * np.median(tenfold):
            return None
        length = lag
        while 4 * length < n:
            length *= 2
            later = at_lag(length)[starts + length < n]
            if np.median(later) > DECORRELATED_RATIO * typical:
                break
        return SerialCorrelation(float(medians[lag - 1] / typical), length, n, lag)

    def _features(self, numbers: Int[np.ndarray, " m"]) -> Float[np.ndarray, "m f"]:
        padded = np.resize(numbers, MAX_PAIRS)
        with jax.enable_x64(True):
            each = [_features(p.manifold, jnp.asarray(p.points[padded])) for p in self.parts]
        return np.concatenate([np.asarray(own)[: len(numbers)] for own in each], axis=1)


@eqx.filter_jit
def _features(manifold: AbstractManifold, rows: Float[Array, "n size"]) -> Float[Array, "n f"]:
    return jax.vmap(manifold.features)(rows)


def _part_distances(
    rows: Float[np.ndarray, "m f"], others: Float[np.ndarray, "m f"], sizes: Sequence[int]
) -> Float[np.ndarray, "p m"]:
    """Distances in each part."""
    starts = np.cumsum([0, *sizes[:-1]])
    return np.sqrt(np.add.reduceat((rows - others) ** 2, starts, axis=1)).T


def _has_near_lag(
    at_lag: Callable[[int], Float[np.ndarray, " m"]],
    apart: Float[np.ndarray, " m"],
    left: Int[np.ndarray, " m"],
) -> bool:
    """Whether rows at some lag are nearer than random rows, and than lag 1 and ten times the lag.

    Args:
        at_lag: Computes the distances of rows at a lag.
        apart: Distances of random rows.
        left: The number of rows from each row to the end.
    """
    consecutive = at_lag(1)
    for lag in range(1, MAX_LAG + 1):
        inside = left > LAG_RATIO * lag
        if inside.sum() < MIN_PAIRS:
            return False
        near = at_lag(lag)[inside]
        if (
            _are_nearer(near, apart[inside])
            and (lag == 1 or _are_nearer(near, consecutive[inside]))
            and _are_nearer(near, at_lag(LAG_RATIO * lag)[inside])
        ):
            return True
    return False


def _are_nearer(distances: Float[np.ndarray, " m"], reference: Float[np.ndarray, " m"]) -> bool:
    """Whether most distances are below half the median of the reference, and not by chance."""
    near = np.median(reference) / 2
    share, expected = np.mean(distances < near), np.mean(reference < near)
    deviation = np.sqrt(VARIANCE_FACTOR * expected * (1 - expected) / len(distances))
    return bool(share > 0.5 and share > expected + MIN_DEVIATIONS * deviation)


def _are_sorted(parts: Sequence[Part]) -> list[bool]:
    """Which factors the table is sorted by: by a column, or along their longest direction."""
    keys = _sort_keys(np.concatenate([part.columns for part in parts], axis=1))
    ends = np.cumsum([part.columns.shape[1] for part in parts])[:-1]
    return [
        bool(own.any()) or _is_sorted_along_axis(part.points)
        for own, part in zip(np.split(keys, ends), parts, strict=True)
    ]


def _sort_keys(columns: Float[np.ndarray, "n c"]) -> Bool[np.ndarray, " c"]:
    """Find the columns by which a table is sorted, each within ties of those before.

    One step back is allowed, since a sorted angle may wrap around.
    """
    steps = np.diff(columns, axis=0)
    tied, keys = np.ones(len(steps), bool), np.zeros(columns.shape[1], bool)
    while tied.sum() >= MIN_ROWS // 2:
        up, down = ((sign * steps[tied] > 0).sum(0) for sign in (1, -1))
        fits = ~keys & (np.minimum(up, down) <= 1) & (np.maximum(up, down) > 0)
        if not fits.any():
            break
        key = np.argmax(fits * (up + down))
        keys[key] = True
        tied &= steps[:, key] == 0
    return keys


def _is_sorted_along_axis(points: Float[np.ndarray, "n size"]) -> bool:
    """Whether rows are sorted along the direction of their largest variance."""
    centred = points - points.mean(0)
    axis = np.linalg.eigh(centred.T @ centred)[1][:, -1]
    # Half a second to import, and only a fit or a check needs it.
    from scipy.stats import rankdata

    ranks = rankdata(centred @ axis)
    if np.ptp(ranks) == 0:
        return False
    return bool(abs(np.corrcoef(ranks, np.arange(len(ranks)))[0, 1]) > MAX_RANK_CORRELATION)
