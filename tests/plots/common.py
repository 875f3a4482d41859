"""Densities and rows for the tests of pictures; nothing here is trained."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from matplotlib.collections import PathCollection

from foliax.density import AbstractDensity, AbstractTarget
from foliax.density.target import exactly
from foliax.manifolds import AbstractManifold
from foliax.manifolds.conversions import vectors_from_latlon

KEY = jax.random.key(0)


class Blob(AbstractTarget):
    """Samples of x ~ N(m, s² Id), quantized; the log density does not belong to them.

    For views that need some finite density and some samples on any manifold.
    """

    manifold: AbstractManifold
    spread: float = 0.4

    def _log_prob(self, y, *, condition=None, key=None):
        return exactly(-0.1 * jnp.sum(jnp.log1p(y**2)))

    def _sample(self, *, condition=None, key):
        g = self.manifold.dequantization()
        x = 0.5 + self.spread * jax.random.normal(key, (g.ambient_dim,))
        return g.quantize(x)[0]


def rows_of(density: AbstractDensity, n: int = 40) -> np.ndarray:
    """Some samples."""
    keys = jax.random.split(jax.random.key(1), n)
    return np.asarray(jax.jit(jax.vmap(lambda k: density.sample(key=k)))(keys))


def places(*latlon: tuple[float, float]) -> np.ndarray:
    """Unit vectors of latitudes and longitudes in degrees."""
    lat, lon = np.array(latlon, float).T
    return vectors_from_latlon(lat, lon, degrees=True)


def dots_of(ax) -> np.ndarray:
    """Positions of the dots in the axes' data coordinates."""
    clouds = [c for c in ax.collections if isinstance(c, PathCollection)]
    return np.concatenate([np.asarray(c.get_offsets()) for c in clouds])


def texts(figure) -> list[str]:
    """All texts of a figure."""
    from matplotlib.text import Text

    return [t.get_text() for t in figure.findobj(Text) if t.get_text()]
