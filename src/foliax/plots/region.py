"""The view `region`: a map of the part of the sphere that the data fill; a disk near a pole."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes

from ..manifolds import Sphere
from ..manifolds.conversions import latlon_from_vectors, vectors_from_latlon
from . import projections
from .axes import Axis
from .coasts import break_at_edge
from .disks import (
    disk_grid,
    draw_dots,
    draw_line,
    format_degrees,
    hide_axes,
    paint_disk,
    write_below,
)
from .projections import Projection
from .ranges import TAIL_SHARE, Range, inner_range
from .registry import view_for
from .scene import DENSITY_LABEL, Scene, data_handles, grid_side
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
from .ticks import make_ticks

MAX_CAP_DEGREES = 60.0
"""Directions within this radius get a regional map by default."""
MAX_MAP_LATITUDE_DEGREES = 80.0
"""A region that reaches further is a disk: meridians meet, which a rectangle cannot show."""
MAX_ASPECT = 2.2
"""Longer side of a map over the shorter one."""
COAST: dict[str, Any] = {"color": "white", "lw": 0.6, "alpha": 0.8}


class Cap(NamedTuple):
    """The directions within `radius` degrees of a centre, a unit vector."""

    centre: np.ndarray
    radius: float

    @property
    def is_small(self) -> bool:
        """Whether a regional map shows the cap better than a map of the whole sphere."""
        return self.radius <= MAX_CAP_DEGREES

    @property
    def latlon(self) -> tuple[float, float]:
        """Latitude and longitude of the centre in degrees."""
        lat, lon = latlon_from_vectors(self.centre[None], degrees=True)
        return float(lat[0]), float(lon[0])


def cap_of(directions: np.ndarray) -> Cap:
    """A cap around the mean direction that holds all but the farthest 0.2 %."""
    mean = directions.mean(axis=0)
    length = float(np.linalg.norm(mean))
    if length < 1e-3:
        return Cap(np.array([1.0, 0.0, 0.0]), 180.0)
    cosines = np.clip(directions @ (mean / length), -1, 1)
    radius = np.rad2deg(np.arccos(np.quantile(cosines, TAIL_SHARE)))
    return Cap(mean / length, float(radius))


def directions_of(scene: Scene) -> np.ndarray:
    """All images of the data; of samples, if there are no data."""
    rows = scene.samples(2000) if scene.rows is None or not len(scene.rows) else scene.rows
    return scene.symmetry.images(rows)


def fills_small_cap(scene: Scene) -> bool:
    """Whether a regional map is the default: the data fill a small part of a whole sphere."""
    return scene.symmetry.order == 1 and cap_of(directions_of(scene)).is_small


@view_for(Sphere, name="region", dim=2, quotients=True, order=20, default_when=fills_small_cap)
def draw_region(scene: Scene) -> None:
    """A map of the region that holds the data or, without data, the samples."""
    cap = cap_of(directions_of(scene))
    is_polar = cap.is_small and abs(cap.latlon[0]) + cap.radius > MAX_MAP_LATITUDE_DEGREES
    (_draw_polar_disk if is_polar else _draw_rectangle)(scene)


def _draw_rectangle(scene: Scene) -> None:
    """Latitude against longitude, true to scale in the middle."""
    lat, lon = _ranges(scene)
    to_degrees = 360 / _period(scene.axes[0])
    stretch = 1 / np.cos(np.deg2rad((lat.low + lat.high) / 2 * to_degrees))
    lat, lon = _add_margins(scene.axes, lat, lon, float(stretch))
    aspect = lat.length / lon.length * stretch
    width = 5.2 / max(1.0, aspect)
    scene.set_size(width + 1.6, width * aspect + 1.1)
    logs, scale = _evaluate(scene, lat, lon)
    ax = scene.figure.add_subplot()
    ax.imshow(
        values_for(scale, logs),
        norm=scale.norm,
        cmap=COLOUR_MAP,
        extent=(lon.low, lon.high, lat.low, lat.high),
        origin="lower",
        interpolation="bilinear",
    )
    ax.set_aspect(float(stretch))
    for coast in scene.coastlines:
        x, y = _positions(scene, lon, *np.deg2rad(coast.T[::-1]))
        half_turn = _period(scene.axes[1]) / 2
        ax.plot(*break_at_edge(np.stack([x, y], axis=1), half_turn).T, **COAST)
    outside = _draw_rows(ax, scene, lat, lon)
    _label_map(ax, scene.axes, lat, lon)
    add_colour_bar(scene.figure, ax, scale, DENSITY_LABEL)
    add_legend(scene.figure, data_handles(scene, len(scene.rows_to_draw()), outside))


def _period(axis: Axis) -> float:
    return 360.0 if axis.turn is None else axis.turn.period


def _ranges(scene: Scene) -> tuple[Range, Range]:
    radians = latlon_from_vectors(directions_of(scene), degrees=False)
    values = [axis.to_unit(v) for axis, v in zip(scene.axes, radians, strict=True)]
    lat, lon = (inner_range(a, v, v) for a, v in zip(scene.axes, values, strict=True))
    return lat, lon


def _add_margins(
    axes: tuple[Axis, ...], lat: Range, lon: Range, stretch: float
) -> tuple[Range, Range]:
    """Add a margin on all sides, and widen a narrow map to `MAX_ASPECT`."""
    height, width = 1.1 * lat.length * stretch, 1.1 * lon.length
    height, width = max(height, width / MAX_ASPECT), max(width, height / MAX_ASPECT)
    middle, half = (lat.low + lat.high) / 2, height / stretch / 2
    quarter = _period(axes[0]) / 4
    lat = Range(max(middle - half, -quarter), min(middle + half, quarter))
    if width >= _period(axes[1]):
        return lat, lon
    middle = (lon.low + lon.high) / 2
    return lat, Range(middle - width / 2, middle + width / 2, period=_period(axes[1]))


def _evaluate(scene: Scene, lat: Range, lon: Range) -> tuple[np.ndarray, Scale]:
    side = grid_side(scene.grid_size())
    up, across = (r.grid(2 * side + 1)[1::2] for r in (lat, lon))
    radians = [v * (2 * np.pi / _period(a)) for a, v in zip(scene.axes, (up, across), strict=True)]
    grid = np.stack(np.meshgrid(*radians, indexing="ij"), axis=-1).reshape(-1, 2)
    points = vectors_from_latlon(grid[:, 0], grid[:, 1], degrees=False)
    logs = scene.log_multiples(points).reshape(side, side)
    weights = np.broadcast_to(np.cos(radians[0])[:, None], logs.shape)
    return logs, colour_scale(logs, weights)


def _positions(scene: Scene, lon: Range, lat_rad: np.ndarray, lon_rad: np.ndarray):
    """Positions x, y on the map of latitudes and longitudes in radians."""
    lat_axis, lon_axis = scene.axes
    return lon.wrap(lon_axis.to_unit(lon_rad)), lat_axis.to_unit(lat_rad)


def _draw_rows(ax: Axes, scene: Scene, lat: Range, lon: Range) -> int:
    """Draw the data, and return the number of dots outside the map."""
    rows = scene.symmetry.images(scene.rows_to_draw())
    x, y = _positions(scene, lon, *latlon_from_vectors(rows, degrees=False))
    ax.scatter(x, y, **dot_style(len(rows)), zorder=3)
    ax.set_xlim(lon.low, lon.high)
    ax.set_ylim(lat.low, lat.high)
    inside = (lon.low <= x) & (x <= lon.high) & (lat.low <= y) & (y <= lat.high)
    return int((~inside).sum())


def _label_map(ax: Axes, axes: tuple[Axis, ...], lat: Range, lon: Range) -> None:
    ax.set_xlabel(axes[1].label, fontsize=LABEL_PT)
    ax.set_ylabel(axes[0].label, fontsize=LABEL_PT)
    ax.set_xticks(*make_ticks(axes[1], lon, 6))
    ax.set_yticks(*make_ticks(axes[0], lat, 6))
    ax.grid(color="white", lw=0.4, alpha=0.45)
    ax.tick_params(labelsize=TICK_PT)


def _draw_polar_disk(scene: Scene) -> None:
    """A cap around the mean of the data in Lambert's equal-area projection."""
    scene.set_size(6.2, 5.6)
    cap = cap_of(directions_of(scene))
    radius = 1.1 * cap.radius
    projection = projections.cap(*cap.latlon, radius)
    side = grid_side(scene.grid_size())
    logs = scene.log_multiples(projection.backward(disk_grid(side)).reshape(-1, 3))
    logs = logs.reshape(side, side)
    scale = colour_scale(logs, np.ones_like(logs))
    ax = scene.figure.add_subplot()
    hide_axes(ax, 1.24)
    paint_disk(ax, logs, scale)
    _draw_graticule(ax, projection, radius, scene.axes)
    for coast in scene.coastlines:
        draw_line(ax, projection, *coast.T, lw=0.6, alpha=0.8)
    rows = scene.symmetry.images(scene.rows_to_draw())
    outside = len(rows) - draw_dots(ax, projection, rows)
    add_colour_bar(scene.figure, ax, scale, DENSITY_LABEL)
    add_legend(scene.figure, data_handles(scene, len(scene.rows_to_draw()), outside))


