"""A part of the sphere: a map in the user's degrees; an equal-area disk about a pole."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes

from ..manifolds.conversions import latlon_from_vectors, vectors_from_latlon
from . import projections
from .axes import Axis
from .coasts import cut
from .disks import below, blank, degrees, line, painted, places_on, scatter
from .images import images
from .projections import Projection
from .ranges import TAIL, Range, inner_range
from .scene import LABEL, Scene, data_handles, grid_side
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
from .ticks import ticks

SMALL_CAP = 60.0
"""Directions within this radius, in degrees, are shown on a map of their own."""
NEAR_POLE = 80.0
LONGEST = 2.2
"""The most that one side of a map is longer than the other."""


class Cap(NamedTuple):
    """All within `radius` degrees of a centre, a unit vector."""

    centre: np.ndarray
    radius: float

    @property
    def small(self) -> bool:
        """Whether it is worth a map of its own."""
        return self.radius <= SMALL_CAP

    @property
    def place(self) -> tuple[float, float]:
        """Latitude and longitude of the centre in degrees."""
        lat, lon = latlon_from_vectors(self.centre[None], degrees=True)
        return float(lat[0]), float(lon[0])


def cap_of(directions: np.ndarray) -> Cap:
    """About the mean direction, with all but the farthest 0.2 %."""
    mean = directions.mean(axis=0)
    length = float(np.linalg.norm(mean))
    if length < 1e-3:
        return Cap(np.array([1.0, 0.0, 0.0]), 180.0)
    cosines = np.clip(directions @ (mean / length), -1, 1)
    radius = np.rad2deg(np.arccos(np.quantile(cosines, TAIL)))
    return Cap(mean / length, float(radius))


def directions_of(scene: Scene) -> np.ndarray:
    """The data, or where there are none, samples; in a quotient with all their images."""
    rows = scene.samples(2000) if scene.rows is None or not len(scene.rows) else scene.rows
    return images(scene.manifold, rows)


def region(scene: Scene) -> None:
    """Where the data are, or else the samples, with latitudes and longitudes as the user's."""
    cap = cap_of(directions_of(scene))
    polar = cap.small and abs(cap.place[0]) + cap.radius > NEAR_POLE
    (around_a_pole if polar else rectangle)(scene)


def rectangle(scene: Scene) -> None:
    """Latitude over longitude, true to scale in the middle."""
    lat, lon = _ranges(scene)
    to_degrees = 360 / _period(scene.axes[0])
    stretch = 1 / np.cos(np.deg2rad((lat.low + lat.high) / 2 * to_degrees))
    lat, lon = _roomy(scene.axes, lat, lon, float(stretch))
    tall = lat.length / lon.length * stretch
    wide = 5.2 / max(1.0, tall)
    scene.size(wide + 1.6, wide * tall + 1.1)
    logs, scale = _grid(scene, lat, lon)
    ax = scene.figure.add_subplot()
    ax.imshow(
        values_for(scale, logs),
        norm=scale.norm,
        cmap=MAP,
        extent=(lon.low, lon.high, lat.low, lat.high),
        origin="lower",
        interpolation="bilinear",
    )
    ax.set_aspect(float(stretch))
    for coast in scene.coasts:
        across, up = _placed(scene, lon, *np.deg2rad(coast.T[::-1]))
        ax.plot(*cut(np.stack([across, up], axis=1), _period(scene.axes[1]) / 2).T, **COAST)
    beyond = _dots(ax, scene, lat, lon)
    _finish(ax, scene.axes, lat, lon)
    colour_bar(scene.figure, ax, scale, LABEL)
    legend(scene.figure, data_handles(scene, len(scene.shown()), beyond))


COAST: dict[str, Any] = {"color": "white", "lw": 0.6, "alpha": 0.8}


def _period(axis: Axis) -> float:
    return 360.0 if axis.turn is None else axis.turn.period


def _ranges(scene: Scene) -> tuple[Range, Range]:
    radians = latlon_from_vectors(directions_of(scene), degrees=False)
    shown = [axis.shown(values) for axis, values in zip(scene.axes, radians, strict=True)]
    lat, lon = (inner_range(a, v, v) for a, v in zip(scene.axes, shown, strict=True))
    return lat, lon


def _roomy(axes: tuple[Axis, ...], lat: Range, lon: Range, stretch: float) -> tuple[Range, Range]:
    """A margin all round, and no map that is a mere strip."""
    height, width = 1.1 * lat.length * stretch, 1.1 * lon.length
    height, width = max(height, width / LONGEST), max(width, height / LONGEST)
    middle, half = (lat.low + lat.high) / 2, height / stretch / 2
    quarter = _period(axes[0]) / 4
    lat = Range(max(middle - half, -quarter), min(middle + half, quarter))
    if width >= _period(axes[1]):
        return lat, lon
    middle = (lon.low + lon.high) / 2
    return lat, Range(middle - width / 2, middle + width / 2, period=_period(axes[1]))


