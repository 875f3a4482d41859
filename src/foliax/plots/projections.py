"""Projections of a part of the sphere onto the unit disk: orthographic and equal-area."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np


class Projection(NamedTuple):
    """A map from half a sphere, or a cap, onto the unit disk.

    Attributes:
        forward: maps unit vectors (n, 3) to positions on the disk (n, 2), and says which of
            them the disk shows (n,).
        backward: maps positions on the disk (…, 2) to unit vectors (…, 3).
    """

    forward: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]
    backward: Callable[[np.ndarray], np.ndarray]


def globe(lat: float, lon: float) -> Projection:
    """Orthographic projection from above (lat, lon) in degrees: north up, east right."""
    basis = _basis(lat, lon)

    def forward(directions):
        local = directions @ basis.T
        return local[:, :2], local[:, 2] > 0

    def backward(positions):
        height = np.sqrt(np.maximum(1 - (positions**2).sum(-1, keepdims=True), 0))
        return np.concatenate([positions, height], axis=-1) @ basis

    return Projection(forward, backward)


def _basis(lat: float, lon: float) -> np.ndarray:
    """East, north and up at (lat, lon), as rows."""
    a, b = np.deg2rad([lat, lon])
    east = np.array([-np.sin(b), np.cos(b), 0.0])
    north = np.array([-np.sin(a) * np.cos(b), -np.sin(a) * np.sin(b), np.cos(a)])
    return np.stack([east, north, np.cross(east, north)])


def cap(lat: float, lon: float, radius: float) -> Projection:
    """Lambert's equal-area projection of the cap within `radius` degrees of (lat, lon)."""
    basis, rim = _basis(lat, lon), 2 * np.sin(np.deg2rad(radius) / 2)

    def forward(directions):
        local = directions @ basis.T
        stretch = np.sqrt(2 / np.maximum(1 + local[:, 2:], 1e-9)) / rim
        positions = local[:, :2] * stretch
        return positions, (positions**2).sum(-1) <= 1

    def backward(positions):
        flat = positions * rim
        squares = (flat**2).sum(-1, keepdims=True)
        height = 1 - squares / 2
        return np.concatenate([flat * np.sqrt(1 - squares / 4), height], axis=-1) @ basis

    return Projection(forward, backward)


def hemisphere(sign: int) -> Projection:
    """Lambert's equal-area projection of the upper (1) or lower (−1) half, z ≷ 0.

    Both are seen from above: x to the right, y up; radius √(1 − |z|).
    """

    def forward(directions):
        stretch = 1 / np.sqrt(1 + np.abs(directions[:, 2:]))
        return directions[:, :2] * stretch, sign * directions[:, 2] >= 0

    def backward(positions):
        squares = np.minimum((positions**2).sum(-1, keepdims=True), 1)
        return np.concatenate([positions * np.sqrt(2 - squares), sign * (1 - squares)], axis=-1)

    return Projection(forward, backward)
