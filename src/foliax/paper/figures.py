"""Draw the paper's figures from our own rows."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import paramax
from matplotlib.figure import Figure

from ..density import DequantizedDensity
from ..manifolds.conversions import vectors_from_latlon
from ..plots import save
from ..plots.scene import grid_side
from ..plots.style import (
    COLOUR_MAP,
    DATA_EDGE,
    LABEL_PT,
    MODEL,
    TICK_PT,
    add_colour_bar,
    colour_scale,
    tidy,
    values_for,
)
from . import model_cache, pictures
from .pictures import Pair, blank_figure, log_density
from .recipes import find_row

CELLS, QUICK_CELLS = 12_800, 1_800
"""Points of a sphere's map; other maps use a fraction of them."""
SUFFIXES = (".png", ".pdf")


def dequantization(pairs: tuple[Pair, ...], cells: int) -> Figure:
    """Plot, along the equator of S², the density, the flow's p(r | s) and the learned q(r | s)."""
    (pair,) = pairs
    density = pair.learned
    assert isinstance(density, DequantizedDensity)
    side = 2 * grid_side(cells)
    lon = np.linspace(-180, 180, side + 1)
    points = vectors_from_latlon(np.zeros_like(lon), lon, degrees=True)
    radii = np.linspace(0, upper_radius(density, points), side + 1)[1:]
    logs = np.stack(radius_logs(density, points, radii))
    scale = colour_scale(logs, np.ones_like(logs))
    figure = blank_figure(7.4, 4.2)
    axes: Any = figure.subplots(2, 2, height_ratios=(0.45, 1.0), sharex=True, sharey="row")
    curves = [np.exp(log_density(each, points)) for each in pair]
    for ax in axes[0]:
        ax.plot(lon, curves[0], color=MODEL, lw=1.4, ls="--")
        ax.plot(lon, curves[1], color=DATA_EDGE, lw=1.4)
        tidy(ax)
    names = ("exact: p(r | s) of the flow", "learned: q(r | s)")
    for ax, values, name in zip(axes[1], logs, names, strict=True):
        shown = values_for(scale, values).T
        look = {"norm": scale.norm, "cmap": COLOUR_MAP, "shading": "gouraud", "rasterized": True}
        ax.pcolormesh(lon, radii, shown, **look)
        ax.set_xlim(-180, 180)
        ax.set_xlabel("longitude (°)", fontsize=LABEL_PT)
        ax.set_xticks(range(-180, 181, 90))
        ax.tick_params(labelsize=TICK_PT)
        ax.set_title(name, fontsize=LABEL_PT)
    figure.get_layout_engine().set(wspace=0.06)  # type: ignore[union-attr]
    axes[0, 0].set_ylabel("density\nper steradian", fontsize=LABEL_PT)
    axes[1, 0].set_ylabel("radius r", fontsize=LABEL_PT)
    axes[0, 0].legend(("target", "learned"), frameon=False, fontsize=TICK_PT)
    add_colour_bar(figure, axes[1], scale, "density per unit of radius", shrink=0.9)
    return figure


@eqx.filter_jit
def _radius_logs(density: DequantizedDensity, point, radii) -> tuple[Any, Any]:
    model = paramax.unwrap(density)
    features = model.manifold.features(point)
    joint = jax.vmap(lambda r: jax.nn.logsumexp(model.log_branches(point, r)))
    learned = jax.vmap(lambda r: model.dequantizer.log_prob(features, r))
    total = density.log_prob(point).value
    return joint(radii) - total, learned(radii)


def radius_logs(
    density: DequantizedDensity, points: np.ndarray, radii: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return log p(r | s) and log q(r | s) on S², where p(r | s) = r² π(rs)/∫ r² π(rs) dr.

    Args:
        density: A dequantized density on S².
        points: Unit vectors s, of shape (n, 3).
        radii: Radii r > 0, of shape (k,).

    Returns:
        Both logarithms, of shape (n, k).
    """
    column = jnp.asarray(radii, jnp.float32)[:, None]
    found = [_radius_logs(density, jnp.asarray(s, jnp.float32), column) for s in points]
    exact, learned = (
        np.stack([np.asarray(part, float) for part in parts]) for parts in zip(*found, strict=True)
    )
    return exact, learned


def upper_radius(density: DequantizedDensity, points: np.ndarray) -> float:
    """Return the largest 99 % quantile of q(r | s) over the points s."""
    model = paramax.unwrap(density)

    def high(s):
        return model.dequantizer.transform(model.manifold.features(s), jnp.full(1, 0.99))[0]

    return float(jax.jit(jax.vmap(high))(jnp.asarray(points, jnp.float32)).max())


class Picture(NamedTuple):
    """A figure: its title, the names of the rows that it shows, and the function that draws it."""

    title: str
    rows: tuple[str, ...]
    draw: Callable[[tuple[Pair, ...], int], Figure]


S2 = "table1-s2-foliax"
TORI = "table3-correlated-foliax", "table3-unimodal-foliax", "table3-multimodal-foliax"
PICTURES = {
    "sphere": Picture("S²", (S2,), pictures.sphere),
    "hypersphere": Picture("S³", ("table2-s3-foliax",), pictures.hypersphere),
    "torus": Picture("T²", TORI, pictures.torus),
    "rotations": Picture("SO(3)", ("table4-so-3-foliax",), pictures.rotations),
    "dequantization": Picture("dequantization", (S2,), dequantization),
}


def draw(folder: Path, *, quick: bool, show: Callable[[str], None]) -> list[Path]:
    """Draw every figure as a PNG and a PDF file.

    Args:
        folder: Where the files go, and where densities of earlier runs are found.
        quick: Use short trainings and coarse maps, to see that everything runs.
        show: Called with the title of the next figure.

    Returns:
        The paths of the files.
    """
    folder.mkdir(parents=True, exist_ok=True)
    made = []
    for name, picture in PICTURES.items():
        show(picture.title)
        rows = [find_row(row, quick) for row in picture.rows]
        trial = model_cache.SHOWN_TRIAL
        pairs = tuple(
            Pair(row.target(trial), model_cache.load_or_train(folder, row)) for row in rows
        )
        figure = picture.draw(pairs, QUICK_CELLS if quick else CELLS)
        made += [save(figure, folder / f"{name}{suffix}", dpi=200) for suffix in SUFFIXES]
    return made
