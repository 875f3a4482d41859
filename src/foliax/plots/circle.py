"""Views of one angle: a rose, or a line over one turn."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from ..manifolds import SpecialOrthogonal, Sphere, Torus
from .axes import Axis
from .ranges import Range
from .registry import view_for
from .scene import Scene
from .style import (
    DATA,
    DATA_EDGE,
    LABEL_PT,
    MODEL,
    RULE,
    TICK_PT,
    add_legend,
    format_number,
    tidy,
)
from .ticks import make_ticks


def density_curve(scene: Scene) -> tuple[np.ndarray, np.ndarray]:
    """Angles from −π to π in radians, both included, and the density × uniform."""
    n = scene.grid_size(largest=1440)
    angles = np.linspace(-np.pi, np.pi, n, endpoint=False)
    assert scene.frame.points is not None
    values = np.exp(scene.log_multiples(scene.frame.points(angles[:, None])))
    return np.append(angles, np.pi), np.append(values, values[0])


def histogram(scene: Scene) -> tuple[np.ndarray, np.ndarray]:
    """Bin edges in radians, and the frequency of the data × uniform."""
    rows = scene.symmetry.images(np.zeros((0, 0)) if scene.rows is None else scene.rows)
    angles = scene.frame.values(rows)[:, 0]
    bins = int(np.clip(2 * round(len(angles) ** 0.4), 12, 72)) // 4 * 4
    counts, edges = np.histogram((angles + np.pi) % (2 * np.pi) - np.pi, bins, (-np.pi, np.pi))
    return edges, counts / counts.sum() * bins


@view_for(Torus, Sphere, SpecialOrthogonal, name="rose", dim=1, quotients=True, order=10)
def draw_rose(scene: Scene) -> None:
    """Polar plot: areas are proportional to frequency, so radii to its square root."""
    scene.set_size(5.4, 5.4)
    ax: Any = scene.figure.add_subplot(projection="polar")
    angles, values = density_curve(scene)
    top = values.max()
    if scene.rows is not None:
        edges, heights = histogram(scene)
        top = max(top, heights.max())
        width = edges[1] - edges[0]
        ax.bar(edges[:-1], np.sqrt(heights), width, align="edge", color=DATA, ec=DATA_EDGE, lw=0.5)
    ax.plot(angles, np.sqrt(values), color=MODEL, lw=1.6)
    ax.plot(angles, np.ones_like(angles), color=RULE, lw=0.7, ls="--")
    _ring_labels(ax, top)
    _turn_labels(ax, scene.axes[0])
    # The ring labels stand between two spokes, where the density is lowest.
    spokes = np.deg2rad(np.arange(15, 360, 30))
    heights = np.interp(spokes, angles, values, period=2 * np.pi)
    ax.set_rlabel_position(np.rad2deg(spokes[int(np.argmin(heights))]))
    add_legend(scene.figure, _handles(scene))


def _ring_labels(ax: Any, top: float) -> None:
    ax.set_ylim(0, np.sqrt(top) * 1.05)
    levels = np.array([0.25, 0.5, 1, 2, 4, 8, 16, 32, 64, 128, 512, 2048])
    spaced = [1.0] if top > 0.5 else []
    gap = 0.17 * np.sqrt(top)
    for level in levels[levels <= top]:
        if all(abs(np.sqrt(level) - np.sqrt(s)) >= gap for s in spaced):
            spaced.append(float(level))
    spaced.sort()
    ax.set_yticks(np.sqrt(spaced), [f"{format_number(v)}×" for v in spaced])
    ax.tick_params(axis="y", labelsize=TICK_PT)
    ax.grid(lw=0.4)
    ax.set_axisbelow(False)


def _turn_labels(ax: Any, axis: Axis) -> None:
    """Label the turn: clocks and calendars clockwise from the top, angles as in mathematics."""
    turn = axis.turn
    if turn is None:
        return
    if turn.symbol not in ("°", "rad"):
        ax.set_theta_zero_location("N")
        ax.set_theta_direction(-1)
    positions, labels = make_ticks(axis, Range(turn.start, turn.start + turn.period), 12)
    # The end of a turn is its start: label it once.
    once = positions < positions[0] + turn.period * (1 - 1e-9)
    angles = positions[once] * (2 * np.pi / turn.period) % (2 * np.pi)
    ax.set_xticks(angles, np.array(labels)[once], fontsize=TICK_PT)
    ax.set_title(axis.label, fontsize=LABEL_PT, pad=10)


@view_for(Torus, Sphere, SpecialOrthogonal, name="line", dim=1, quotients=True, order=20)
def draw_line(scene: Scene) -> None:
    """Histogram of the data and curve of the density over one turn."""
    ax = scene.figure.add_subplot()
    axis = scene.axes[0]
    angles, values = density_curve(scene)
    turn = 2 * np.pi
    start = 0.0 if axis.turn is None else axis.turn.start / axis.turn.period * turn
    scale = 1.0 if axis.turn is None else axis.turn.period / turn
    if scene.rows is not None:
        edges, heights = histogram(scene)
        lefts = (edges[:-1] - start) % turn + start
        width = (edges[1] - edges[0]) * scale
        for shift in (0, -turn):
            left = (lefts + shift) * scale
            ax.bar(left, heights, width, align="edge", color=DATA, ec=DATA_EDGE, lw=0.4)
    positions = (angles[:-1] - start) % turn + start
    order = np.argsort(positions)
    x = np.append(positions[order], positions[order][0] + turn) * scale
    ax.plot(x, np.append(values[:-1][order], values[order[0]]), color=MODEL, lw=1.6)
    ax.axhline(1, color=RULE, lw=0.7, ls="--")
    ax.set_xlim(start * scale, (start + turn) * scale)
    ax.set_xticks(*make_ticks(axis, Range(start * scale, (start + turn) * scale), 9))
    ax.set_ylim(bottom=0)
    ax.set_xlabel(axis.label, fontsize=LABEL_PT)
    ax.set_ylabel("density (× uniform)", fontsize=LABEL_PT)
    tidy(ax)
    add_legend(scene.figure, _handles(scene))


def _handles(scene: Scene) -> list[Any]:
    bars = [Patch(fc=DATA, ec=DATA_EDGE, label=scene.data_label())]
    return [
        *(bars if scene.rows is not None else []),
        Line2D([], [], color=MODEL, lw=1.6, label="density"),
        Line2D([], [], color=RULE, lw=0.7, ls="--", label="uniform (1×)"),
    ]
