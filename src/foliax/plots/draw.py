"""`draw`: a density and data as a figure."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from jaxtyping import PRNGKeyArray
from matplotlib.figure import Figure

from ..density import AbstractDensity
from ..manifolds.base import as_points
from .coasts import coastlines
from .frames import Labels, Units, described
from .scene import Scene
from .views import choose


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
    """A picture of a density, and of data where there are any.

    `labels`, `units`: one for each axis of `plots.frame(manifold)`; or one for each factor of a
    product, which may be a list for the factor's axes. The unit of an angle is one of `TURNS` or a
    `Turn`; of a number, any word.
    `view`: a name among `plots.views(manifold)`; by default the first, on S² the region where
    the data are, if they fill a small part of it.
    `earth`: a GeoJSON file of coastlines, or True for the one in `FOLIAX_COASTLINES`, if any.
    `figure`: an empty one to draw in; by default a new one, without pyplot.
    """
    rows = None if rows is None else as_points(density.manifold, rows)
    frame, axes = described(density.manifold, labels, units)
    drawn = Figure(figsize=(7.2, 4.6)) if figure is None else figure
    own = drawn if figure is None else None
    drawn.set_layout_engine("constrained")
    scene = Scene(density, rows, frame, axes, key, drawn, coastlines(earth), own)
    choose(scene, view)(scene)
    if title:
        drawn.suptitle(title, fontsize=11)
    return drawn
