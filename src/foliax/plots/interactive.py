"""`interactive`: the data of an interactive view, small enough for a page.

The data are a dictionary that JSON can hold. Arrays are base64, little-endian.

- `kind`: "globe", "torus" or "ball".
- `scale`: `low`, `high` and `log`; levels 0 to 255 run from low to high along `palette`.
- `grid`: `rows` × `columns` of levels, one byte each, from south to north and from west to east;
  for a map, second angle × first angle.
- `cloud`: samples in the ball, with one byte each in `levels`.
- `points`: the data in units of 1/32767: unit vectors, fractions of a turn, or rotation vectors
  over π.
- `facing`: latitude and longitude in degrees that a globe shows first; `zoom`: its zoom.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from jaxtyping import PRNGKeyArray
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from ..density import AbstractDensity
from ..manifolds.points import as_points
from .axes import Axis
from .coasts import coastlines
from .frames import Labels, Units, label_axes
from .packing import MAX_PACKED_DOTS
from .registry import InteractiveKind, interactive_kinds
from .scene import DENSITY_LABEL, Scene
from .style import COLOUR_MAP

PALETTE_COLOURS = 33
"""Colours in the page; the script interpolates between them."""


class NoInteractiveViewError(ValueError):
    """A manifold that has static figures only."""


def interactive(
    density: AbstractDensity,
    rows: Any = None,
    *,
    labels: Labels | None = None,
    units: Units | None = None,
    key: PRNGKeyArray,
    title: str = "",
    earth: bool | str | Path = False,
) -> dict[str, Any]:
    """Compute the data of an interactive view: a globe, a map of two angles or a ball.

    A globe shows S² and its quotients, a map T², a ball SO(3) and its quotients.

    Args:
        density: the density to draw.
        rows: data, (n, size) points of the density's manifold; None for no data.
        labels: names of the axes, as in `plots.draw`.
        units: units of the axes, as in `plots.draw`.
        key: key of samples, and of log densities that are estimated by sampling.
        title: title above the picture.
        earth: coastlines, as in `plots.Canvas`.

    Returns:
        A dictionary that JSON can hold; `plots.interactive_html` turns it into HTML. The module
        `foliax.plots.interactive` describes its entries.

    Raises:
        NoInteractiveViewError: the manifold has static figures only.
        OffManifoldError: a row is not a point of the manifold.
    """
    manifold = density.manifold
    rows = None if rows is None else as_points(manifold, rows)
    frame, axes = label_axes(manifold, labels, units)
    scene = Scene(density, rows, frame, axes, key, Figure(), coastlines(earth))
    kind = _choose_kind(scene)
    drawn = len(scene.rows_to_draw(MAX_PACKED_DOTS))
    colours = matplotlib.colormaps[COLOUR_MAP](np.linspace(0, 1, PALETTE_COLOURS))
    return {
        "kind": kind.kind,
        **kind.contents(scene),
        "title": title,
        "density": DENSITY_LABEL,
        "data": "" if rows is None else scene.data_label(drawn),
        "palette": [to_hex(colour) for colour in colours],
        "axes": [_describe_axis(axis) for axis in axes],
        "coasts": [_round_line(line) for line in scene.coastlines],
    }


def _choose_kind(scene: Scene) -> InteractiveKind:
    for kind in interactive_kinds().values():
        if kind.served.includes(scene.manifold):
            return kind
    raise NoInteractiveViewError(
        f"There is no interactive view of a density on {scene.symmetry.base}: there is one on "
        "S² and its quotients (globe), T² (map) and SO(3) and its quotients (ball). Use "
        "plots.draw instead."
    )


def _describe_axis(axis: Axis) -> dict[str, Any]:
    start, period = (0.0, 0.0) if axis.turn is None else (axis.turn.start, axis.turn.period)
    return {"name": axis.name, "unit": axis.unit, "start": start, "period": period}


def _round_line(line: np.ndarray) -> list[list[float] | None]:
    """A line in tenths of a degree; null marks a gap."""
    return [None if np.isnan(p).any() else [round(float(v), 1) for v in p] for p in line]
