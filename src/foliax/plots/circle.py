"""One angle: a rose, or a line over one turn."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from ..manifolds import AbstractManifold, Quotient, SpecialOrthogonal, Sphere, Torus
from .axes import Axis
from .images import images
from .ranges import Range
from .scene import Scene
from .style import DATA, DATA_EDGE, MODEL, RULE, SMALL, TINY, legend, plain, tidy
from .ticks import ticks
from .views import View


def circle_views() -> dict[str, View]:
    """The views of one angle."""
    return {"rose": rose, "line": over_a_turn}


@functools.singledispatch
def on_circle(manifold: AbstractManifold, angles: np.ndarray) -> np.ndarray:
    """The points at angles in radians."""
    raise NotImplementedError(f"{manifold} is no circle.")


@on_circle.register
def _(manifold: Torus, angles: np.ndarray) -> np.ndarray:
    return angles[:, None]


@on_circle.register
def _(manifold: Sphere, angles: np.ndarray) -> np.ndarray:
    return np.stack([np.cos(angles), np.sin(angles)], axis=1)


@on_circle.register
def _(manifold: SpecialOrthogonal, angles: np.ndarray) -> np.ndarray:
    c, s = np.cos(angles), np.sin(angles)
    return np.stack([c, -s, s, c], axis=1)


@on_circle.register
def _(manifold: Quotient, angles: np.ndarray) -> np.ndarray:
    return on_circle(manifold.base, angles)


def curve(scene: Scene) -> tuple[np.ndarray, np.ndarray]:
    """Angles around the circle, the last one the first, and the density × uniform."""
    n = scene.grid_size(most=1440)
    angles = np.linspace(-np.pi, np.pi, n, endpoint=False)
    values = np.exp(scene.log_multiples(on_circle(scene.manifold, angles)))
    return np.append(angles, np.pi), np.append(values, values[0])


def histogram(scene: Scene) -> tuple[np.ndarray, np.ndarray]:
    """Edges in radians and the data's frequency × uniform."""
    rows = images(scene.manifold, np.zeros((0, 0)) if scene.rows is None else scene.rows)
    angles = scene.frame.values(rows)[:, 0]
    bins = int(np.clip(2 * round(len(angles) ** 0.4), 12, 72)) // 4 * 4
    counts, edges = np.histogram((angles + np.pi) % (2 * np.pi) - np.pi, bins, (-np.pi, np.pi))
    return edges, counts / counts.sum() * bins


def rose(scene: Scene) -> None:
    """Polar: areas are proportional to frequencies, radii to the root of the density."""
    scene.size(5.4, 5.4)
    ax: Any = scene.figure.add_subplot(projection="polar")
    angles, values = curve(scene)
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
    # Between two spokes, where there is least to write over.
    spokes = np.deg2rad(np.arange(15, 360, 30))
    free = np.interp(spokes, angles, values, period=2 * np.pi)
    ax.set_rlabel_position(np.rad2deg(spokes[int(np.argmin(free))]))
    legend(scene.figure, _handles(scene))


def _ring_labels(ax: Any, top: float) -> None:
    ax.set_ylim(0, np.sqrt(top) * 1.05)
    levels = np.array([0.25, 0.5, 1, 2, 4, 8, 16, 32, 64, 128, 512, 2048])
    spaced = [1.0] if top > 0.5 else []
    gap = 0.17 * np.sqrt(top)
    for level in levels[levels <= top]:
        if all(abs(np.sqrt(level) - np.sqrt(s)) >= gap for s in spaced):
            spaced.append(float(level))
    spaced.sort()
    ax.set_yticks(np.sqrt(spaced), [f"{plain(v)}×" for v in spaced])
    ax.tick_params(axis="y", labelsize=TINY)
    ax.grid(lw=0.4)
    ax.set_axisbelow(False)


def _turn_labels(ax: Any, axis: Axis) -> None:
    """Clocks and calendars run clockwise from the top, angles the other way from the right."""
    turn = axis.turn
    if turn is None:
        return
    if turn.symbol not in ("°", "rad"):
        ax.set_theta_zero_location("N")
        ax.set_theta_direction(-1)
    places, words = ticks(axis, Range(turn.start, turn.start + turn.period), 12)
    # The end of a turn is its beginning.
    once = places < places[0] + turn.period * (1 - 1e-9)
    angles = places[once] * (2 * np.pi / turn.period) % (2 * np.pi)
    ax.set_xticks(angles, np.array(words)[once], fontsize=TINY)
    ax.set_title(axis.label, fontsize=SMALL, pad=10)


def over_a_turn(scene: Scene) -> None:
    """A histogram and the density over one turn."""
    ax = scene.figure.add_subplot()
    axis = scene.axes[0]
    angles, values = curve(scene)
    turn = 2 * np.pi
    start = 0.0 if axis.turn is None else axis.turn.start / axis.turn.period * turn
    scale = 1.0 if axis.turn is None else axis.turn.period / turn
    if scene.rows is not None:
        edges, heights = histogram(scene)
        places = (edges[:-1] - start) % turn + start
        width = (edges[1] - edges[0]) * scale
        for shift in (0, -turn):
            left = (places + shift) * scale
            ax.bar(left, heights, width, align="edge", color=DATA, ec=DATA_EDGE, lw=0.4)
    places = (angles[:-1] - start) % turn + start
    order = np.argsort(places)
    x = np.append(places[order], places[order][0] + turn) * scale
    ax.plot(x, np.append(values[:-1][order], values[order[0]]), color=MODEL, lw=1.6)
    ax.axhline(1, color=RULE, lw=0.7, ls="--")
    ax.set_xlim(start * scale, (start + turn) * scale)
    ax.set_xticks(*ticks(axis, Range(start * scale, (start + turn) * scale), 9))
    ax.set_ylim(bottom=0)
    ax.set_xlabel(axis.label, fontsize=SMALL)
    ax.set_ylabel("density (× uniform)", fontsize=SMALL)
    tidy(ax)
    legend(scene.figure, _handles(scene))


def _handles(scene: Scene) -> list[Any]:
    bars = [Patch(fc=DATA, ec=DATA_EDGE, label=scene.data_label())]
    return [
        *(bars if scene.rows is not None else []),
        Line2D([], [], color=MODEL, lw=1.6, label="density"),
        Line2D([], [], color=RULE, lw=0.7, ls="--", label="uniform (1×)"),
    ]
