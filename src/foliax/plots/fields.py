"""Functions on the sphere by their values on a grid, and densities on it from samples."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable

import numpy as np
from scipy.ndimage import map_coordinates

from ..manifolds.conversions import latlon_from_vectors, vectors_from_latlon

DEPTH = 60.0
"""Logarithms this far below the largest are as good as none, and can be interpolated."""


@dataclasses.dataclass(frozen=True)
class SphereField:
    """Logarithms on the middles of equal cells of latitude (south to north) and longitude."""

    logs: np.ndarray

    @staticmethod
    def of(log_function: Callable[[np.ndarray], np.ndarray], n: int) -> SphereField:
        """From a function of unit vectors, by at most n of its values."""
        rows = max(8, math.isqrt(n // 2))
        lat, lon = middles(rows)
        grid = np.stack(np.meshgrid(lat, lon, indexing="ij"), axis=-1).reshape(-1, 2)
        points = vectors_from_latlon(grid[:, 0], grid[:, 1], degrees=True)
        return SphereField(np.asarray(log_function(points)).reshape(rows, 2 * rows))

    @property
    def step(self) -> float:
        """The side of a cell in degrees."""
        return 180 / len(self.logs)

    @property
    def weights(self) -> np.ndarray:
        """The cells' shares of the sphere; their sum is 1."""
        edges = np.sin(np.deg2rad(np.linspace(-90, 90, len(self.logs) + 1)))
        shares = np.diff(edges) / 2 / self.logs.shape[1]
        return np.broadcast_to(shares[:, None], self.logs.shape)

    def at(self, directions: np.ndarray) -> np.ndarray:
        """Linear interpolation at unit vectors (…, 3), across the date line and the poles."""
        flat = directions.reshape(-1, 3)
        lat, lon = latlon_from_vectors(flat, degrees=True)
        places = [(lat + 90) / self.step + 0.5, (lon + 180) / self.step + 0.5]
        found = map_coordinates(self._padded(), places, order=1, mode="nearest")
        return found.reshape(directions.shape[:-1])

    def _padded(self) -> np.ndarray:
        """A row beyond each pole, which is the last one seen from the other side, and columns."""
        logs = np.maximum(self.logs, self.logs.max() - DEPTH)
        half = logs.shape[1] // 2
        over = np.roll(logs, half, axis=1)
        return np.pad(
            np.concatenate([over[:1], logs, over[-1:]]), np.array([[0, 0], [1, 1]]), mode="wrap"
        )


def middles(rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Latitudes and longitudes in degrees of the middles of rows × 2·rows cells."""
    step = 180 / rows
    return -90 + step * (np.arange(rows) + 0.5), -180 + step * (np.arange(2 * rows) + 0.5)


SHARPNESSES = 4.0 ** np.arange(1, 9)


def smoothed(directions: np.ndarray, n: int) -> SphereField:
    """The density of directions in multiples of uniform, by von Mises–Fisher kernels.

    The concentration is the one that serves held-out directions best, between 4 and 4^8 (13′).
    """
    some = directions[: min(len(directions), 2000)]
    train, test = some[::2], some[1::2]
    scores = [np.mean(_log_kernels(train, test, float(kappa))) for kappa in SHARPNESSES]
    # Bandwidths in two dimensions shrink with n^{-1/6}, and κ is one over their square.
    kappa = float(SHARPNESSES[int(np.argmax(scores))] * (len(directions) / len(train)) ** (1 / 3))
    return SphereField.of(lambda points: _log_kernels(directions, points, kappa), n)


def _log_kernels(centres: np.ndarray, points: np.ndarray, kappa: float) -> np.ndarray:
    """log mean_i 4π vMF(point | centre_i, κ), with a thousandth of uniform against log 0."""
    norm = 2 * kappa / -math.expm1(-2 * kappa)
    turned, found = np.ascontiguousarray(centres.T, np.float32), []
    # Small parts stay in the processor's cache.
    for part in np.array_split(points.astype(np.float32), max(1, len(points) // 32)):
        heights = part @ turned
        heights -= 1
        heights *= kappa
        found.append(np.exp(heights, out=heights).mean(axis=1))
    return np.log(0.999 * norm * np.concatenate(found).astype(float) + 0.001)
