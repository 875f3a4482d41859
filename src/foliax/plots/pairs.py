"""Every coordinate, and every pair of them: the model's samples against the data.

It needs nothing of a manifold but its points, so it serves all of them; a product's marginals have
no formula, but its samples have marginals.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import PowerNorm
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from .axes import Axis
from .ranges import Range, inner_range
from .scene import Scene
from .style import DATA, DATA_EDGE, MAP, MODEL, TINY, Scale, colour_bar, dot_handle, dots, legend
from .ticks import ticks

MOST_AXES = 7
DOTS = 400
"""In each panel: the panels above the diagonal show all the data."""
SCALE = Scale(PowerNorm(1 / 3, 0.0, 1.0), "neither")


class Column(NamedTuple):
    """One coordinate of the samples and of the data."""

    axis: Axis
    span: Range
    edges: np.ndarray
    samples: np.ndarray
    data: np.ndarray | None
    dots: np.ndarray


def pair_plot(scene: Scene) -> None:
    """Diagonal: histograms of both. Below: samples in colour, data as dots. Above: data."""
    columns = _columns(scene)
    k = len(columns)
    side = max(4.6, min(12.0, 1.2 + 1.75 * k))
    scene.size(side + 0.6, side)
    grid: Any = scene.figure.subplots(k, k, squeeze=False)
    for i, below in enumerate(columns):
        for j, across in enumerate(columns):
            ax = grid[i, j]
            if i == j:
                _marginal(ax, across)
            elif i > j:
                _pair(ax, across, below, across.samples, below.samples)
                ax.scatter(across.dots, below.dots, **dots(3 * len(across.dots)), zorder=3)
            elif across.data is not None and below.data is not None:
                _pair(ax, across, below, across.data, below.data, thin=_thin(across.data))
            else:
                ax.set_axis_off()
            _finish(ax, across, below, i == k - 1, j == 0, diagonal=i == j)
    if k > 1:
        colour_bar(scene.figure, grid, SCALE, "frequency (× densest cell of the panel)", shrink=0.5)
    scene.figure.align_labels()
    legend(scene.figure, _handles(scene, k))


def _columns(scene: Scene) -> list[Column]:
    samples = scene.frame.values(scene.samples())
    data = None if scene.rows is None else scene.frame.values(scene.rows)
    few = scene.frame.values(scene.shown(DOTS)) if scene.rows is not None else samples[:0]
    return [
        _column(
            axis,
            axis.shown(samples[:, i]),
            None if data is None else axis.shown(data[:, i]),
            axis.shown(few[:, i]),
        )
        for i, axis in enumerate(scene.axes[:MOST_AXES])
    ]


def _column(axis: Axis, samples: np.ndarray, data: np.ndarray | None, few: np.ndarray) -> Column:
    span = inner_range(axis, samples, data)
    if axis.step is None:
        placed = None if data is None else span.placed(data)
        return Column(axis, span, span.spaced(41), span.placed(samples), placed, span.placed(few))
    low = np.round((span.low - axis.offset) / axis.step)
    high = np.round((span.high - axis.offset) / axis.step)
    each = max(1.0, np.ceil((high - low + 1) / 40))
    numbers = np.arange(low, high + each + 1, each) - 0.5
    edges = axis.offset + axis.step * numbers
    # Dots of equal values would be one dot: they are spread over their cell.
    spread = np.random.default_rng(0).uniform(-0.35, 0.35, len(few)) * axis.step
    return Column(axis, Range(edges[0], edges[-1]), edges, samples, data, few + spread)


def _marginal(ax: Axes, column: Column) -> None:
    widths = np.diff(np.log(column.edges) if column.span.logarithmic else column.edges)
    for values, look in (
        (column.data, {"fill": True, "fc": DATA, "ec": DATA_EDGE}),
        (column.samples, {"ec": MODEL, "lw": 1.4}),
    ):
        if values is not None:
            counts = np.histogram(values, column.edges)[0]
            ax.stairs(counts / len(values) / widths, column.edges, **look)
    ax.set_ylim(bottom=0)


def _thin(data: np.ndarray) -> int:
    """How many cells are joined along each axis, so that few data still make a picture."""
    return 4 if len(data) < 300 else 2 if len(data) < 5000 else 1


def _pair(
    ax: Axes, across: Column, up: Column, x: np.ndarray, y: np.ndarray, *, thin: int = 1
) -> None:
    edges = [c.edges[:: thin if c.axis.step is None else 1] for c in (across, up)]
    counts, _, _ = np.histogram2d(x, y, edges)
    shares = counts / max(1, counts.max())
    ax.pcolormesh(*edges, shares.T, norm=SCALE.norm, cmap=MAP, rasterized=True)


def _finish(
    ax: Axes, across: Column, below: Column, bottom: bool, left: bool, *, diagonal: bool
) -> None:
    ax.set_box_aspect(1)
    ax.tick_params(labelsize=7, labelbottom=bottom, labelleft=left and not diagonal, length=2)
    if across.span.logarithmic:
        ax.set_xscale("log")
    ax.set_xlim(across.span.low, across.span.high)
    _ticks(ax.xaxis, across)
    if diagonal:
        ax.set_yticks([])
        ax.spines[["top", "right", "left"]].set_visible(False)
    else:
        if below.span.logarithmic:
            ax.set_yscale("log")
        ax.set_ylim(below.span.low, below.span.high)
        _ticks(ax.yaxis, below)
    if bottom:
        ax.set_xlabel(across.axis.label, fontsize=TINY)
    if left:
        alone = diagonal and bottom
        ax.set_ylabel("frequency" if alone else below.axis.label, fontsize=TINY)


def _ticks(axis: Any, column: Column) -> None:
    if column.span.logarithmic:
        return
    places, words = ticks(column.axis, column.span, 4)
    # At the edge they would meet those of the next panel.
    inner = np.abs(places - column.span.low - column.span.length / 2) < 0.42 * column.span.length
    axis.set_ticks(places[inner], np.array(words)[inner])


def _handles(scene: Scene, k: int) -> list[Any]:
    model = Line2D([], [], color=MODEL, lw=1.4, label="samples of the model")
    left_off = len(scene.axes) - k
    rest = [Line2D([], [], ls="", label=f"{left_off} more axes are not shown")] if left_off else []
    if scene.rows is None:
        return [model, *rest]
    bars = Patch(fc=DATA, ec=DATA_EDGE, label=scene.data_label())
    shown = min(DOTS, len(scene.rows))
    halves = [dot_handle(f"{shown:,} rows on the model (below); above: data")] if k > 1 else []
    return [bars, model, *halves, *rest]
