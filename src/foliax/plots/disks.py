"""Drawing on a disk: a field, dots, lines of latitude and longitude, names at the rim."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Circle

from ..manifolds.conversions import vectors_from_latlon
from .fields import SphereField
from .projections import Projection
from .style import MAP, RULE, SMALL, TINY, Scale, dots, outlined, values_for

PIXELS = 400


def disk(ax: Axes, projection: Projection, field: SphereField, scale: Scale) -> None:
    """The field on the disk."""
    ax.set_aspect("equal")
    ax.set_axis_off()
    ax.set_xlim(-1.16, 1.16)
    ax.set_ylim(-1.16, 1.16)
    side = (np.arange(PIXELS) + 0.5) / PIXELS * 2 - 1
    places = np.stack(np.meshgrid(side, side), axis=-1)
    inside = (places**2).sum(-1) <= (1 + 2 / PIXELS) ** 2
    values = values_for(scale, field.at(projection.backward(places)))
    image = ax.imshow(
        np.where(inside, values, np.nan),
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


def rings(ax: Axes, sign: int, names: tuple[str, str, str] = ("x", "y", "z")) -> None:
    """Where the polar angle is 30° and 60°, and the names of the frame's axes."""
    for polar in (30, 60):
        radius = np.sqrt(1 - np.cos(np.deg2rad(polar)))
        ax.add_patch(Circle((0, 0), radius, fill=False, ec="white", lw=0.4, alpha=0.6))
        outlined(ax, float(radius * np.cos(1.9)), float(radius * np.sin(1.9)), f"{polar}°")
    ax.plot(0, 0, "+", color="white", ms=6, mew=0.8, zorder=4)
    x, y, z = names
    rim = [(1.03, 0, x, "left", "center"), (0, 1.03, y, "center", "bottom")]
    for across, up, name, ha, va in rim:
        ax.text(across, up, name, ha=ha, va=va, size=SMALL)
    # Short lines outside the rim, as a compass has them, every 30°.
    for turn in np.deg2rad(np.arange(0, 360, 30)):
        ends = np.array([[1.0, 1.025]]).T * [np.cos(turn), np.sin(turn)]
        ax.plot(*ends.T, color=RULE, lw=0.6)
    where = f"{z} > 0, upper half" if sign > 0 else f"{z} < 0, lower half"
    ax.text(0, -1.05, where, ha="center", va="top", size=TINY, color=RULE)
