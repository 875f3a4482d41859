"""Directions and axes: Mollweide, globe, equal-area hemispheres."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..manifolds import AbstractManifold, Quotient, Sphere
from ..manifolds.conversions import latlon_from_vectors, vectors_from_latlon
from . import projections
from .axes import Axis
from .circle import circle_views
from .coasts import cut
from .disks import azimuths, blank, disk, graticule, line, scatter
from .fields import SphereField
from .images import images, quotient_views
from .pairs import pair_plot
from .region import cap_of, directions_of, region
from .scene import LABEL, Scene, data_handles
from .style import (
    MAP,
    SMALL,
    TINY,
    Scale,
    colour_bar,
    colour_scale,
    dots,
    legend,
    outlined,
    values_for,
)
from .views import View, usual, views


@views.register
def _(manifold: Sphere) -> dict[str, View]:
    return {1: circle_views, 2: sphere_views}.get(manifold.d, dict)() | {"pair": pair_plot}


@usual.register
def _(manifold: Sphere, scene: Scene) -> View:
    if manifold.d == 2 and cap_of(directions_of(scene)).small:
        return region
    return usual.dispatch(AbstractManifold)(manifold, scene)


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
    return {"mollweide": mollweide, "region": region, "globe": globe}


def field_of(scene: Scene) -> tuple[SphereField, Scale]:
    """The density in multiples of uniform on a grid, and colours for it."""
    field = SphereField.of(scene.log_multiples, scene.grid_size())
    return field, colour_scale(field.logs, field.weights)


def mollweide(scene: Scene) -> None:
    """The whole sphere by an equal-area projection, north up, east to the right."""
    scene.size(7.2, 3.9)
    field, scale = field_of(scene)
    ax: Any = scene.figure.add_subplot(projection="mollweide")
    lat_axis, lon_axis = scene.axes
    centre = middle_meridian(lon_axis)
    mollweide_map(ax, field, scale, centre)
    for coast in scene.coasts:
        ax.plot(*np.deg2rad(cut(_from(coast, centre))).T, color="white", lw=0.5, alpha=0.8)
    shown = scene.shown()
    lat, lon = latlon_from_vectors(images(scene.manifold, shown), degrees=True)
    places = np.deg2rad(_from(np.stack([lon, lat], axis=1), centre))
    ax.scatter(*places.T, **dots(len(lat)), zorder=3)
    for off in (-120, -60, 0, 60, 120):
        outlined(ax, float(np.deg2rad(off)), 0.0, f"{centre + off:g}°", va="top")
    ax.set_xlabel(f"{lon_axis.name} (°)", fontsize=SMALL)
    ax.set_ylabel(f"{lat_axis.name} (°)", fontsize=SMALL)
    colour_bar(scene.figure, ax, scale, LABEL)
    legend(scene.figure, data_handles(scene, len(shown)))


def middle_meridian(axis: Axis) -> float:
    """The middle, in degrees, of the user's turn of longitudes."""
    return 0.0 if axis.turn is None else 360 * axis.turn.start / axis.turn.period + 180


def _from(places: np.ndarray, centre: float) -> np.ndarray:
    """Longitudes and latitudes in degrees, the former from the central meridian."""
    return np.stack([(places[:, 0] - centre + 180) % 360 - 180, places[:, 1]], axis=1)


def mollweide_map(ax: Any, field: SphereField, scale: Scale, centre: float = 0.0) -> None:
    """A field on Mollweide axes about a meridian, with lines every 30° (60° of longitude)."""
    lat, lon = np.linspace(-90, 90, 241), np.linspace(-180, 180, 481)
    middle = np.stack(np.meshgrid(_between(lat), _between(lon), indexing="ij"), -1).reshape(-1, 2)
    logs = field.at(vectors_from_latlon(middle[:, 0], middle[:, 1] + centre, degrees=True))
    ax.pcolormesh(
        *np.deg2rad(np.meshgrid(lon, lat)),
        values_for(scale, logs).reshape(240, 480),
        norm=scale.norm,
        cmap=MAP,
        rasterized=True,
    )
    ax.grid(color="white", lw=0.4, alpha=0.45)
    ax.set_longitude_grid(60)
    ax.set_latitude_grid(30)
    ax.set_longitude_grid_ends(90)
    ax.tick_params(labelsize=TINY)
    ax.set_xticklabels([])


def _between(edges: np.ndarray) -> np.ndarray:
    return (edges[1:] + edges[:-1]) / 2


def globe(scene: Scene) -> None:
    """The sphere from above the middle of the data; from the other side too, if they are there."""
    field, scale = field_of(scene)
    shown = images(scene.manifold, scene.shown())
    lat, lon = facing(scene)
    small = cap_of(directions_of(scene)).small
    sides = [(lat, lon)] if small else [(lat, lon), (-lat, lon + 180)]
    scene.size(*((5.0, 5.4) if small else (7.2, 4.6)))
    axes = scene.figure.subplots(1, len(sides), squeeze=False)[0]
    for ax, (up, across) in zip(axes, sides, strict=True):
        side = projections.globe(up, across)
        disk(ax, side, field, scale)
        blank(ax, 1.03)
        graticule(ax, side)
        for coast in scene.coasts:
            line(ax, side, *coast.T, lw=0.5, alpha=0.8)
        scatter(ax, side, shown)
        ax.set_title(f"above {place(up, across)}", fontsize=SMALL)
    how = {"orientation": "horizontal", "shrink": 0.6, "aspect": 32, "pad": 0.02}
    colour_bar(scene.figure, axes, scale, LABEL, **how)
    legend(scene.figure, data_handles(scene, len(scene.shown())))


def facing(scene: Scene) -> tuple[float, float]:
    """Latitude and longitude from which the data are seen best, in steps of 5°.

    Where they fill more than a cap, at most 30° off the equator, so that north is up.
    """
    cap = cap_of(directions_of(scene))
    lat, lon = (5.0 * round(v / 5) for v in cap.place)
    return (lat if cap.small else float(np.clip(lat, -30, 30))), lon


def place(lat: float, lon: float) -> str:
    """Degrees as people write them: 30° N, 12° E."""
    lon = (lon + 180) % 360 - 180
    return ", ".join([_towards(lat, "NS"), _towards(lon, "EW")])


def _towards(value: float, letters: str) -> str:
    letter = "" if value % 180 == 0 else f" {letters[value < 0]}"
    return f"{abs(value):g}°{letter}"


def upper(scene: Scene) -> None:
    """Axes by their upper ends, equal-area."""
    _half(scene, 1)


def lower(scene: Scene) -> None:
    """Axes by their lower ends, equal-area, as geologists draw them."""
    _half(scene, -1)


def _half(scene: Scene, sign: int) -> None:
    scene.size(6.0, 5.6)
    field, scale = field_of(scene)
    ax = scene.figure.add_subplot()
    half = projections.hemisphere(sign)
    disk(ax, half, field, scale)
    blank(ax, 1.24)
    azimuths(ax, sign, *scene.axes)
    shown = scene.shown()
    ends = np.where(sign * shown[:, 2:] < 0, -shown, shown)
    scatter(ax, half, ends)
    colour_bar(scene.figure, ax, scale, LABEL)
    legend(scene.figure, data_handles(scene, len(shown)))
