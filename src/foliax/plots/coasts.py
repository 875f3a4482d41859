"""Coastlines, where the user has them: foliax ships none and fetches none."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

VARIABLE = "FOLIAX_COASTLINES"


def coastlines(source: bool | str | Path) -> tuple[np.ndarray, ...]:
    """Lines of (longitude, latitude) in degrees, from a GeoJSON file; none for False.

    True: the file that the environment names in FOLIAX_COASTLINES, or none. Natural Earth's
    ne_110m_coastline.geojson is free and does well.
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
    found = tuple(cut(np.asarray(line, float)[:, :2]) for line in _lines(content))
    if not found:
        raise ValueError(f"{source} has no lines or polygons: is it a GeoJSON of coastlines?")
    return found


def _lines(part: Any) -> Iterator[list]:
    """The lines of a GeoJSON object, rings of polygons among them."""
    if not isinstance(part, dict):
        return
    for name in ("features", "geometries"):
        for inner in part.get(name) or ():
            yield from _lines(inner)
    yield from _lines(part.get("geometry"))
    places = part.get("coordinates") or []
    if part.get("type") == "LineString":
        yield places
    elif part.get("type") in ("MultiLineString", "Polygon"):
        yield from places
    elif part.get("type") == "MultiPolygon":
        yield from (ring for rings in places for ring in rings)


def cut(line: np.ndarray, half_turn: float = 180.0) -> np.ndarray:
    """The line with a gap wherever it passes the edge of a map of one turn."""
    jumps = np.flatnonzero(np.abs(np.diff(line[:, 0])) > half_turn) + 1
    return np.insert(line, jumps, np.nan, axis=0)
