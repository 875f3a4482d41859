"""The pair plot: the model's samples against the data, for every coordinate and every pair.

It needs only points, so it serves every manifold. The marginals of a product have no formula, but
samples have marginals.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import PowerNorm
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from ..manifolds import AbstractManifold
from .axes import Axis
from .ranges import Range, inner_range
from .registry import PAIR_ORDER, view_for
from .scene import Scene
from .style import (
    COLOUR_MAP,
    DATA,
    DATA_EDGE,
    MODEL,
    TICK_PT,
    Scale,
    add_colour_bar,
    add_legend,
    dot_handle,
    dot_style,
)
from .ticks import make_ticks

MAX_AXES = 7
"""Rows and columns of panels that are still legible on a page."""
MAX_PANEL_DOTS = 400
"""Rows drawn as dots in a panel; the panels above the diagonal show all data."""
FREQUENCY_SCALE = Scale(PowerNorm(1 / 3, 0.0, 1.0), "neither")


class Column(NamedTuple):
    """One coordinate of the samples, of the data and of the rows drawn as dots."""

    axis: Axis
    span: Range
    edges: np.ndarray
    samples: np.ndarray
    data: np.ndarray | None
    dots: np.ndarray


@view_for(AbstractManifold, name="pair", quotients=True, order=PAIR_ORDER)
def draw_pairs(scene: Scene) -> None:
    """Diagonal: histograms of both. Below: samples in colour, data as dots. Above: data."""
    columns = _columns(scene)
    k = len(columns)
    side = max(4.6, min(12.0, 1.2 + 1.75 * k))
    scene.set_size(side + 0.6, side)
    grid: Any = scene.figure.subplots(k, k, squeeze=False)
    for i, below in enumerate(columns):
        for j, across in enumerate(columns):
            ax = grid[i, j]
            if i == j:
                _draw_marginal(ax, across)
            elif i > j:
                _draw_pair(ax, across, below, across.samples, below.samples)
                ax.scatter(across.dots, below.dots, **dot_style(3 * len(across.dots)), zorder=3)
            elif across.data is not None and below.data is not None:
                _draw_pair(
                    ax,
                    across,
                    below,
                    across.data,
                    below.data,
                    join=_cells_to_join(len(across.data)),
                )
            else:
                ax.set_axis_off()
            _label_panel(ax, across, below, i == k - 1, j == 0, diagonal=i == j)
    if k > 1:
        label = "frequency (× densest cell of the panel)"
        add_colour_bar(scene.figure, grid, FREQUENCY_SCALE, label, shrink=0.5)
    scene.figure.align_labels()
    add_legend(scene.figure, _handles(scene, k))


def _columns(scene: Scene) -> list[Column]:
    samples = scene.frame.values(scene.samples())
    data = None if scene.rows is None else scene.frame.values(scene.rows)
    few = (
        scene.frame.values(scene.rows_to_draw(MAX_PANEL_DOTS))
        if scene.rows is not None
        else samples[:0]
    )
    return [
        _column(
            axis,
            axis.to_unit(samples[:, i]),
            None if data is None else axis.to_unit(data[:, i]),
            axis.to_unit(few[:, i]),
        )
        for i, axis in enumerate(scene.axes[:MAX_AXES])
    ]


def _column(axis: Axis, samples: np.ndarray, data: np.ndarray | None, few: np.ndarray) -> Column:
    span = inner_range(axis, samples, data)
    if axis.step is None:
        wrapped = None if data is None else span.wrap(data)
        return Column(axis, span, span.grid(41), span.wrap(samples), wrapped, span.wrap(few))
    low = np.round((span.low - axis.offset) / axis.step)
    high = np.round((span.high - axis.offset) / axis.step)
    each = max(1.0, np.ceil((high - low + 1) / 40))
    numbers = np.arange(low, high + each + 1, each) - 0.5
    edges = axis.offset + axis.step * numbers
    # Jitter the dots within their cell: equal values would hide each other.
    jitter = np.random.default_rng(0).uniform(-0.35, 0.35, len(few)) * axis.step
    return Column(axis, Range(edges[0], edges[-1]), edges, samples, data, few + jitter)


def _draw_marginal(ax: Axes, column: Column) -> None:
    widths = np.diff(np.log(column.edges) if column.span.is_logarithmic else column.edges)
    for values, style in (
        (column.data, {"fill": True, "fc": DATA, "ec": DATA_EDGE}),
        (column.samples, {"ec": MODEL, "lw": 1.4}),
    ):
        if values is not None:
            counts = np.histogram(values, column.edges)[0]
            ax.stairs(counts / len(values) / widths, column.edges, **style)
    ax.set_ylim(bottom=0)


def _cells_to_join(n: int) -> int:
    """Cells to join along each axis, so that n rows fill the panel."""
    return 4 if n < 300 else 2 if n < 5000 else 1


def _draw_pair(
    ax: Axes, across: Column, up: Column, x: np.ndarray, y: np.ndarray, *, join: int = 1
) -> None:
    edges = [c.edges[:: join if c.axis.step is None else 1] for c in (across, up)]
    counts, _, _ = np.histogram2d(x, y, edges)
    shares = counts / max(1, counts.max())
    ax.pcolormesh(*edges, shares.T, norm=FREQUENCY_SCALE.norm, cmap=COLOUR_MAP, rasterized=True)


def _label_panel(
    ax: Axes, across: Column, below: Column, bottom: bool, left: bool, *, diagonal: bool
) -> None:
    ax.set_box_aspect(1)
    ax.tick_params(labelsize=7, labelbottom=bottom, labelleft=left and not diagonal, length=2)
    if across.span.is_logarithmic:
        ax.set_xscale("log")
    ax.set_xlim(across.span.low, across.span.high)
    _set_ticks(ax.xaxis, across)
    if diagonal:
        ax.set_yticks([])
        ax.spines[["top", "right", "left"]].set_visible(False)
    else:
        if below.span.is_logarithmic:
            ax.set_yscale("log")
        ax.set_ylim(below.span.low, below.span.high)
        _set_ticks(ax.yaxis, below)
    if bottom:
        ax.set_xlabel(across.axis.label, fontsize=TICK_PT)
    if left:
        only_panel = diagonal and bottom
        ax.set_ylabel("frequency" if only_panel else below.axis.label, fontsize=TICK_PT)


def _set_ticks(axis: Any, column: Column) -> None:
    if column.span.is_logarithmic:
        return
    positions, labels = make_ticks(column.axis, column.span, 4)
    # Labels at the edge would touch those of the next panel.
    middle = column.span.low + column.span.length / 2
    inner = np.abs(positions - middle) < 0.42 * column.span.length
    axis.set_ticks(positions[inner], np.array(labels)[inner])


def _handles(scene: Scene, k: int) -> list[Any]:
    model = Line2D([], [], color=MODEL, lw=1.4, label="samples of the model")
    hidden = len(scene.axes) - k
    note = f"{hidden} more {'axis is' if hidden == 1 else 'axes are'} not shown"
    rest = [Line2D([], [], ls="", label=note)] if hidden else []
    if scene.rows is None:
        return [model, *rest]
    bars = Patch(fc=DATA, ec=DATA_EDGE, label=scene.data_label())
    drawn = min(MAX_PANEL_DOTS, len(scene.rows))
    halves = [dot_handle(f"{drawn:,} rows on the model (below); above: data")] if k > 1 else []
    return [bars, model, *halves, *rest]
