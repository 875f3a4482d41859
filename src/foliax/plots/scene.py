"""What a picture is drawn from: a density, data, words for the axes, a key and a figure."""

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
from .axes import Axis
from .frames import Frame
from .style import dot_handle

Rows = Float[np.ndarray, "rows size"]

LABEL = "density (× uniform)"
EVALUATIONS = 4_000_000
"""Of a flow or the like, that a picture may take: some seconds."""
MOST_POINTS = 5_000
"""More dots than this hide each other."""
DRAWS = 20_000
"""The most samples that a picture takes."""


@dataclasses.dataclass(frozen=True)
class Scene:
    """All that a view needs; every view draws into `figure`."""

    density: AbstractDensity
    rows: Rows | None
    frame: Frame
    axes: tuple[Axis, ...]
    key: PRNGKeyArray
    figure: FigureBase
    coasts: tuple[np.ndarray, ...] = ()
    """Lines of (longitude, latitude) in degrees."""
    own: Figure | None = None
    """The figure, where it is the view's to size."""

    @property
    def manifold(self) -> AbstractManifold:
        """Where the density is."""
        return self.density.manifold

    def size(self, width: float, height: float) -> None:
        """Size the figure in inches, unless it is the caller's."""
        if self.own is not None:
            self.own.set_size_inches(width, height)

    def grid_size(self, *, most: int = 40_000, least: int = 600) -> int:
        """How many points a grid may have, so that a picture takes seconds."""
        return int(np.clip(EVALUATIONS // self.density.work, least, most))

    def log_densities(self, points: np.ndarray) -> np.ndarray:
        """Log densities, against the manifold's measure."""
        key = jax.random.fold_in(self.key, 0)
        return metrics.log_prob_once(self.density, points, key=key)[0]

    def log_multiples(self, points: np.ndarray) -> np.ndarray:
        """Log densities in multiples of the uniform density."""
        return self.log_densities(points) + self.manifold.log_total_volume()

    def samples(self, n: int | None = None) -> Rows:
        """Draws of the density, at most `DRAWS`."""
        n = DRAWS if n is None else min(n, DRAWS)
        return self.density.sample(n, key=jax.random.fold_in(self.key, 1))

    def shown(self, most: int = MOST_POINTS) -> Rows:
        """The rows to draw as dots: all, or a random part of many, the same for every view."""
        if self.rows is None:
            return np.zeros((0, self.manifold.size))
        if len(self.rows) <= most:
            return self.rows
        seed = int(jax.random.bits(jax.random.fold_in(self.key, 2)))
        chosen = np.random.default_rng(seed).choice(len(self.rows), most, replace=False)
        return self.rows[np.sort(chosen)]

    def data_label(self, shown: int | None = None) -> str:
        """What the dots or the bars are: "data (n = 800)"."""
        n = 0 if self.rows is None else len(self.rows)
        return f"data (n = {n:,})" if shown in (None, n) else f"data ({shown:,} of {n:,} rows)"


def grid_side(n: int) -> int:
    """The side of a square grid of at most n points."""
    return math.isqrt(n)


def data_handles(scene: Scene, shown: int, beyond: int = 0) -> list[Any]:
    """The legend's entry for dots, where there are data; `beyond`: how many are off the map."""
    if scene.rows is None:
        return []
    note = f", {beyond:,} beyond the map" if beyond else ""
    return [dot_handle(scene.data_label(shown) + note)]
