"""Plot a target p beside a learned density q: maps, slices, axes and angles."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.patheffects import withStroke
from matplotlib.ticker import FuncFormatter

from ..density import AbstractDensity, AbstractTarget
from ..evaluation import metrics
from ..manifolds.conversions import (
    latlon_from_vectors,
    rotations_from_vectors,
    vectors_from_rotations,
)
from ..plots import projections
from ..plots.disks import draw_disk, draw_graticule, hide_axes
from ..plots.fields import SphereField
from ..plots.scene import grid_side
from ..plots.sphere import format_latlon, paint_mollweide
from ..plots.style import (
    COLOUR_MAP,
    DATA,
    DATA_EDGE,
    LABEL_PT,
    MODEL,
    TICK_PT,
    Scale,
    add_colour_bar,
    colour_scale,
    draw_outlined_text,
    tidy,
    values_for,
)

SEED = 1
"""The seed of samples and of estimated log densities."""
BAR_BELOW = {"orientation": "horizontal", "shrink": 0.5, "aspect": 36, "pad": 0.04}


class Pair(NamedTuple):
    """A target and the density that was learned from it."""

    target: AbstractTarget
    learned: AbstractDensity


def log_density(density: AbstractDensity, points: np.ndarray) -> np.ndarray:
    """Return log densities of points, in float64."""
    return metrics.log_prob_once(density, points, key=jax.random.key(SEED))[0]


def blank_figure(width: float, height: float) -> Figure:
    """Return an empty figure; sizes are in inches."""
    return Figure(figsize=(width, height), layout="constrained")


VIEWPOINTS = ((25.0, 0.0), (-25.0, 180.0))
"""Latitude and longitude of the globes' viewpoints; opposite ones show the whole sphere."""


def sphere(pairs: tuple[Pair, ...], cells: int) -> Figure:
    """Plot p and q on S², as maps and as globes from two sides."""
    (pair,) = pairs
    fields = [
        SphereField.from_function(lambda points, d=d: log_density(d, points), cells) for d in pair
    ]
    scale = _scale_of(fields)
    figure = blank_figure(7.4, 3.75)
    grid = figure.add_gridspec(2, 4)
    axes = []
    for i, (field, words) in enumerate(zip(fields, ("target", "learned"), strict=True)):
        chart: Any = figure.add_subplot(grid[0, 2 * i : 2 * i + 2], projection="mollweide")
        paint_mollweide(chart, field, scale)
        _degrees(chart)
        chart.set_title(words, fontsize=LABEL_PT + 1)
        for lon in (-120.0, -60.0, 0.0, 60.0, 120.0):
            _mark(chart, _signed(lon), lon, 0.0, va="top", size=6)
        sides = [figure.add_subplot(grid[1, 2 * i + j]) for j in range(2)]
        for ax, side in zip(sides, VIEWPOINTS, strict=True):
            _globe(ax, field, scale, side)
        axes += [chart, *sides]
    add_colour_bar(figure, axes, scale, "density per steradian", aspect=34)
    return figure


def _degrees(ax: Any) -> None:
    """Format latitudes with a minus sign instead of a hyphen."""
    ax.yaxis.set_major_formatter(FuncFormatter(lambda v, _: _signed(np.rad2deg(v))))


def _mark(ax: Any, words: str, lon: float, lat: float, **how: Any) -> None:
    draw_outlined_text(ax, float(np.deg2rad(lon)), float(np.deg2rad(lat)), words, **how)


def _signed(degrees: float) -> str:
    return f"{degrees:.0f}°".replace("-", "−")


def _globe(ax: Axes, field: SphereField, scale: Scale, side: tuple[float, float]) -> None:
    seen = projections.globe(*side)
    draw_disk(ax, seen, field, scale)
    hide_axes(ax, 1.03)
    draw_graticule(ax, seen)
    ax.set_title(f"from above {format_latlon(*side)}", fontsize=TICK_PT)


def _scale_of(fields: list[SphereField], shares: np.ndarray | None = None) -> Scale:
    """Return one colour scale for all fields; `shares` weights each field's sphere."""
    weights = np.stack([field.weights for field in fields])
    if shares is not None:
        weights = weights * shares[:, None, None]
    return colour_scale(np.stack([field.logs for field in fields]), weights)


HEIGHTS = (-0.8, -0.4, 0.0, 0.4, 0.8)
MERIDIAN = 75.0
"""Central longitude of the slices' maps, chosen so that no mode is cut at the edge."""


