"""Directions and axes: Mollweide, globe, equal-area hemispheres."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..manifolds import Quotient, Sphere
from ..manifolds.conversions import latlon_from_vectors, vectors_from_latlon
from . import projections
from .circle import circle_views
from .disks import disk, graticule, line, rings, scatter
from .fields import SphereField
from .images import images, quotient_views
from .pairs import pair_plot
from .scene import Scene
from .style import (
    MAP,
    SMALL,
    TINY,
    Scale,
    colour_bar,
    colour_scale,
    dot_handle,
    dots,
    legend,
    outlined,
    values_for,
)
from .views import View, views

LABEL = "density (× uniform)"


@views.register
def _(manifold: Sphere) -> dict[str, View]:
    return {1: circle_views, 2: sphere_views}.get(manifold.d, dict)() | {"pair": pair_plot}


@quotient_views.register
def _(base: Sphere, manifold: Quotient) -> dict[str, View]:
    if base.d != 2:
        return ({1: circle_views}.get(base.d, dict))()
    opposite = -np.eye(3)
    axial = any(np.allclose(np.array(g), opposite) for g in manifold.group)
    halves = {"lower": lower, "upper": upper} if axial else {}
    return halves | sphere_views()


def sphere_views() -> dict[str, View]:
    """The views of a whole sphere."""
    return {"mollweide": mollweide, "globe": globe}


def field_of(scene: Scene) -> tuple[SphereField, Scale]:
    """The density in multiples of uniform on a grid, and colours for it."""
    field = SphereField.of(scene.log_multiples, scene.grid_size())
    return field, colour_scale(field.logs, field.weights)


def mollweide(scene: Scene) -> None:
    """The whole sphere by an equal-area projection, north up, east to the right."""
    scene.size(7.2, 3.9)
    field, scale = field_of(scene)
    ax: Any = scene.figure.add_subplot(projection="mollweide")
    mollweide_map(ax, field, scale)
    for coast in scene.coasts:
        ax.plot(*np.deg2rad(coast).T, color="white", lw=0.5, alpha=0.8)
    shown = scene.shown()
    lat, lon = latlon_from_vectors(images(scene.manifold, shown), degrees=False)
    ax.scatter(lon, lat, **dots(len(lat)), zorder=3)
    lat_axis, lon_axis = scene.axes
    ax.set_xlabel(lon_axis.label, fontsize=SMALL)
    ax.set_ylabel(lat_axis.label, fontsize=SMALL)
    colour_bar(scene.figure, ax, scale, LABEL)
    legend(scene.figure, data_handles(scene, len(shown)))


def mollweide_map(ax: Any, field: SphereField, scale: Scale, *, ticks: bool = True) -> None:
    """A field on Mollweide axes, with lines every 30° (60° of longitude)."""
    lat, lon = np.linspace(-90, 90, 241), np.linspace(-180, 180, 481)
    middle = np.stack(np.meshgrid(_between(lat), _between(lon), indexing="ij"), -1).reshape(-1, 2)
    logs = field.at(vectors_from_latlon(middle[:, 0], middle[:, 1], degrees=True))
    ax.pcolormesh(
        *np.deg2rad(np.meshgrid(lon, lat)[0:2]),
        values_for(scale, logs).reshape(240, 480),
        norm=scale.norm,
        cmap=MAP,
        rasterized=True,
    )
    ax.grid(color="white", lw=0.4, alpha=0.45)
    ax.set_longitude_grid(60 if ticks else 90)
    ax.set_latitude_grid(30)
    ax.set_longitude_grid_ends(90)
    ax.tick_params(labelsize=TINY)
    ax.set_xticklabels([])
    if not ticks:
        ax.set_yticklabels([])
        return
    for degrees in (-120, -60, 0, 60, 120):
        outlined(ax, float(np.deg2rad(degrees)), 0.0, f"{degrees}°", va="top")


def _between(edges: np.ndarray) -> np.ndarray:
    return (edges[1:] + edges[:-1]) / 2


def globe(scene: Scene) -> None:
    """The sphere from two opposite sides, the first above the middle of the data."""
    field, scale = field_of(scene)
    shown = images(scene.manifold, scene.shown())
    lat, lon = middle_of(shown if len(shown) else scene.samples(2000))
    axes = scene.figure.subplots(1, 2)
    for ax, (up, across) in zip(axes, [(lat, lon), (-lat, lon + 180)], strict=True):
        side = projections.globe(up, across)
        disk(ax, side, field, scale)
        graticule(ax, side)
        for coast in scene.coasts:
            line(ax, side, *coast.T, lw=0.5, alpha=0.8)
        scatter(ax, side, shown)
        ax.set_title(f"above {place(up, across)}", fontsize=SMALL, y=0.94)
    how = {"orientation": "horizontal", "shrink": 0.5, "aspect": 32, "pad": 0.01}
    colour_bar(scene.figure, axes, scale, LABEL, **how)
    legend(scene.figure, data_handles(scene, len(scene.shown())))


def middle_of(directions: np.ndarray) -> tuple[float, float]:
    """Latitude and longitude from which most is seen, at most 30° off the equator."""
    lat, lon = latlon_from_vectors(directions.mean(axis=0)[None], degrees=True)
    return float(np.clip(5 * round(lat[0] / 5), -30, 30)), float(5 * round(lon[0] / 5))


def place(lat: float, lon: float) -> str:
    """Degrees as people write them: 30° N, 12° E."""
    lon = (lon + 180) % 360 - 180
    return f"{abs(lat):g}° {'NS'[lat < 0]}, {abs(lon):g}° {'EW'[lon < 0]}"


def data_handles(scene: Scene, shown: int) -> list[Any]:
    """The legend's entry for dots, where there are data."""
    return [] if scene.rows is None else [dot_handle(scene.data_label(shown))]


def upper(scene: Scene) -> None:
    """Axes by their upper ends, equal-area."""
    _half(scene, 1)


def lower(scene: Scene) -> None:
    """Axes by their lower ends, equal-area, as geologists draw them."""
    _half(scene, -1)


def _half(scene: Scene, sign: int) -> None:
    scene.size(5.6, 5.4)
    field, scale = field_of(scene)
    ax = scene.figure.add_subplot()
    half = projections.hemisphere(sign)
    disk(ax, half, field, scale)
    rings(ax, sign)
    shown = scene.shown()
    ends = np.where(sign * shown[:, 2:] < 0, -shown, shown)
    scatter(ax, half, ends)
    colour_bar(scene.figure, ax, scale, LABEL)
    legend(scene.figure, data_handles(scene, len(shown)))
