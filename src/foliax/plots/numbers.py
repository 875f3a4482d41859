"""Views of one number: histogram and curve; of counts and rounded values: bars and dots."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from ..manifolds import Euclidean, Interval, Naturals, PositiveReals, Rounded
from .axes import Axis, literal
from .ranges import Range, inner_range
from .registry import view_for
from .scene import Scene
from .style import DATA, DATA_EDGE, LABEL_PT, MODEL, add_legend, tidy

RANGE_SAMPLES = 4000
"""Samples that set the range of the axis: 8 of them lie in each tail that is cut off."""
MAX_SUMMED_VALUES = 4096
"""Discrete values whose probabilities are summed; above, samples are counted."""


@view_for(Euclidean, PositiveReals, Interval, name="curve", dim=1, order=10)
def draw_curve(scene: Scene) -> None:
    """Histogram of the data and curve of the density, per unit or, on a log axis, per decade."""
    ax, axis = scene.figure.add_subplot(), scene.axes[0]
    span = _span(scene, axis)
    x = span.grid(scene.grid_size(largest=600))
    # The ends of an open interval are not points of it.
    inner = x[1:-1][:, None]
    values = np.exp(scene.log_densities(inner))
    ax.plot(inner, values * span.per_decade(inner[:, 0]), color=MODEL, lw=1.6)
    if scene.rows is not None:
        edges = span.grid(1 + bin_count(scene.rows[:, 0], span))
        counts, _ = np.histogram(scene.rows[:, 0], edges)
        widths = np.diff(np.log10(edges) if span.is_logarithmic else edges)
        ax.stairs(counts / len(scene.rows) / widths, edges, fill=True, fc=DATA, ec=DATA_EDGE)
    if span.is_logarithmic:
        ax.set_xscale("log")
    ax.set_xlim(span.low, span.high)
    per = "decade" if span.is_logarithmic else axis.unit or f"unit of {axis.name}"
    label_plot(scene, ax, literal(f"density (per {per})"))
    line = Line2D([], [], color=MODEL, lw=1.6, label="density")
    add_legend(scene.figure, [*_data_patch(scene, span), line])


def bin_count(values: np.ndarray, span: Range) -> int:
    """Freedman and Diaconis' number of bins, between 8 and 80."""
    inside = values[(values >= span.low) & (values <= span.high)]
    if len(inside) < 2:
        return 8
    positions = np.log10(inside) if span.is_logarithmic else inside
    quartiles = np.subtract(*np.quantile(positions, [0.75, 0.25]))
    width = 2 * max(quartiles, 1e-9 * span.length) / len(inside) ** (1 / 3)
    return int(np.clip(math.ceil(span.length / width), 8, 80))


def _span(scene: Scene, axis: Axis) -> Range:
    data = None if scene.rows is None else scene.rows[:, 0]
    return inner_range(axis, scene.samples(RANGE_SAMPLES)[:, 0], data)


class Cells(NamedTuple):
    """Groups of neighbouring discrete values.

    Attributes:
        first: the first value of each group.
        each: number of values in a group.
        step: spacing of the values.
    """

    first: np.ndarray
    each: int
    step: float


@view_for(Naturals, Rounded, name="bars", dim=1, order=10)
def draw_bars(scene: Scene) -> None:
    """Frequencies of the data as bars and probabilities as dots; many values in groups."""
    ax, axis = scene.figure.add_subplot(), scene.axes[0]
    span = _span(scene, axis)
    cells = make_cells(axis, span)
    middle = cells.first + (cells.each - 1) / 2 * cells.step
    width = cells.each * cells.step
    if scene.rows is not None:
        frequencies = _shares(scene.rows[:, 0], cells)
        ax.bar(middle, frequencies, 0.9 * width, color=DATA, ec=DATA_EDGE, lw=0.4)
    size = 4 if len(middle) < 40 else 3
    ax.plot(middle, probabilities(scene, cells), "o", color=MODEL, ms=size)
    ax.set_xlim(middle[0] - width, middle[-1] + width)
    grouped = f"probability (per {cells.each:,} values)"
    label_plot(scene, ax, "probability" if cells.each == 1 else grouped)
    if len(middle) <= 12 and cells.each == 1:
        ax.set_xticks(middle, [f"{v:g}" for v in np.round(middle, 9)])
    dot = Line2D([], [], ls="", marker="o", color=MODEL, ms=4, label="model")
    add_legend(scene.figure, [*_data_patch(scene, span), dot])


def make_cells(axis: Axis, span: Range, limit: int = 60) -> Cells:
    """At most `limit` groups of values that cover the range."""
    step = axis.step or 1.0
    low = math.floor((span.low - axis.offset) / step + 0.5)
    high = math.ceil((span.high - axis.offset) / step - 0.5)
    each = max(1, math.ceil((high - low + 1) / limit))
    return Cells(axis.offset + step * np.arange(low, high + 1, each), each, step)


def _shares(values: np.ndarray, cells: Cells) -> np.ndarray:
    """The share of the values in each group."""
    edges = np.append(cells.first, cells.first[-1] + cells.each * cells.step) - cells.step / 2
    return np.histogram(values, edges)[0] / max(1, len(values))


def probabilities(scene: Scene, cells: Cells) -> np.ndarray:
    """The mass of each group: a sum where that is cheap, else the share of samples."""
    if len(cells.first) * cells.each > scene.grid_size(largest=MAX_SUMMED_VALUES):
        return _shares(scene.samples()[:, 0], cells)
    values = cells.first[:, None] + cells.step * np.arange(cells.each)
    logs = scene.log_densities(values.reshape(-1, 1))
    return np.exp(logs).reshape(values.shape).sum(axis=1)


def label_plot(scene: Scene, ax: Axes, y_label: str) -> None:
    """Label both axes, and start the y axis at 0."""
    ax.set_xlabel(scene.axes[0].label, fontsize=LABEL_PT)
    ax.set_ylabel(y_label, fontsize=LABEL_PT)
    ax.set_ylim(bottom=0)
    tidy(ax)


def _data_patch(scene: Scene, span: Range) -> list[Any]:
    if scene.rows is None:
        return []
    values = scene.rows[:, 0]
    outside = int(((values < span.low) | (values > span.high)).sum())
    note = f", {outside:,} outside the axis" if outside else ""
    return [Patch(fc=DATA, ec=DATA_EDGE, label=scene.data_label() + note)]
