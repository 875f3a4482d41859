"""Manifolds with one global chart, and points given by their chart coordinates.

float32 resolves 6e-8 of a value and loses distances to an end that are smaller. The chart of an
open set, such as a logarithm, is therefore applied in float64, before rows are cast.
"""

from __future__ import annotations

import abc
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from ..registry import storable
from . import auxiliary
from .auxiliary import Auxiliary
from .base import AbstractDequantization, AbstractManifold, Ambient, Aux, Point, Scalar, safe_norm
from .local import AbstractCoordinates

ORIGIN_STEP = 4.0
"""Origins of chart coordinates are multiples of this, so that tables share compiled programs."""


class AbstractCharted(AbstractManifold):
    """A manifold that a chart maps onto R^d, coordinate by coordinate."""

    @abc.abstractmethod
    def from_chart(self, x: Any, xp: Any = jnp) -> Any:
        """Map chart coordinates x to a point y; `xp` is `jax.numpy`, or `numpy` to keep float64."""

    @abc.abstractmethod
    def to_chart(self, y: Any, xp: Any = jnp) -> tuple[Any, Any]:
        """Map y to chart coordinates x; also return log |dx/dy| of each coordinate."""


class AbstractOpenSet(AbstractCharted):
    """A charted manifold with ends that are not in it, next to which y itself loses digits."""

    @abc.abstractmethod
    def log_slope(self, x: Float[Array, " d"]) -> Float[Array, " d"]:
        """Compute log |dx/dy| of each coordinate from the chart coordinates x of y."""

    @abc.abstractmethod
    def features_from_chart(self, x: Float[Array, " d"]) -> Float[Array, " f"]:
        """Compute `features` of y from its chart coordinates x."""

    @abc.abstractmethod
    def sample_uniform_in_chart(self, *, key: PRNGKeyArray) -> Float[Array, " d"]:
        """Draw the chart coordinates of a point from the uniform density.

        Raises:
            ValueError: The total measure is infinite.
        """


@storable("manifolds.Chart")
class Chart(AbstractDequantization):
    """R^d = Y by the manifold's global chart; no z."""

    manifold: AbstractCharted

    @property
    def auxiliary(self) -> Auxiliary:
        return auxiliary.empty()

    @property
    def ambient_dim(self) -> int:
        return self.manifold.dim

    @property
    def branches(self) -> int:
        return 1

    def quantize(self, x: Ambient) -> tuple[Point, Aux]:
        return self.manifold.from_chart(x), jnp.zeros(0, x.dtype)

    def preimages(self, y: Point, z: Aux) -> tuple[Float[Array, "b m"], Float[Array, " b"]]:
        x, log_slope = self.manifold.to_chart(y)
        return x[None], log_slope.sum()[None]


@storable("manifolds.ScaledChart")
class ScaledChart(AbstractCoordinates):
    """t = (x − location)/scale, where x are the chart coordinates of y."""

    working: AbstractManifold
    manifold: AbstractCharted
    location: np.ndarray
    scale: np.ndarray

    def encode(self, y: Any, xp: Any = np) -> tuple[Any, Any]:
        x, log_slope = self.manifold.to_chart(y, xp)
        t = (x - self.location.astype(x.dtype)) / self.scale.astype(x.dtype)
        return t, log_slope.sum(-1) - float(np.log(self.scale).sum())

    def decode(self, t: Any, xp: Any = np) -> Any:
        x = self.location.astype(t.dtype) + self.scale.astype(t.dtype) * t
        return self.manifold.from_chart(x, xp)


@storable("manifolds.ChartSpace")
class ChartSpace(AbstractCharted):
    """R^d, whose points t = x − origin stand for the points y of an open set; measure: that of y.

    Args:
        manifold: The open set, of chart coordinates x.
        origin: The chart coordinates of t = 0.
    """

    manifold: AbstractOpenSet
    origin: tuple[float, ...] = eqx.field(static=True)

    @property
    def dim(self) -> int:
        return self.manifold.dim

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.dim,)

    def violation(self, y: Point) -> Scalar:
        return jnp.zeros((), y.dtype)

    def describe_violation(self, y: np.ndarray) -> str:
        return "every row of finite numbers is a point of chart coordinates."

    def project(self, y: Point) -> Point:
        return y

    def distance(self, y: Point, other: Point) -> Scalar:
        """‖t − o‖, in the chart."""
        return safe_norm(y - other)

    def features(self, y: Point) -> Float[Array, " f"]:
        return self.manifold.features_from_chart(self._shift(y))

    def log_total_volume(self) -> float:
        return self.manifold.log_total_volume()

    def sample_uniform(self, *, key: PRNGKeyArray) -> Point:
        x = self.manifold.sample_uniform_in_chart(key=key)
        return x - np.asarray(self.origin, x.dtype)

    def from_chart(self, x: Any, xp: Any = jnp) -> Any:
        return x

    def to_chart(self, y: Any, xp: Any = jnp) -> tuple[Any, Any]:
        return y, self.manifold.log_slope(self._shift(y))

    def dequantization(self) -> Chart:
        return Chart(self)

    def _shift(self, t: Float[Array, " d"]) -> Float[Array, " d"]:
        """The chart coordinates x of t."""
        return t + np.asarray(self.origin, t.dtype)


@storable("manifolds.ChartCoordinates")
class ChartCoordinates(AbstractCoordinates):
    """The points t of a `ChartSpace`; log |dt/dy| = 0, as its measure is that of y."""

    working: ChartSpace

    def encode(self, y: Any, xp: Any = np) -> tuple[Any, Any]:
        x = self.working.manifold.to_chart(y, xp)[0]
        return x - np.asarray(self.working.origin, x.dtype), xp.zeros(y.shape[:-1], y.dtype)

    def decode(self, t: Any, xp: Any = np) -> Any:
        x = t + np.asarray(self.working.origin, t.dtype)
        return self.working.manifold.from_chart(x, xp)


def chart_coordinates(manifold: AbstractOpenSet, location: np.ndarray) -> ChartCoordinates:
    """Chart coordinates of an open set, with an origin near a location."""
    origin = ORIGIN_STEP * np.round(location / ORIGIN_STEP)
    return ChartCoordinates(ChartSpace(manifold, tuple(map(float, origin))))
