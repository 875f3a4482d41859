"""Angles: Ramachandran maps of T², roses of T¹, pair plots of more."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from ..manifolds import Torus
from .axes import Axis
from .circle import circle_views
from .pairs import pair_plot
from .ranges import Range
from .scene import LABEL, Scene, data_handles, grid_side
from .style import MAP, SMALL, TINY, colour_bar, colour_scale, dots, legend, values_for
from .ticks import ticks
from .views import View, views

SHARES = (0.5, 0.9)


@views.register
def _(manifold: Torus) -> dict[str, View]:
    own = {1: circle_views, 2: lambda: {"map": angle_map}}.get(manifold.d, dict)()
    return own | {"pair": pair_plot}


def torus_grid(scene: Scene, side: int) -> tuple[np.ndarray, np.ndarray]:
    """Middles of cells over one turn in radians, from each axis' start, and logs[second, first]."""
    starts = [0.0 if a.turn is None else a.turn.start / a.turn.period for a in scene.axes]
    turns = (np.arange(side) + 0.5) / side
    first, second = (2 * np.pi * (s + turns) for s in starts)
    points = np.stack(np.meshgrid(first, second), axis=-1).reshape(-1, 2)
    wrapped = (points + np.pi) % (2 * np.pi) - np.pi
    return np.stack([first, second]), scene.log_multiples(wrapped).reshape(side, side)


def angle_map(scene: Scene) -> None:
    """Two angles over one turn each, with the regions that hold half and nine tenths of mass."""
    scene.size(6.2, 5.4)
    side = grid_side(scene.grid_size(most=32_400))
    _, logs = torus_grid(scene, side)
    scale = colour_scale(logs, np.ones_like(logs))
    ax = scene.figure.add_subplot()
    first, second = scene.axes
    extent = (*_range(first), *_range(second))
    ax.imshow(
        values_for(scale, logs),
        norm=scale.norm,
        cmap=MAP,
        extent=extent,
        origin="lower",
        aspect="auto",
        interpolation="bilinear",
    )
    ax.set_box_aspect(1)
    lines = _regions(ax, extent, logs)
    shown = scene.shown()
    angles = scene.frame.values(shown)
    ax.scatter(first.shown(angles[:, 0]), second.shown(angles[:, 1]), **dots(len(shown)), zorder=3)
    _ticks(ax, first, second)
    colour_bar(scene.figure, ax, scale, LABEL)
    legend(scene.figure, [*data_handles(scene, len(shown)), *lines])


def _range(axis: Axis) -> tuple[float, float]:
    return float(axis.low or 0.0), float(axis.high or 0.0)


def _regions(ax: Axes, extent: tuple[float, float, float, float], logs: np.ndarray) -> list[Any]:
    """Lines around the smallest regions that hold given shares of the mass."""
    order = np.sort(logs.ravel())[::-1]
    mass = np.cumsum(np.exp(order - order[0]))
    levels = [float(order[np.searchsorted(mass / mass[-1], share)]) for share in SHARES]
    if len(set(levels)) < len(levels) or not np.isfinite(levels).all():
        return []
    styles = ["-", "--"]
    drawn = np.maximum(logs, levels[-1] - 20)
    left, right, bottom, top = extent
    halves = 2 * len(logs) + 1
    x, y = np.linspace(left, right, halves)[1::2], np.linspace(bottom, top, halves)[1::2]
    for level, style in zip(levels, styles, strict=True):
        ax.contour(
            x, y, drawn, [level], colors="black", linewidths=0.9, linestyles=[style], zorder=4
        )
    return [
        Line2D([], [], color="black", lw=0.9, ls=style, label=f"{share:.0%} of the mass")
        for share, style in zip(SHARES, styles, strict=True)
    ]


def _ticks(ax: Axes, first: Axis, second: Axis) -> None:
    ax.set_xlabel(first.label, fontsize=SMALL)
    ax.set_ylabel(second.label, fontsize=SMALL)
    ax.tick_params(labelsize=TINY)
    for axis, setter in ((first, ax.set_xticks), (second, ax.set_yticks)):
        setter(*ticks(axis, Range(*_range(axis)), 8))
