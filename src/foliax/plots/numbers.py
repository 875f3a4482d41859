"""One number: a histogram with the density's curve; counts and rounded values: bars with dots."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from ..manifolds import Euclidean, Interval, Naturals, PositiveReals, Rounded
from .axes import Axis
from .pairs import pair_plot
from .ranges import Range, inner_range
from .scene import Scene
from .style import DATA, DATA_EDGE, MODEL, SMALL, legend, tidy
from .views import View, views


@views.register(Euclidean)
@views.register(PositiveReals)
@views.register(Interval)
def _(manifold) -> dict[str, View]:
    return ({"curve": curve} if manifold.d == 1 else {}) | {"pair": pair_plot}


@views.register(Naturals)
@views.register(Rounded)
def _(manifold) -> dict[str, View]:
    return ({"bars": bars} if manifold.d == 1 else {}) | {"pair": pair_plot}


def curve(scene: Scene) -> None:
    """A histogram of the data and the density, per unit or, over decades, per decade."""
    ax, axis = scene.figure.add_subplot(), scene.axes[0]
    span = _span(scene, axis)
    x = span.spaced(scene.grid_size(most=600))
    # Open ends are no points of an interval.
    inner = x[1:-1][:, None]
    values = np.exp(scene.log_densities(inner))
    ax.plot(inner, values * span.per_decade(inner[:, 0]), color=MODEL, lw=1.6)
    if scene.rows is not None:
        edges = span.spaced(1 + bins_for(scene.rows[:, 0], span))
        counts, _ = np.histogram(scene.rows[:, 0], edges)
        widths = np.diff(np.log10(edges) if span.logarithmic else edges)
        ax.stairs(counts / len(scene.rows) / widths, edges, fill=True, fc=DATA, ec=DATA_EDGE)
    if span.logarithmic:
        ax.set_xscale("log")
    ax.set_xlim(span.low, span.high)
    one = "decade" if span.logarithmic else axis.unit or f"unit of {axis.name}"
    finish(scene, ax, f"density (per {one})", span)
    line = Line2D([], [], color=MODEL, lw=1.6, label="density")
    legend(scene.figure, [*_data_patch(scene, span), line])


def bins_for(values: np.ndarray, span: Range) -> int:
    """Freedman and Diaconis' number of bins, between 8 and 80."""
    within = values[(values >= span.low) & (values <= span.high)]
    if len(within) < 2:
        return 8
    placed = np.log10(within) if span.logarithmic else within
    quartiles = np.subtract(*np.quantile(placed, [0.75, 0.25]))
    width = 2 * max(quartiles, 1e-9 * span.length) / len(within) ** (1 / 3)
    return int(np.clip(math.ceil(span.length / width), 8, 80))


def _span(scene: Scene, axis: Axis) -> Range:
    data = None if scene.rows is None else scene.rows[:, 0]
    return inner_range(axis, scene.samples(4000)[:, 0], data)


class Cells(NamedTuple):
    """Groups of neighbouring values: where each group begins, how many values it has."""

    first: np.ndarray
    each: int
    step: float


def bars(scene: Scene) -> None:
    """Frequencies of the data as bars, the probabilities as dots; in groups where many."""
    ax, axis = scene.figure.add_subplot(), scene.axes[0]
    span = _span(scene, axis)
    cells = cells_of(axis, span)
    middle = cells.first + (cells.each - 1) / 2 * cells.step
    width = cells.each * cells.step
    if scene.rows is not None:
        found = _shares(scene.rows[:, 0], cells)
        ax.bar(middle, found, 0.9 * width, color=DATA, ec=DATA_EDGE, lw=0.4)
    ax.plot(middle, probabilities(scene, cells), "o", color=MODEL, ms=4 if len(middle) < 40 else 3)
    ax.set_xlim(middle[0] - width, middle[-1] + width)
    each = "probability" if cells.each == 1 else f"probability (per {cells.each:,} values)"
    finish(scene, ax, each, span)
    if len(middle) <= 12 and cells.each == 1:
        ax.set_xticks(middle, [f"{v:g}" for v in np.round(middle, 9)])
    dot = Line2D([], [], ls="", marker="o", color=MODEL, ms=4, label="model")
    legend(scene.figure, [*_data_patch(scene, span), dot])


def cells_of(axis: Axis, span: Range, most: int = 60) -> Cells:
    """At most `most` groups of values that cover the range."""
    step = axis.step or 1.0
    low = math.floor((span.low - axis.offset) / step + 0.5)
    high = math.ceil((span.high - axis.offset) / step - 0.5)
    each = max(1, math.ceil((high - low + 1) / most))
    return Cells(axis.offset + step * np.arange(low, high + 1, each), each, step)


def _shares(values: np.ndarray, cells: Cells) -> np.ndarray:
    """The share of the values that is in each group."""
    edges = np.append(cells.first, cells.first[-1] + cells.each * cells.step) - cells.step / 2
    return np.histogram(values, edges)[0] / max(1, len(values))


def probabilities(scene: Scene, cells: Cells) -> np.ndarray:
    """The mass of each group: summed where that is cheap, else the share of samples."""
    if len(cells.first) * cells.each > scene.grid_size(most=4096):
        return _shares(scene.samples()[:, 0], cells)
    values = cells.first[:, None] + cells.step * np.arange(cells.each)
    logs = scene.log_densities(values.reshape(-1, 1))
    return np.exp(logs).reshape(values.shape).sum(axis=1)


def finish(scene: Scene, ax: Axes, what: str, span: Range) -> None:
    """Labels, and a y axis from 0."""
    ax.set_xlabel(scene.axes[0].label, fontsize=SMALL)
    ax.set_ylabel(what, fontsize=SMALL)
    ax.set_ylim(bottom=0)
    tidy(ax)


def _data_patch(scene: Scene, span: Range) -> list[Any]:
    if scene.rows is None:
        return []
    values = scene.rows[:, 0]
    beyond = int(((values < span.low) | (values > span.high)).sum())
    note = f", {beyond:,} beyond the axis" if beyond else ""
    return [Patch(fc=DATA, ec=DATA_EDGE, label=scene.data_label() + note)]
