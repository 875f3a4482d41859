"""Views of directions and axes: Mollweide, globe, equal-area hemispheres."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..manifolds import AbstractManifold, Sphere
from ..manifolds.conversions import latlon_from_vectors, vectors_from_latlon
from . import projections
from .axes import Axis, literal
from .coasts import break_at_edge
from .disks import draw_disk, draw_dots, draw_graticule, draw_line, hide_axes, label_azimuths
from .fields import SphereField
from .region import cap_of, directions_of
from .registry import view_for
from .scene import DENSITY_LABEL, Scene, data_handles
from .style import (
    COLOUR_MAP,
    LABEL_PT,
    TICK_PT,
    Scale,
    add_colour_bar,
    add_legend,
    colour_scale,
    dot_style,
    draw_outlined_text,
    values_for,
)

MAX_TILT_DEGREES = 30.0
"""Latitude from which a whole globe is seen at most, so that north stays up."""


def _is_axial(manifold: AbstractManifold) -> bool:
    return manifold.symmetry.is_axial


def evaluate_field(scene: Scene) -> tuple[SphereField, Scale]:
    """The density × uniform on a grid, and its colour scale."""
    field = SphereField.from_function(scene.log_multiples, scene.grid_size())
    return field, colour_scale(field.logs, field.weights)


@view_for(Sphere, name="mollweide", dim=2, quotients=True, order=10)
def draw_mollweide(scene: Scene) -> None:
    """The whole sphere in Mollweide's equal-area projection: north up, east right."""
    scene.set_size(7.2, 3.9)
    field, scale = evaluate_field(scene)
    ax: Any = scene.figure.add_subplot(projection="mollweide")
    lat_axis, lon_axis = scene.axes
    centre = central_meridian(lon_axis)
    paint_mollweide(ax, field, scale, centre)
    for coast in scene.coastlines:
        line = np.deg2rad(break_at_edge(_recentre(coast, centre)))
        ax.plot(*line.T, color="white", lw=0.5, alpha=0.8)
    rows = scene.rows_to_draw()
    lat, lon = latlon_from_vectors(scene.symmetry.images(rows), degrees=True)
    positions = np.deg2rad(_recentre(np.stack([lon, lat], axis=1), centre))
    ax.scatter(*positions.T, **dot_style(len(lat)), zorder=3)
    for offset in (-120, -60, 0, 60, 120):
        label = f"{centre + offset:g}°"
        draw_outlined_text(ax, float(np.deg2rad(offset)), 0.0, label, va="top")
    ax.set_xlabel(literal(f"{lon_axis.name} (°)"), fontsize=LABEL_PT)
    ax.set_ylabel(literal(f"{lat_axis.name} (°)"), fontsize=LABEL_PT)
    add_colour_bar(scene.figure, ax, scale, DENSITY_LABEL)
    add_legend(scene.figure, data_handles(scene, len(rows)))


def central_meridian(axis: Axis) -> float:
    """The middle of the axis' turn of longitudes, in degrees."""
    return 0.0 if axis.turn is None else 360 * axis.turn.start / axis.turn.period + 180


def _recentre(lonlat: np.ndarray, centre: float) -> np.ndarray:
    """Longitudes, measured from the central meridian, and latitudes in degrees."""
    return np.stack([(lonlat[:, 0] - centre + 180) % 360 - 180, lonlat[:, 1]], axis=1)


def paint_mollweide(ax: Any, field: SphereField, scale: Scale, centre: float = 0.0) -> None:
    """Draw a field on Mollweide axes around a central meridian, with a graticule.

    Parallels are 30° apart, meridians 60°.
    """
    lat, lon = np.linspace(-90, 90, 241), np.linspace(-180, 180, 481)
    middle = np.stack(np.meshgrid(_midpoints(lat), _midpoints(lon), indexing="ij"), -1).reshape(
        -1, 2
    )
    logs = field.at(vectors_from_latlon(middle[:, 0], middle[:, 1] + centre, degrees=True))
    ax.pcolormesh(
        *np.deg2rad(np.meshgrid(lon, lat)),
        values_for(scale, logs).reshape(240, 480),
        norm=scale.norm,
        cmap=COLOUR_MAP,
        rasterized=True,
    )
    ax.grid(color="white", lw=0.4, alpha=0.45)
    ax.set_longitude_grid(60)
    ax.set_latitude_grid(30)
    ax.set_longitude_grid_ends(90)
    ax.tick_params(labelsize=TICK_PT)
    ax.set_xticklabels([])


