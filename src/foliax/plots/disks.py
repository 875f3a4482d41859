"""Drawing on a disk: a field, dots, lines of latitude and longitude, labels at the rim."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Circle

from ..manifolds.conversions import vectors_from_latlon
from .axes import Axis, literal
from .fields import SphereField
from .projections import Projection
from .style import (
    COLOUR_MAP,
    LABEL_PT,
    RULE,
    TICK_PT,
    Scale,
    dot_style,
    draw_outlined_text,
    values_for,
)
from .ticks import format_value

DISK_PIXELS = 400
"""Side of the square around a disk."""


def draw_disk(ax: Axes, projection: Projection, field: SphereField, scale: Scale) -> None:
    """Draw a field on the disk."""
    hide_axes(ax, 1.16)
    paint_disk(ax, field.at(projection.backward(disk_grid(DISK_PIXELS))), scale)


def hide_axes(ax: Axes, half_width: float) -> None:
    """Remove the frame and the ticks, and show the square up to `half_width` from the centre."""
    ax.set_aspect("equal")
    ax.set_axis_off()
    ax.set_xlim(-half_width, half_width)
    ax.set_ylim(-half_width, half_width)


def disk_grid(pixels: int) -> np.ndarray:
    """Centres of pixels × pixels cells around the disk; those outside move to the rim."""
    side = (np.arange(pixels) + 0.5) / pixels * 2 - 1
    centres = np.stack(np.meshgrid(side, side), axis=-1)
    return centres / np.maximum(np.linalg.norm(centres, axis=-1, keepdims=True), 1.0)


def paint_disk(ax: Axes, logs: np.ndarray, scale: Scale) -> None:
    """Draw log values on `disk_grid`, and the rim."""
    image = ax.imshow(
        values_for(scale, logs),
        norm=scale.norm,
        cmap=COLOUR_MAP,
        extent=(-1, 1, -1, 1),
        origin="lower",
        interpolation="bilinear",
    )
    rim = Circle((0, 0), 1, fill=False, ec="black", lw=0.8)
    ax.add_patch(rim)
    image.set_clip_path(rim)


def draw_dots(
    ax: Axes, projection: Projection, directions: np.ndarray, *, style_count: int | None = None
) -> int:
    """Draw the directions that this disk shows, and return their number.

    `style_count`: size the dots as for this many; by default, for all directions.
    """
    positions, visible = projection.forward(directions)
    style = dot_style(len(directions) if style_count is None else style_count)
    ax.scatter(*positions[visible].T, **style, zorder=3)
    return int(visible.sum())


def draw_line(ax: Axes, projection: Projection, lon: np.ndarray, lat: np.ndarray, **style) -> None:
    """Draw the part of a line on the sphere that this disk shows; degrees, NaN for gaps."""
    known = np.isfinite(lat)
    directions = vectors_from_latlon(np.where(known, lat, 0), np.where(known, lon, 0), degrees=True)
    positions, visible = projection.forward(directions)
    positions[~(visible & known)] = np.nan
    ax.plot(*positions.T, **({"lw": 0.4, "color": "white", "alpha": 0.45} | style))


def draw_graticule(ax: Axes, projection: Projection) -> None:
    """Draw meridians and parallels every 30°."""
    along = np.linspace(-180, 180, 181)
    for lon in range(-180, 180, 30):
        draw_line(ax, projection, np.full(91, lon, float), np.linspace(-90, 90, 91))
    for lat in range(-60, 90, 30):
        draw_line(ax, projection, along, np.full(181, lat, float))


def draw_rings(ax: Axes, inner: str = "30°", outer: str = "60°") -> None:
    """Draw circles at polar angles of 30° and 60°, and ticks at the rim every 30°."""
    for polar, label in ((30, inner), (60, outer)):
        radius = np.sqrt(1 - np.cos(np.deg2rad(polar)))
        ax.add_patch(Circle((0, 0), radius, fill=False, ec="white", lw=0.4, alpha=0.6))
        draw_outlined_text(ax, float(radius * np.cos(1.9)), float(radius * np.sin(1.9)), label)
    ax.plot(0, 0, "+", color="white", ms=6, mew=0.8, zorder=4)
    for azimuth in np.deg2rad(np.arange(0, 360, 30)):
        ends = np.array([[1.0, 1.025]]).T * [np.cos(azimuth), np.sin(azimuth)]
        ax.plot(*ends.T, color=RULE, lw=0.6)


def label_space_axes(ax: Axes, sign: int) -> None:
    """Label the axes of space at the rim, and the half that the disk shows."""
    ax.text(1.04, 0, "x", ha="left", va="center", size=LABEL_PT)
    ax.text(0, 1.03, "y", ha="center", va="bottom", size=LABEL_PT)
    write_below(ax, f"z {'<>'[sign > 0]} 0, {half_name(sign)} half")


def label_azimuths(ax: Axes, sign: int, lat: Axis, lon: Axis) -> None:
    """Label longitudes at the rim every 30°, in the user's unit."""
    draw_rings(ax, format_degrees(lat, 60.0 * sign), format_degrees(lat, 30.0 * sign))
    for azimuth in np.arange(-180.0, 180.0, 30.0):
        angle = np.deg2rad(azimuth)
        position = 1.09 * float(np.cos(angle)), 1.09 * float(np.sin(angle))
        label = format_degrees(lon, float(azimuth))
        ax.text(*position, label, size=TICK_PT, ha="center", va="center")
    write_below(ax, f"{half_name(sign)} half; rings: {lat.name}; rim: {lon.name}", 1.17)


def half_name(sign: int) -> str:
    """Upper or lower."""
    return "upper" if sign > 0 else "lower"


def write_below(ax: Axes, text: str, distance: float = 1.05) -> None:
    """Write a note under the disk, at this distance from its centre."""
    ax.text(0, -distance, literal(text), ha="center", va="top", size=TICK_PT, color=RULE)


def format_degrees(axis: Axis, value: float) -> str:
    """Degrees in the axis' unit, within its turn."""
    period = 360.0 if axis.turn is None else axis.turn.period
    return format_value(axis, value / 360 * period) + ("°" if axis.unit == "°" else "")
