"""Coastlines from a file of the user's; foliax ships none and downloads none."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

VARIABLE = "FOLIAX_COASTLINES"
"""Environment variable that names the default file."""


def coastlines(source: bool | str | Path) -> tuple[np.ndarray, ...]:
    """Read coastlines from a GeoJSON file.

    Natural Earth's ne_110m_coastline.geojson is free and has a suitable resolution.

    Args:
        source: path of the file; True for the file that the environment variable
            FOLIAX_COASTLINES names, if it is set; False for no coastlines.

    Returns:
        Lines of (longitude, latitude) in degrees, (n, 2) each. A row of NaN is a gap: lines
        break where they cross the edge of the map.

    Raises:
        ValueError: the file is missing, is not JSON or has no lines.
    """
    if source is True:
        source = os.environ.get(VARIABLE, "")
    if not source:
        return ()
    try:
        content = json.loads(Path(source).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ValueError(f"There is no file of coastlines {source}.") from None
    except ValueError as error:
        raise ValueError(f"{source} is not valid JSON: {error}") from None
    found = tuple(break_at_edge(np.asarray(line, float)[:, :2]) for line in _lines(content))
    if not found:
        raise ValueError(f"{source} has no lines or polygons: is it a GeoJSON of coastlines?")
    return found


def _lines(part: Any) -> Iterator[list]:
    """The lines of a GeoJSON object, and the rings of its polygons."""
    if not isinstance(part, dict):
        return
    for name in ("features", "geometries"):
        for inner in part.get(name) or ():
            yield from _lines(inner)
    yield from _lines(part.get("geometry"))
    positions = part.get("coordinates") or []
    if part.get("type") == "LineString":
        yield positions
    elif part.get("type") in ("MultiLineString", "Polygon"):
        yield from positions
    elif part.get("type") == "MultiPolygon":
        yield from (ring for rings in positions for ring in rings)


def break_at_edge(line: np.ndarray, half_turn: float = 180.0) -> np.ndarray:
    """Insert a gap wherever a line jumps from one edge of the map to the other."""
    jumps = np.flatnonzero(np.abs(np.diff(line[:, 0])) > half_turn) + 1
    return np.insert(line, jumps, np.nan, axis=0)