def _midpoints(edges: np.ndarray) -> np.ndarray:
    return (edges[1:] + edges[:-1]) / 2


@view_for(Sphere, name="globe", dim=2, quotients=True, order=30)
def draw_globe(scene: Scene) -> None:
    """The sphere from above the data, and from the opposite side unless they fill a small cap."""
    field, scale = evaluate_field(scene)
    rows = scene.symmetry.images(scene.rows_to_draw())
    lat, lon = viewpoint(scene)
    one_side = cap_of(directions_of(scene)).is_small
    sides = [(lat, lon)] if one_side else [(lat, lon), (-lat, lon + 180)]
    scene.set_size(*((5.0, 5.4) if one_side else (7.2, 4.6)))
    axes = scene.figure.subplots(1, len(sides), squeeze=False)[0]
    for ax, (view_lat, view_lon) in zip(axes, sides, strict=True):
        side = projections.globe(view_lat, view_lon)
        draw_disk(ax, side, field, scale)
        hide_axes(ax, 1.03)
        draw_graticule(ax, side)
        for coast in scene.coastlines:
            draw_line(ax, side, *coast.T, lw=0.5, alpha=0.8)
        draw_dots(ax, side, rows)
        ax.set_title(f"above {format_latlon(view_lat, view_lon)}", fontsize=LABEL_PT)
    style = {"orientation": "horizontal", "shrink": 0.6, "aspect": 32, "pad": 0.02}
    add_colour_bar(scene.figure, axes, scale, DENSITY_LABEL, **style)
    add_legend(scene.figure, data_handles(scene, len(scene.rows_to_draw())))


def viewpoint(scene: Scene) -> tuple[float, float]:
    """Latitude and longitude of the data's centre in degrees, rounded to 5°.

    If the data fill more than a small cap, the latitude is within `MAX_TILT_DEGREES`.
    """
    cap = cap_of(directions_of(scene))
    lat, lon = (5.0 * round(v / 5) for v in cap.latlon)
    if not cap.is_small:
        lat = float(np.clip(lat, -MAX_TILT_DEGREES, MAX_TILT_DEGREES))
    return lat, lon


def format_latlon(lat: float, lon: float) -> str:
    """Latitude and longitude with their hemispheres: 30° N, 12° E."""
    lon = (lon + 180) % 360 - 180
    return ", ".join([_format_side(lat, "NS"), _format_side(lon, "EW")])


def _format_side(value: float, letters: str) -> str:
    letter = "" if value % 180 == 0 else f" {letters[value < 0]}"
    return f"{abs(value):g}°{letter}"


@view_for(Sphere, name="upper", dim=2, where=_is_axial, quotients=True, order=2)
def draw_upper(scene: Scene) -> None:
    """The upper ends of axes in an equal-area projection."""
    _draw_half(scene, 1)


@view_for(Sphere, name="lower", dim=2, where=_is_axial, quotients=True, order=1)
def draw_lower(scene: Scene) -> None:
    """The lower ends of axes in an equal-area projection, the convention of geology."""
    _draw_half(scene, -1)


def _draw_half(scene: Scene, sign: int) -> None:
    scene.set_size(6.0, 5.6)
    field, scale = evaluate_field(scene)
    ax = scene.figure.add_subplot()
    half = projections.hemisphere(sign)
    draw_disk(ax, half, field, scale)
    hide_axes(ax, 1.24)
    label_azimuths(ax, sign, *scene.axes)
    rows = scene.rows_to_draw()
    ends = np.where(sign * rows[:, 2:] < 0, -rows, rows)
    draw_dots(ax, half, ends)
    add_colour_bar(scene.figure, ax, scale, DENSITY_LABEL)
    add_legend(scene.figure, data_handles(scene, len(rows)))
