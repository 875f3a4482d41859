"""Drawing on a disk: a field, dots, lines of latitude and longitude, names at the rim."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Circle

from ..manifolds.conversions import vectors_from_latlon
from .axes import Axis
from .fields import SphereField
from .projections import Projection
from .style import MAP, RULE, SMALL, TINY, Scale, dots, outlined, values_for
from .ticks import written

PIXELS = 400


def disk(ax: Axes, projection: Projection, field: SphereField, scale: Scale) -> None:
    """The field on the disk."""
    blank(ax, 1.16)
    painted(ax, field.at(projection.backward(places_on(PIXELS))), scale)


def blank(ax: Axes, half: float) -> None:
    """Axes without lines and numbers, up to `half` from the middle."""
    ax.set_aspect("equal")
    ax.set_axis_off()
    ax.set_xlim(-half, half)
    ax.set_ylim(-half, half)


def places_on(pixels: int) -> np.ndarray:
    """The middles of pixels × pixels cells around the disk; those beyond it, at its rim."""
    side = (np.arange(pixels) + 0.5) / pixels * 2 - 1
    places = np.stack(np.meshgrid(side, side), axis=-1)
    return places / np.maximum(np.linalg.norm(places, axis=-1, keepdims=True), 1.0)


def painted(ax: Axes, logs: np.ndarray, scale: Scale) -> None:
    """Values at `places_on` the disk, and its rim."""
    image = ax.imshow(
        values_for(scale, logs),
        norm=scale.norm,
        cmap=MAP,
        extent=(-1, 1, -1, 1),
        origin="lower",
        interpolation="bilinear",
    )
    rim = Circle((0, 0), 1, fill=False, ec="black", lw=0.8)
    ax.add_patch(rim)
    image.set_clip_path(rim)


def scatter(
    ax: Axes, projection: Projection, directions: np.ndarray, *, of: int | None = None
) -> int:
    """Dots for the directions on this half; how many they are. Styled as for `of` dots."""
    places, visible = projection.forward(directions)
    ax.scatter(*places[visible].T, **dots(len(directions) if of is None else of), zorder=3)
    return int(visible.sum())


def line(ax: Axes, projection: Projection, lon: np.ndarray, lat: np.ndarray, **how) -> None:
    """A line on the sphere in degrees, where it is on this half."""
    known = np.isfinite(lat)
    directions = vectors_from_latlon(np.where(known, lat, 0), np.where(known, lon, 0), degrees=True)
    places, visible = projection.forward(directions)
    places[~(visible & known)] = np.nan
    ax.plot(*places.T, **({"lw": 0.4, "color": "white", "alpha": 0.45} | how))


def graticule(ax: Axes, projection: Projection) -> None:
    """Meridians and parallels every 30°."""
    along = np.linspace(-180, 180, 181)
    for lon in range(-180, 180, 30):
        line(ax, projection, np.full(91, lon, float), np.linspace(-90, 90, 91))
    for lat in range(-60, 90, 30):
        line(ax, projection, along, np.full(181, lat, float))


def rings(ax: Axes, inner: str = "30°", outer: str = "60°") -> None:
    """Where the polar angle is 30° and 60°, and the rim every 30°, as a compass has it."""
    for polar, word in ((30, inner), (60, outer)):
        radius = np.sqrt(1 - np.cos(np.deg2rad(polar)))
        ax.add_patch(Circle((0, 0), radius, fill=False, ec="white", lw=0.4, alpha=0.6))
        outlined(ax, float(radius * np.cos(1.9)), float(radius * np.sin(1.9)), word)
    ax.plot(0, 0, "+", color="white", ms=6, mew=0.8, zorder=4)
    for turn in np.deg2rad(np.arange(0, 360, 30)):
        ends = np.array([[1.0, 1.025]]).T * [np.cos(turn), np.sin(turn)]
        ax.plot(*ends.T, color=RULE, lw=0.6)


def frame_names(ax: Axes, sign: int) -> None:
    """The axes of space at the rim, and which half it is."""
    ax.text(1.04, 0, "x", ha="left", va="center", size=SMALL)
    ax.text(0, 1.03, "y", ha="center", va="bottom", size=SMALL)
    below(ax, f"z {'<>'[sign > 0]} 0, {half_name(sign)} half")


def azimuths(ax: Axes, sign: int, lat: Axis, lon: Axis) -> None:
    """Longitudes at the rim every 30°, in the user's words."""
    rings(ax, degrees(lat, 60.0 * sign), degrees(lat, 30.0 * sign))
    for azimuth in np.arange(-180.0, 180.0, 30.0):
        turn = np.deg2rad(azimuth)
        place = 1.09 * float(np.cos(turn)), 1.09 * float(np.sin(turn))
        ax.text(*place, degrees(lon, float(azimuth)), size=TINY, ha="center", va="center")
    below(ax, f"{half_name(sign)} half; rings: {lat.name}; rim: {lon.name}", 1.17)


def half_name(sign: int) -> str:
    """Upper or lower."""
    return "upper" if sign > 0 else "lower"


def below(ax: Axes, words: str, down: float = 1.05) -> None:
    """A note under the disk."""
    ax.text(0, -down, words, ha="center", va="top", size=TINY, color=RULE)


def degrees(axis: Axis, value: float) -> str:
    """Degrees in the axis' unit, within the user's turn."""
    period = 360.0 if axis.turn is None else axis.turn.period
    return written(axis, value / 360 * period) + ("°" if axis.unit == "°" else "")
