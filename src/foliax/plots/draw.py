"""`draw`: a density and data as a figure."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from jaxtyping import PRNGKeyArray
from matplotlib.figure import Figure

from ..density import AbstractDensity
from ..manifolds.points import as_points
from .coasts import coastlines
from .frames import Labels, Units, label_axes
from .registry import choose_view
from .scene import Scene


def draw(
    density: AbstractDensity,
    rows: Any = None,
    *,
    labels: Labels | None = None,
    units: Units | None = None,
    view: str | None = None,
    key: PRNGKeyArray,
    figure: Figure | None = None,
    title: str | None = None,
    earth: bool | str | Path = False,
) -> Figure:
    """Draw a density, with data if there are any.

    Args:
        density: the density to draw.
        rows: data, (n, size) points of the density's manifold; None for no data.
        labels: names of the axes, one for each axis of `plots.frame(manifold)`. For a product,
            one for each factor, which may be a list with a name for each axis of the factor.
            Names are plain text: "$" does not start a formula.
        units: units of the axes, given as the labels are. The unit of an angle is one of
            `TURNS` or a `Turn`; that of a number is any word. Angles are in degrees by default.
        view: a name in `plots.views(manifold)`. By default the first; on S² `region`, if the
            data fill a small part of the sphere.
        key: key of samples, and of log densities that are estimated by sampling.
        figure: an empty figure to draw in, which keeps its size. By default a new one, made
            without pyplot.
        title: title above the picture.
        earth: a GeoJSON file of coastlines; True for the file that FOLIAX_COASTLINES names, if
            that is set.

    Returns:
        The figure; `plots.save` writes it to a file.

    Raises:
        OffManifoldError: a row is not a point of the manifold.
        ValueError: the manifold has no such view, or labels and units do not fit its axes.
    """
    rows = None if rows is None else as_points(density.manifold, rows)
    frame, axes = label_axes(density.manifold, labels, units)
    canvas = Figure(figsize=(7.2, 4.6)) if figure is None else figure
    own = canvas if figure is None else None
    canvas.set_layout_engine("constrained")
    scene = Scene(density, rows, frame, axes, key, canvas, coastlines(earth), own)
    choose_view(scene, view)(scene)
    if title:
        canvas.suptitle(title, fontsize=11)
    return canvas
