"""Conversions: degrees, latitude/longitude, quaternions, Euler angles, rotation vectors.

All functions take and return rows in float64 NumPy. The caller names units and orders; nothing is
guessed. Rotations are active: the matrix takes body (crystal, tool) coordinates to space (sample,
world) coordinates.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float
from scipy.spatial.transform import Rotation

Rows = Float[np.ndarray, "rows _"]
Column = Float[np.ndarray, " rows"]

BUNGE = "ZXZ"
"""Bunge's φ₁, Φ, φ₂ as intrinsic rotations of the crystal frame; his passive g is the inverse."""


def angles_from_period(values: np.ndarray, period: float) -> np.ndarray:
    """Convert values that repeat after `period` (360, 24 hours, …) to radians in [−π, π)."""
    turns = np.asarray(values, float) / period
    wrapped = 2 * np.pi * (turns - np.floor(turns + 0.5))
    return np.where(wrapped >= np.pi, -np.pi, wrapped)


def period_from_angles(angles: np.ndarray, period: float, *, low: float = 0.0) -> np.ndarray:
    """Convert radians to values in [low, low + period)."""
    values = np.asarray(angles, float) / (2 * np.pi) * period
    wrapped = low + np.mod(values - low, period)
    return np.where(wrapped >= low + period, low, wrapped)


def vectors_from_latlon(lat: Column, lon: Column, *, degrees: bool) -> Rows:
    """Convert latitudes and longitudes to unit vectors; x points to (0, 0), z to the north pole.

    Raises:
        ValueError: A latitude is outside [−90, 90] degrees.
    """
    lat, lon = np.asarray(lat, float), np.asarray(lon, float)
    limit = 90.0 if degrees else np.pi / 2
    outside = ~(np.abs(lat) <= limit * (1 + 1e-12))
    if outside.any():
        row = int(np.argmax(outside))
        raise ValueError(
            f"Row {row}: latitude is {lat[row]:g}, outside [-{limit:g}, {limit:g}]. "
            "Are the columns swapped, or the units wrong?"
        )
    if degrees:
        lat, lon = np.deg2rad(lat), np.deg2rad(lon)
    return np.stack([np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)], axis=-1)


def latlon_from_vectors(vectors: Rows, *, degrees: bool) -> tuple[Column, Column]:
    """Convert unit vectors to latitudes in [−90, 90] and longitudes in [−180, 180), or radians."""
    x, y, z = np.asarray(vectors, float).T
    lat, lon = np.arctan2(z, np.hypot(x, y)), angles_from_period(np.arctan2(y, x), 2 * np.pi)
    return (np.rad2deg(lat), np.rad2deg(lon)) if degrees else (lat, lon)


def rotations_from_quaternions(quaternions: Rows, *, order: str) -> Rows:
    """Convert quaternions, scalar first ("wxyz") or last ("xyzw"), to flat rotation matrices."""
    scalar_first = _scalar_first(order)
    return _flat(Rotation.from_quat(quaternions, scalar_first=scalar_first))


def quaternions_from_rotations(rotations: Rows, *, order: str) -> Rows:
    """Convert flat rotation matrices to unit quaternions with w ≥ 0."""
    return _rotation(rotations).as_quat(canonical=True, scalar_first=_scalar_first(order))


def rotations_from_euler(angles: Rows, *, convention: str, degrees: bool) -> Rows:
    """Convert Euler angles to flat rotation matrices.

    Capital letters ("ZXZ") mean intrinsic rotations, small ones ("zxz") extrinsic; see `BUNGE`.
    """
    return _flat(Rotation.from_euler(convention, angles, degrees=degrees))


def euler_from_rotations(rotations: Rows, *, convention: str, degrees: bool) -> Rows:
    """Euler angles of rotations; where two of them are not determined, the third is set to 0."""
    return _rotation(rotations).as_euler(convention, degrees=degrees, suppress_warnings=True)


def rotations_from_vectors(vectors: Rows, *, degrees: bool = False) -> Rows:
    """Convert rotation vectors, axis times angle, to flat rotation matrices."""
    vectors = np.deg2rad(vectors) if degrees else np.asarray(vectors, float)
    return _flat(Rotation.from_rotvec(vectors))


def vectors_from_rotations(rotations: Rows, *, degrees: bool = False) -> Rows:
    """Convert flat rotation matrices to rotation vectors with an angle of at most π."""
    return _rotation(rotations).as_rotvec(degrees=degrees)


def _flat(rotation: Rotation) -> Rows:
    return rotation.as_matrix().reshape(-1, 9)


def _rotation(rotations: Rows) -> Rotation:
    return Rotation.from_matrix(np.asarray(rotations, float).reshape(-1, 3, 3))


def _scalar_first(order: str) -> bool:
    if order not in ("wxyz", "xyzw"):
        raise ValueError(f"A quaternion's order is 'wxyz' (scalar first) or 'xyzw', got '{order}'.")
    return order == "wxyz"
