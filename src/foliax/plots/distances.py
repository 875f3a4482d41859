"""The view `distances`: how far apart two points are, in the data, the model and at random."""

from __future__ import annotations

import math

import jax
import numpy as np
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from ..manifolds import AbstractManifold
from .numbers import bin_count
from .ranges import Range
from .registry import view_for
from .scene import Scene
from .style import DATA, DATA_EDGE, LABEL_PT, MODEL, RULE, add_legend, tidy

MAX_PAIRS = 4_000
"""Pairs of rows or samples: a bar of 5 % then has a standard error of 0.3 %."""
UNIFORM_PAIRS = 40_000
"""Pairs of uniform points: they are cheap, and the reference should show no noise."""


def has_finite_volume(manifold: AbstractManifold) -> bool:
    """Whether there is a uniform density to compare with."""
    return math.isfinite(manifold.log_total_volume())


@view_for(AbstractManifold, name="distances", where=has_finite_volume, quotients=True)
def draw_distances(scene: Scene) -> None:
    """Histograms of the distance between two random points of the data and of the model.

    It shows any manifold in one panel, whatever its dimension: clusters are a peak near 0, and
    their separations are further peaks. Data left of the model mean that the model is too broad.
    """
    samples = scene.samples(2 * MAX_PAIRS)
    half = len(samples) // 2
    model = distances(scene.manifold, samples[:half], samples[half : 2 * half])
    uniform = uniform_distances(scene)
    data = row_distances(scene)
    top = max(found.max() for found in (model, uniform, data) if len(found))
    span = Range(0.0, float(top))
    edges = span.grid(1 + bin_count(data if len(data) else model, span))
    ax = scene.figure.add_subplot()
    for found, style in (
        (data, {"fill": True, "fc": DATA, "ec": DATA_EDGE}),
        (uniform, {"ec": RULE, "lw": 1.0, "ls": "--"}),
        (model, {"ec": MODEL, "lw": 1.6}),
    ):
        if len(found):
            ax.stairs(np.histogram(found, edges, density=True)[0], edges, **style)
    ax.set_xlim(0, top)
    ax.set_ylim(bottom=0)
    ax.set_xlabel("distance between two points (metric of the manifold)", fontsize=LABEL_PT)
    ax.set_ylabel("share of pairs (per unit of distance)", fontsize=LABEL_PT)
    tidy(ax)
    bars = [Patch(fc=DATA, ec=DATA_EDGE, label=scene.data_label())] if len(data) else []
    lines = [
        Line2D([], [], color=MODEL, lw=1.6, label="samples of the model"),
        Line2D([], [], color=RULE, lw=1.0, ls="--", label="uniform"),
    ]
    add_legend(scene.figure, [*bars, *lines])


def distances(manifold: AbstractManifold, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """The distance of each pair (first[i], second[i])."""
    return np.asarray(jax.jit(jax.vmap(manifold.distance))(first, second), float)


def row_distances(scene: Scene) -> np.ndarray:
    """Distances of all pairs of rows, or of `MAX_PAIRS` random ones; empty without data."""
    n = 0 if scene.rows is None else len(scene.rows)
    if scene.rows is None or n < 2:
        return np.zeros(0)
    if n * (n - 1) // 2 <= MAX_PAIRS:
        i, j = np.triu_indices(n, 1)
    else:
        rng = np.random.default_rng(0)
        i = rng.integers(n, size=MAX_PAIRS)
        # An offset from 1 to n − 1 never pairs a row with itself.
        j = (i + rng.integers(1, n, size=MAX_PAIRS)) % n
    return distances(scene.manifold, scene.rows[i], scene.rows[j])


def uniform_distances(scene: Scene) -> np.ndarray:
    """Distances of `UNIFORM_PAIRS` pairs of uniform points."""
    keys = jax.random.split(jax.random.fold_in(scene.key, 3), 2 * UNIFORM_PAIRS)
    points = jax.jit(jax.vmap(lambda key: scene.manifold.sample_uniform(key=key)))(keys)
    first, second = np.split(np.asarray(points), 2)
    return distances(scene.manifold, first, second)
