"""Parts of the sphere on a disk of radius 1: the orthographic and the equal-area projection."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np


class Projection(NamedTuple):
    """A map of half a sphere, or a cap, onto the unit disk."""

    forward: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]
    """Unit vectors (n, 3) -> (places on the disk (n, 2), whether they are on this half)."""
    backward: Callable[[np.ndarray], np.ndarray]
    """Places on the disk (…, 2) -> unit vectors (…, 3)."""


def globe(lat: float, lon: float) -> Projection:
    """The Earth from far above (lat, lon) in degrees: north is up, east to the right."""
    basis = _basis(lat, lon)

    def forward(directions):
        turned = directions @ basis.T
        return turned[:, :2], turned[:, 2] > 0

    def backward(places):
        height = np.sqrt(np.maximum(1 - (places**2).sum(-1, keepdims=True), 0))
        return np.concatenate([places, height], axis=-1) @ basis

    return Projection(forward, backward)


def _basis(lat: float, lon: float) -> np.ndarray:
    """East, north and up at a place, as rows."""
    a, b = np.deg2rad([lat, lon])
    east = np.array([-np.sin(b), np.cos(b), 0.0])
    north = np.array([-np.sin(a) * np.cos(b), -np.sin(a) * np.sin(b), np.cos(a)])
    return np.stack([east, north, np.cross(east, north)])


def cap(lat: float, lon: float, radius: float) -> Projection:
    """Lambert's equal-area projection of all within `radius` degrees of (lat, lon)."""
    basis, rim = _basis(lat, lon), 2 * np.sin(np.deg2rad(radius) / 2)

    def forward(directions):
        turned = directions @ basis.T
        stretch = np.sqrt(2 / np.maximum(1 + turned[:, 2:], 1e-9)) / rim
        places = turned[:, :2] * stretch
        return places, (places**2).sum(-1) <= 1

    def backward(places):
        flat = places * rim
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

    def backward(places):
        squares = np.minimum((places**2).sum(-1, keepdims=True), 1)
        return np.concatenate([places * np.sqrt(2 - squares), sign * (1 - squares)], axis=-1)

    return Projection(forward, backward)
