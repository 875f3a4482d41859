"""What a picture is drawn from: a density, data, labelled axes, a key and a figure."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import jax
import numpy as np
from jaxtyping import Float, PRNGKeyArray
from matplotlib.figure import Figure, FigureBase

from ..density import AbstractDensity
from ..evaluation import metrics
from ..manifolds.base import AbstractManifold
from ..manifolds.symmetry import Symmetry
from .axes import Axis
from .frames import Frame
from .style import dot_handle

Rows = Float[np.ndarray, "rows size"]

DENSITY_LABEL = "density (× uniform)"
MAX_EVALUATIONS = 4_000_000
"""Evaluations of an ambient density per picture; a flow takes some seconds for them."""
MAX_DOTS = 5_000
"""More dots than this hide each other."""
MAX_SAMPLES = 20_000
"""Samples per picture; more do not change what a histogram shows."""


@dataclasses.dataclass(frozen=True)
class Scene:
    """All that a view needs. Every view draws into `figure`.

    Attributes:
        density: the density to draw.
        rows: the data, checked points of the density's manifold; None for no data.
        frame: the axes of the manifold and the values of points on them.
        axes: the frame's axes under the user's names and in the user's units.
        key: key of samples, and of log densities that are estimated by sampling.
        figure: where to draw.
        coastlines: lines of (longitude, latitude) in degrees.
        own_figure: the figure, if the view may set its size; None if the caller owns it.
    """

    density: AbstractDensity
    rows: Rows | None
    frame: Frame
    axes: tuple[Axis, ...]
    key: PRNGKeyArray
    figure: FigureBase
    coastlines: tuple[np.ndarray, ...] = ()
    own_figure: Figure | None = None

    @property
    def manifold(self) -> AbstractManifold:
        """The manifold of the density."""
        return self.density.manifold

    @property
    def symmetry(self) -> Symmetry:
        """The group of a quotient; trivial for any other manifold."""
        return self.manifold.symmetry

    def set_size(self, width: float, height: float) -> None:
        """Size the figure in inches, unless the caller owns it."""
        if self.own_figure is not None:
            self.own_figure.set_size_inches(width, height)

    def grid_size(self, *, largest: int = 40_000, smallest: int = 600) -> int:
        """Number of grid points that the density can evaluate within seconds."""
        return int(np.clip(MAX_EVALUATIONS // self.density.work, smallest, largest))

    def log_densities(self, points: np.ndarray) -> np.ndarray:
        """Log densities against the manifold's measure."""
        key = jax.random.fold_in(self.key, 0)
        return metrics.log_prob_once(self.density, points, key=key)[0]

    def log_multiples(self, points: np.ndarray) -> np.ndarray:
        """Log densities in multiples of the uniform density."""
        return self.log_densities(points) + self.manifold.log_total_volume()

    def samples(self, n: int | None = None) -> Rows:
        """Samples of the density, at most `MAX_SAMPLES`, which is also the default."""
        n = MAX_SAMPLES if n is None else min(n, MAX_SAMPLES)
        return self.density.sample(n, key=jax.random.fold_in(self.key, 1))

    def rows_to_draw(self, limit: int = MAX_DOTS) -> Rows:
        """The rows to draw as dots: all, or a random subsample that every view shares."""
        if self.rows is None:
            return np.zeros((0, self.manifold.size))
        if len(self.rows) <= limit:
            return self.rows
        seed = int(jax.random.bits(jax.random.fold_in(self.key, 2)))
        chosen = np.random.default_rng(seed).choice(len(self.rows), limit, replace=False)
        return self.rows[np.sort(chosen)]

    def data_label(self, drawn: int | None = None) -> str:
        """Legend text of the data, "data (n = 800)"; `drawn`: number of rows in the picture."""
        n = 0 if self.rows is None else len(self.rows)
        return f"data (n = {n:,})" if drawn in (None, n) else f"data ({drawn:,} of {n:,} rows)"


def grid_side(n: int) -> int:
    """The side of a square grid of at most n points."""
    return math.isqrt(n)


def data_handles(scene: Scene, drawn: int, outside: int = 0) -> list[Any]:
    """Legend entry of the dots, if there are data; `outside`: rows that are off the map."""
    if scene.rows is None:
        return []
    note = f", {outside:,} outside the map" if outside else ""
    return [dot_handle(scene.data_label(drawn) + note)]
