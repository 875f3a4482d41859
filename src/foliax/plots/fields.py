"""Functions on the sphere by their values on a grid, and densities on it from samples."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable

import numpy as np
from scipy.ndimage import map_coordinates

from ..manifolds.conversions import latlon_from_vectors, vectors_from_latlon

MAX_DEPTH_NATS = 60.0
"""Log values this far below the largest are drawn as zero; the bound keeps them finite."""
CONCENTRATIONS = 4.0 ** np.arange(1, 9)
"""Candidates for κ of the kernels: widths from 30° down to 13′."""
MAX_TUNING_ROWS = 2000
"""Directions that choose κ: more do not change the choice."""


@dataclasses.dataclass(frozen=True)
class SphereField:
    """Log values at the centres of equal cells of latitude (south to north) and longitude."""

    logs: np.ndarray

    @staticmethod
    def from_function(log_function: Callable[[np.ndarray], np.ndarray], n: int) -> SphereField:
        """Evaluate a function of unit vectors at no more than about n points."""
        rows = max(8, math.isqrt(n // 2))
        lat, lon = cell_centres(rows)
        grid = np.stack(np.meshgrid(lat, lon, indexing="ij"), axis=-1).reshape(-1, 2)
        points = vectors_from_latlon(grid[:, 0], grid[:, 1], degrees=True)
        return SphereField(np.asarray(log_function(points)).reshape(rows, 2 * rows))

    @property
    def step(self) -> float:
        """The side of a cell in degrees."""
        return 180 / len(self.logs)

    @property
    def weights(self) -> np.ndarray:
        """The cells' shares of the sphere's area; their sum is 1."""
        edges = np.sin(np.deg2rad(np.linspace(-90, 90, len(self.logs) + 1)))
        shares = np.diff(edges) / 2 / self.logs.shape[1]
        return np.broadcast_to(shares[:, None], self.logs.shape)

    def at(self, directions: np.ndarray) -> np.ndarray:
        """Interpolate linearly at unit vectors (…, 3), across the date line and the poles."""
        flat = directions.reshape(-1, 3)
        lat, lon = latlon_from_vectors(flat, degrees=True)
        positions = [(lat + 90) / self.step + 0.5, (lon + 180) / self.step + 0.5]
        found = map_coordinates(self._extend_edges(), positions, order=1, mode="nearest")
        return found.reshape(directions.shape[:-1])

    def _extend_edges(self) -> np.ndarray:
        """Add a row across each pole, half a turn away, and a column at each end."""
        logs = np.maximum(self.logs, self.logs.max() - MAX_DEPTH_NATS)
        half = logs.shape[1] // 2
        across = np.roll(logs, half, axis=1)
        return np.pad(
            np.concatenate([across[:1], logs, across[-1:]]), np.array([[0, 0], [1, 1]]), mode="wrap"
        )


def cell_centres(rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Latitudes and longitudes in degrees of the centres of rows × 2·rows cells."""
    step = 180 / rows
    return -90 + step * (np.arange(rows) + 0.5), -180 + step * (np.arange(2 * rows) + 0.5)


def smooth_directions(directions: np.ndarray, n: int) -> SphereField:
    """Estimate the density of directions × uniform by von Mises–Fisher kernels.

    κ is the candidate with the highest held-out likelihood.
    """
    subsample = directions[: min(len(directions), MAX_TUNING_ROWS)]
    train, test = subsample[::2], subsample[1::2]
    scores = [np.mean(_log_kernels(train, test, float(kappa))) for kappa in CONCENTRATIONS]
    best = CONCENTRATIONS[int(np.argmax(scores))]
    # Bandwidths in two dimensions shrink with n^{-1/6}, and κ is one over their square.
    kappa = float(best * (len(directions) / len(train)) ** (1 / 3))
    return SphereField.from_function(lambda points: _log_kernels(directions, points, kappa), n)


def _log_kernels(centres: np.ndarray, points: np.ndarray, kappa: float) -> np.ndarray:
    """log mean_i 4π vMF(point | centre_i, κ), with 0.001 × uniform mixed in to avoid log 0."""
    norm = 2 * kappa / -math.expm1(-2 * kappa)
    transposed, found = np.ascontiguousarray(centres.T, np.float32), []
    # Small batches stay in the processor's cache.
    for batch in np.array_split(points.astype(np.float32), max(1, len(points) // 32)):
        heights = batch @ transposed
        heights -= 1
        heights *= kappa
        found.append(np.exp(heights, out=heights).mean(axis=1))
    return np.log(0.999 * norm * np.concatenate(found).astype(float) + 0.001)