def _grid(scene: Scene, lat: Range, lon: Range) -> tuple[np.ndarray, Scale]:
    side = grid_side(scene.grid_size())
    up, across = (r.spaced(2 * side + 1)[1::2] for r in (lat, lon))
    radians = [v * (2 * np.pi / _period(a)) for a, v in zip(scene.axes, (up, across), strict=True)]
    grid = np.stack(np.meshgrid(*radians, indexing="ij"), axis=-1).reshape(-1, 2)
    points = vectors_from_latlon(grid[:, 0], grid[:, 1], degrees=False)
    logs = scene.log_multiples(points).reshape(side, side)
    weights = np.broadcast_to(np.cos(radians[0])[:, None], logs.shape)
    return logs, colour_scale(logs, weights)


def _placed(scene: Scene, lon: Range, lat_rad: np.ndarray, lon_rad: np.ndarray):
    """Places on the map of latitudes and longitudes in radians."""
    lat_axis, lon_axis = scene.axes
    return lon.placed(lon_axis.shown(lon_rad)), lat_axis.shown(lat_rad)


def _dots(ax: Axes, scene: Scene, lat: Range, lon: Range) -> int:
    """The data, and how many of them are beyond the map."""
    shown = images(scene.manifold, scene.shown())
    across, up = _placed(scene, lon, *latlon_from_vectors(shown, degrees=False))
    ax.scatter(across, up, **dots(len(shown)), zorder=3)
    ax.set_xlim(lon.low, lon.high)
    ax.set_ylim(lat.low, lat.high)
    within = (lon.low <= across) & (across <= lon.high) & (lat.low <= up) & (up <= lat.high)
    return int((~within).sum())


def _finish(ax: Axes, axes: tuple[Axis, ...], lat: Range, lon: Range) -> None:
    ax.set_xlabel(axes[1].label, fontsize=SMALL)
    ax.set_ylabel(axes[0].label, fontsize=SMALL)
    ax.set_xticks(*ticks(axes[1], lon, 6))
    ax.set_yticks(*ticks(axes[0], lat, 6))
    ax.grid(color="white", lw=0.4, alpha=0.45)
    ax.tick_params(labelsize=TINY)


def around_a_pole(scene: Scene) -> None:
    """A cap by Lambert's equal-area projection, its middle the data's."""
    scene.size(6.2, 5.6)
    cap = cap_of(directions_of(scene))
    radius = 1.1 * cap.radius
    projection = projections.cap(*cap.place, radius)
    side = grid_side(scene.grid_size())
    logs = scene.log_multiples(projection.backward(places_on(side)).reshape(-1, 3))
    logs = logs.reshape(side, side)
    scale = colour_scale(logs, np.ones_like(logs))
    ax = scene.figure.add_subplot()
    blank(ax, 1.24)
    painted(ax, logs, scale)
    _lines(ax, projection, radius, scene.axes)
    for coast in scene.coasts:
        line(ax, projection, *coast.T, lw=0.6, alpha=0.8)
    shown = images(scene.manifold, scene.shown())
    beyond = len(shown) - scatter(ax, projection, shown)
    colour_bar(scene.figure, ax, scale, LABEL)
    legend(scene.figure, data_handles(scene, len(scene.shown()), beyond))


def _lines(ax: Axes, projection: Projection, radius: float, axes: tuple[Axis, ...]) -> None:
    """Meridians named at the rim, parallels where they are lowest on the picture."""
    step = next(s for s in (1, 2, 5, 10, 15, 20) if radius / s <= 4 or s == 20)
    along = np.linspace(-180, 180, 721)
    for lat in np.arange(-90.0 + step, 90.0, step):
        circle = np.full(721, lat)
        line(ax, projection, along, circle)
        spots, visible = projection.forward(vectors_from_latlon(circle, along, degrees=True))
        if visible.any() and spots[visible, 1].min() > -0.93:
            x, y = spots[visible][np.argmin(spots[visible, 1])]
            outlined(ax, float(x), float(y), degrees(axes[0], float(lat)))
    turn = np.linspace(0, 2 * np.pi, 1441)
    rim = np.stack([np.cos(turn), np.sin(turn)], axis=1)
    rim_lon = latlon_from_vectors(projection.backward(rim), degrees=True)[1]
    for lon in range(-180, 180, 30):
        line(ax, projection, np.full(721, lon, float), np.linspace(-90, 90, 721))
        off = (rim_lon - lon + 180) % 360 - 180
        for i in np.flatnonzero((off[1:] * off[:-1] <= 0) & (np.abs(off[1:]) < 90)):
            x, y = 1.08 * rim[i]
            ax.text(
                float(x),
                float(y),
                degrees(axes[1], float(lon)),
                size=TINY,
                ha="center",
                va="center",
            )
    below(ax, f"rings: {axes[0].name}; rim: {axes[1].name}", 1.17)
