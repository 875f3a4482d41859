"""Arrays as short text, for the data of an interactive view."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np

from .style import Scale, values_for

MAX_PACKED_DOTS = 2_000
"""Rows that a page shows as dots: more make it slow to turn on a phone."""


def pack_grid(logs: np.ndarray, scale: Scale) -> dict[str, Any]:
    """A grid of log values as levels of the colour scale."""
    return {"rows": logs.shape[0], "columns": logs.shape[1], "levels": pack_levels(logs, scale)}


def pack_levels(logs: np.ndarray, scale: Scale) -> str:
    """Positions on the colour scale, 0 to 255, one byte each."""
    positions = np.asarray(scale.norm(values_for(scale, logs)), float)
    return _encode(np.round(255 * np.clip(positions, 0, 1)).astype(np.uint8))


def pack_points(values: np.ndarray) -> dict[str, Any]:
    """Numbers within ±1, two bytes each."""
    return {"n": len(values), "values": _encode(np.round(32767 * np.asarray(values)).astype("<i2"))}


def pack_scale(scale: Scale) -> dict[str, Any]:
    """The ends of a colour scale, and whether it is logarithmic."""
    return {"low": scale.low, "high": scale.high, "log": scale.is_logarithmic}


def _encode(array: np.ndarray) -> str:
    return base64.b64encode(np.ascontiguousarray(array).tobytes()).decode("ascii")
