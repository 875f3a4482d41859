"""The view `map`: two angles, as in a Ramachandran plot."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from ..manifolds import Torus
from .axes import Axis
from .ranges import Range
from .registry import view_for
from .scene import DENSITY_LABEL, Scene, data_handles, grid_side
from .style import (
    COLOUR_MAP,
    LABEL_PT,
    TICK_PT,
    add_colour_bar,
    add_legend,
    colour_scale,
    dot_style,
    values_for,
)
from .ticks import make_ticks

REGION_MASSES = (0.5, 0.9)
"""Masses of the highest-density regions that are outlined."""


def torus_grid(scene: Scene, side: int) -> tuple[np.ndarray, np.ndarray]:
    """Cell centres over one turn in radians, from each axis' start, and logs[second, first]."""
    starts = [0.0 if a.turn is None else a.turn.start / a.turn.period for a in scene.axes]
    turns = (np.arange(side) + 0.5) / side
    first, second = (2 * np.pi * (s + turns) for s in starts)
    points = np.stack(np.meshgrid(first, second), axis=-1).reshape(-1, 2)
    wrapped = (points + np.pi) % (2 * np.pi) - np.pi
    return np.stack([first, second]), scene.log_multiples(wrapped).reshape(side, side)


@view_for(Torus, name="map", dim=2, order=10)
def draw_map(scene: Scene) -> None:
    """Two angles over one turn each, with the regions that hold 50 % and 90 % of the mass."""
    scene.set_size(6.2, 5.4)
    side = grid_side(scene.grid_size(largest=32_400))
    _, logs = torus_grid(scene, side)
    scale = colour_scale(logs, np.ones_like(logs))
    ax = scene.figure.add_subplot()
    first, second = scene.axes
    extent = (*_range(first), *_range(second))
    ax.imshow(
        values_for(scale, logs),
        norm=scale.norm,
        cmap=COLOUR_MAP,
        extent=extent,
        origin="lower",
        aspect="auto",
        interpolation="bilinear",
    )
    ax.set_box_aspect(1)
    lines = _draw_regions(ax, extent, logs)
    rows = scene.rows_to_draw()
    angles = scene.frame.values(rows)
    x, y = first.to_unit(angles[:, 0]), second.to_unit(angles[:, 1])
    ax.scatter(x, y, **dot_style(len(rows)), zorder=3)
    _label_map(ax, first, second)
    add_colour_bar(scene.figure, ax, scale, DENSITY_LABEL)
    add_legend(scene.figure, [*data_handles(scene, len(rows)), *lines])


def _range(axis: Axis) -> tuple[float, float]:
    return float(axis.low or 0.0), float(axis.high or 0.0)


def _draw_regions(
    ax: Axes, extent: tuple[float, float, float, float], logs: np.ndarray
) -> list[Any]:
    """Outline the highest-density regions of `REGION_MASSES`, and return legend entries."""
    order = np.sort(logs.ravel())[::-1]
    mass = np.cumsum(np.exp(order - order[0]))
    levels = [float(order[np.searchsorted(mass / mass[-1], share)]) for share in REGION_MASSES]
    if len(set(levels)) < len(levels) or not np.isfinite(levels).all():
        return []
    styles = ["-", "--"]
    bounded = np.maximum(logs, levels[-1] - 20)
    left, right, bottom, top = extent
    halves = 2 * len(logs) + 1
    x, y = np.linspace(left, right, halves)[1::2], np.linspace(bottom, top, halves)[1::2]
    for level, style in zip(levels, styles, strict=True):
        ax.contour(
            x, y, bounded, [level], colors="black", linewidths=0.9, linestyles=[style], zorder=4
        )
    return [
        Line2D([], [], color="black", lw=0.9, ls=style, label=f"{share:.0%} of the mass")
        for share, style in zip(REGION_MASSES, styles, strict=True)
    ]


def _label_map(ax: Axes, first: Axis, second: Axis) -> None:
    ax.set_xlabel(first.label, fontsize=LABEL_PT)
    ax.set_ylabel(second.label, fontsize=LABEL_PT)
    ax.tick_params(labelsize=TICK_PT)
    for axis, setter in ((first, ax.set_xticks), (second, ax.set_yticks)):
        setter(*make_ticks(axis, Range(*_range(axis)), 8))