def hypersphere(pairs: tuple[Pair, ...], cells: int) -> Figure:
    """Plot p and q on S³, on five spheres S² of constant y₄."""
    (pair,) = pairs
    fields = [[slice_field(density, h, cells // 4) for h in HEIGHTS] for density in pair]
    # dy = √(1 − h²) dh ds on S³.
    shares = np.tile(np.sqrt(1 - np.square(HEIGHTS)), 2)
    scale = _scale_of([field for row in fields for field in row], shares)
    figure = blank_figure(7.4, 2.5)
    axes: Any = figure.subplots(2, len(HEIGHTS), subplot_kw={"projection": "mollweide"})
    for ax, field in zip(axes.flat, fields[0] + fields[1], strict=True):
        paint_mollweide(ax, field, scale, MERIDIAN)
        ax.set_xticklabels([])
        ax.set_yticklabels([])
        for name, lon, lat in (("s₁", 0.0, 0.0), ("s₂", 90.0, 0.0), ("s₃", MERIDIAN, 78.0)):
            _mark(ax, name, lon - MERIDIAN, lat, size=6)
    for ax, h in zip(axes[0], HEIGHTS, strict=True):
        ax.set_title(f"y₄ = {h:g}".replace("-", "−"), fontsize=LABEL_PT)
    for ax, words in zip(axes[:, 0], ("target", "learned"), strict=True):
        ax.set_ylabel(words, fontsize=LABEL_PT + 1)
    add_colour_bar(figure, axes, scale, "density per unit of volume of S³", **BAR_BELOW)
    return figure


def slice_field(density: AbstractDensity, height: float, cells: int) -> SphereField:
    """Return the log density at (√(1 − h²)·s, h) of S³ as a function of s ∈ S²."""

    def logs(directions: np.ndarray) -> np.ndarray:
        return log_density(density, on_slice(directions, height))

    return SphereField.from_function(logs, cells)


def on_slice(directions: np.ndarray, height: float) -> np.ndarray:
    """Return (√(1 − h²)·s, h) for unit vectors s."""
    last = np.full((len(directions), 1), height)
    return np.concatenate([np.sqrt(1 - height**2) * directions, last], axis=1)


def torus(pairs: tuple[Pair, ...], cells: int) -> Figure:
    """Plot p above q on T², against both angles."""
    figure = blank_figure(7.4, 5.55)
    axes: Any = figure.subplots(2, len(pairs), sharex=True, sharey=True)
    ticks, words = np.linspace(0, 2 * np.pi, 5), ("0", "π/2", "π", "3π/2", "2π")
    names = ("correlated", "unimodal", "multimodal")
    for column, pair, name in zip(axes.T, pairs, names, strict=True):
        logs = np.stack([torus_logs(density, grid_side(cells // 3)) for density in pair])
        scale = colour_scale(logs, np.ones_like(logs))
        for ax, values in zip(column, logs, strict=True):
            ax.imshow(
                values_for(scale, values),
                norm=scale.norm,
                cmap=COLOUR_MAP,
                extent=(0, 2 * np.pi, 0, 2 * np.pi),
                origin="lower",
                interpolation="bilinear",
            )
            ax.set_xticks(ticks, words, fontsize=TICK_PT)
            ax.set_yticks(ticks, words, fontsize=TICK_PT)
        column[0].set_title(name, fontsize=LABEL_PT + 1)
        column[1].set_xlabel("θ₁ (rad)", fontsize=LABEL_PT)
        how = BAR_BELOW | {"shrink": 0.95, "aspect": 24, "pad": 0.03}
        add_colour_bar(figure, column, scale, "density per rad²", **how)
    for ax, words in zip(axes[:, 0], ("target", "learned"), strict=True):
        ax.set_ylabel(f"{words}\nθ₂ (rad)", fontsize=LABEL_PT)
    return figure


def torus_logs(density: AbstractDensity, side: int) -> np.ndarray:
    """Return log densities [θ₂, θ₁] at the centres of side × side cells of [0, 2π)²."""
    middles = (np.arange(side) + 0.5) / side * 2 * np.pi
    points = np.stack(np.meshgrid(middles, middles), axis=-1).reshape(-1, 2)
    wrapped = (points + np.pi) % (2 * np.pi) - np.pi
    return log_density(density, wrapped).reshape(side, side)


MAX_DOTS, HISTOGRAM_SAMPLES = 1_500, 20_000
"""Rotations shown as dots, and samples in the histogram."""
POLES = {
    "x": (0.0, 0.0),
    "y": (90.0, 0.0),
    "−y": (-90.0, 0.0),
    "z": (0.0, 84.0),
    "−z": (0.0, -84.0),
}


def rotations(pairs: tuple[Pair, ...], cells: int) -> Figure:
    """Plot samples of p and q by rotation axis, coloured by angle; below, the angle's density."""
    (pair,) = pairs
    n = min(HISTOGRAM_SAMPLES, 2 * cells)
    keys = jax.random.split(jax.random.key(SEED))
    samples = [d.sample(n, key=key) for d, key in zip(pair, keys, strict=True)]
    figure = blank_figure(7.4, 4.3)
    grid = figure.add_gridspec(2, 2, height_ratios=(1.0, 0.85))
    norm, charts = Normalize(0, 180), []
    for i, (rows, words) in enumerate(zip(samples, ("target", "learned"), strict=True)):
        ax: Any = figure.add_subplot(grid[0, i], projection="mollweide")
        _axes_of_rotations(ax, rows[:MAX_DOTS], norm)
        ax.set_title(f"{words}, {len(rows[:MAX_DOTS]):,} samples", fontsize=LABEL_PT + 1)
        charts.append(ax)
    bar = figure.colorbar(
        ScalarMappable(norm, COLOUR_MAP), ax=charts, shrink=0.8, aspect=20, pad=0.02
    )
    bar.set_label("rotation angle (°)", fontsize=LABEL_PT)
    bar.set_ticks(list(range(0, 181, 45)))
    bar.ax.tick_params(labelsize=TICK_PT)
    _angles_of_rotations(figure.add_subplot(grid[1, :]), pair, samples[1])
    return figure


def _axes_of_rotations(ax: Any, rows: np.ndarray, norm: Normalize) -> None:
    vectors = vectors_from_rotations(rows, degrees=True)
    lat, lon = latlon_from_vectors(vectors, degrees=False)
    angles = np.linalg.norm(vectors, axis=1)
    look = {"s": 7, "cmap": COLOUR_MAP, "norm": norm, "edgecolors": "black", "linewidths": 0.15}
    ax.scatter(lon, lat, c=angles, **look, rasterized=True, zorder=3)
    ax.grid(color="0.8", lw=0.5)
    ax.set_axisbelow(True)
    ax.set_longitude_grid(90)
    ax.set_latitude_grid(30)
    ax.set_longitude_grid_ends(90)
    ax.tick_params(labelsize=TICK_PT)
    ax.set_xticklabels([])
    _degrees(ax)
    for name, (lon, lat) in POLES.items():
        where = float(np.deg2rad(lon)), float(np.deg2rad(lat))
        rim = [withStroke(linewidth=2.5, foreground="white")]
        ax.text(*where, name, size=10, ha="center", va="center", path_effects=rim, zorder=4)


def _angles_of_rotations(ax: Axes, pair: Pair, rows: np.ndarray) -> None:
    angles = np.linalg.norm(vectors_from_rotations(rows, degrees=True), axis=1)
    edges = list(range(0, 181, 3))
    look = {"density": True, "color": DATA, "edgecolor": DATA_EDGE, "linewidth": 0.4}
    ax.hist(angles, edges, **look, label=f"learned, {len(rows):,} samples")
    at = np.linspace(0, 180, 91)
    ax.plot(at, angle_density(pair.target, at), color=MODEL, lw=1.6, label="target, exact")
    ax.set_xlim(0, 180)
    ax.set_ylim(0, None)
    ax.set_xticks(range(0, 181, 30))
    ax.set_xlabel("rotation angle (°)", fontsize=LABEL_PT)
    ax.set_ylabel("density per degree", fontsize=LABEL_PT)
    ax.legend(frameon=False, fontsize=LABEL_PT, loc="upper left")
    tidy(ax)


def angle_density(density: AbstractDensity, degrees: np.ndarray, cells: int = 4900) -> np.ndarray:
    """Return the density per degree of the rotation angle ω, by the mean over axes n.

    Under Haar measure, n is uniform and ω has the density (1 − cos ω)/π per radian.
    """
    log_volume = density.manifold.log_total_volume()

    def mean(angle: float) -> float:
        def logs(axes: np.ndarray) -> np.ndarray:
            return log_density(density, rotations_from_vectors(angle * axes)) + log_volume

        field = SphereField.from_function(logs, cells)
        return float((field.weights * np.exp(field.logs)).sum())

    angles = np.deg2rad(degrees)
    return np.array([mean(a) for a in angles]) * (1 - np.cos(angles)) / 180