def _draw_graticule(
    ax: Axes, projection: Projection, radius: float, axes: tuple[Axis, ...]
) -> None:
    """Draw meridians, labelled at the rim, and parallels, labelled at their lowest position."""
    step = next(s for s in (1, 2, 5, 10, 15, 20) if radius / s <= 4 or s == 20)
    along = np.linspace(-180, 180, 721)
    for lat in np.arange(-90.0 + step, 90.0, step):
        circle = np.full(721, lat)
        draw_line(ax, projection, along, circle)
        positions, visible = projection.forward(vectors_from_latlon(circle, along, degrees=True))
        if visible.any() and positions[visible, 1].min() > -0.93:
            x, y = positions[visible][np.argmin(positions[visible, 1])]
            draw_outlined_text(ax, float(x), float(y), format_degrees(axes[0], float(lat)))
    angles = np.linspace(0, 2 * np.pi, 1441)
    rim = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    rim_lon = latlon_from_vectors(projection.backward(rim), degrees=True)[1]
    for lon in range(-180, 180, 30):
        draw_line(ax, projection, np.full(721, lon, float), np.linspace(-90, 90, 721))
        off = (rim_lon - lon + 180) % 360 - 180
        for i in np.flatnonzero((off[1:] * off[:-1] <= 0) & (np.abs(off[1:]) < 90)):
            x, y = 1.08 * rim[i]
            label = format_degrees(axes[1], float(lon))
            ax.text(float(x), float(y), label, size=TICK_PT, ha="center", va="center")
    write_below(ax, f"rings: {axes[0].name}; rim: {axes[1].name}", 1.17)
