"""Manifolds with one global chart and no auxiliary: the reals, the half-line, the interval."""

from __future__ import annotations

import abc
import math
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray
from scipy.special import expit

from ..registry import storable
from . import auxiliary
from .auxiliary import Auxiliary
from .base import AbstractDequantization, AbstractManifold, Ambient, Aux, Point, Scalar, safe_norm
from .integers import no_uniform, signed_log
from .local import FAR_OFFSET, NARROW_SPREAD, AbstractCoordinates, location_and_scale, needs_scaling


class AbstractCharted(AbstractManifold):
    """A manifold that a chart maps onto R^d, coordinate by coordinate."""

    @abc.abstractmethod
    def from_chart(self, x: Any, xp: Any = jnp) -> Any:
        """Map chart coordinates x to a point y; `xp` is `jax.numpy`, or `numpy` to keep float64."""

    @abc.abstractmethod
    def to_chart(self, y: Any, xp: Any = jnp) -> tuple[Any, Any]:
        """Map y to chart coordinates x; also return log |dx/dy| of each coordinate."""

    def local_coordinates(self, rows: np.ndarray) -> ScaledChart | None:
        location, scale = location_and_scale(self.to_chart(rows, np)[0])
        if not self._is_narrow(location, scale):
            return None
        return ScaledChart(Euclidean(self.dim), self, location, scale)

    @abc.abstractmethod
    def _is_narrow(self, location: np.ndarray, scale: np.ndarray) -> bool:
        """Whether float32 loses significant digits of rows with this location and scale."""


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


@storable("manifolds.Euclidean")
class Euclidean(AbstractCharted):
    """R^d; measure: Lebesgue."""

    d: int = eqx.field(static=True, default=1)

    @property
    def dim(self) -> int:
        return self.d

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.dim,)

    def violation(self, y: Point) -> Scalar:
        return jnp.zeros((), y.dtype)

    def describe_violation(self, y: np.ndarray) -> str:
        return "every row of finite numbers is a point of a Euclidean space."

    def project(self, y: Point) -> Point:
        return y

    def distance(self, y: Point, other: Point) -> Scalar:
        return safe_norm(y - other)

    def features(self, y: Point) -> Float[Array, " f"]:
        return signed_log(y)

    def log_total_volume(self) -> float:
        return math.inf

    def sample_uniform(self, *, key: PRNGKeyArray) -> Point:
        raise no_uniform(self)

    def from_chart(self, x: Any, xp: Any = jnp) -> Any:
        return x

    def to_chart(self, y: Any, xp: Any = jnp) -> tuple[Any, Any]:
        return y, xp.zeros_like(y)

    def _is_narrow(self, location: np.ndarray, scale: np.ndarray) -> bool:
        return needs_scaling(location, scale)

    def dequantization(self) -> Chart:
        return Chart(self)


@storable("manifolds.PositiveReals")
class PositiveReals(AbstractCharted):
    """(0, ∞)^d; x = log y; log_volume = −Σ log y; measure: Lebesgue. Zero is not in it."""

    d: int = eqx.field(static=True, default=1)

    @property
    def dim(self) -> int:
        return self.d

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.dim,)

    def violation(self, y: Point) -> Scalar:
        return jnp.max(jnp.where(y > 0, 0, 1 - y))

    def describe_violation(self, y: np.ndarray) -> str:
        return (
            f"value {y.min():.9g} is not positive. If it was rounded to zero, declare the column "
            "as rounded; if zeros are real, declare it as a count or a real."
        )

    def project(self, y: Point) -> Point:
        """Return y: an open set has no nearest point."""
        return y

    def distance(self, y: Point, other: Point) -> Scalar:
        return safe_norm(y - other)

    def features(self, y: Point) -> Float[Array, " f"]:
        return jnp.log(y)

    def log_total_volume(self) -> float:
        return math.inf

    def sample_uniform(self, *, key: PRNGKeyArray) -> Point:
        raise no_uniform(self)

    def from_chart(self, x: Any, xp: Any = jnp) -> Any:
        return xp.exp(x)

    def to_chart(self, y: Any, xp: Any = jnp) -> tuple[Any, Any]:
        x = xp.log(y)
        return x, -x

    def _is_narrow(self, location: np.ndarray, scale: np.ndarray) -> bool:
        return bool((scale < NARROW_SPREAD).any()) or needs_scaling(location, scale)

    def dequantization(self) -> Chart:
        return Chart(self)


@storable("manifolds.Interval")
class Interval(AbstractCharted):
    """(low, high)^d; x = logit; log_volume = Σ log[(b−a)/((y−a)(b−y))]; measure: Lebesgue."""

    low: float = eqx.field(static=True)
    high: float = eqx.field(static=True)
    d: int = eqx.field(static=True, default=1)

    def __check_init__(self):
        if not (math.isfinite(self.low) and math.isfinite(self.high) and self.low < self.high):
            raise ValueError(f"Interval needs finite low < high, got {self.low} and {self.high}.")

    @property
    def dim(self) -> int:
        return self.d

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.dim,)

    def violation(self, y: Point) -> Scalar:
        inside = (y > self.low) & (y < self.high)
        return jnp.max(jnp.where(inside, 0, 1 + jnp.maximum(self.low - y, y - self.high)))

    def describe_violation(self, y: np.ndarray) -> str:
        outside = y[int(np.argmax(np.maximum(self.low - y, y - self.high)))]
        return (
            f"value {outside:.9g} is not strictly between {self.low:.9g} and {self.high:.9g}. "
            "End points are outside: widen the interval, or declare the column as rounded."
        )

    def project(self, y: Point) -> Point:
        """Return y: an open set has no nearest point."""
        return y

    def distance(self, y: Point, other: Point) -> Scalar:
        return safe_norm(y - other)

    def features(self, y: Point) -> Float[Array, " f"]:
        return 2 * (y - self.low) / (self.high - self.low) - 1

    def log_total_volume(self) -> float:
        return self.dim * math.log(self.high - self.low)

    def sample_uniform(self, *, key: PRNGKeyArray) -> Point:
        return jax.random.uniform(key, self.shape, minval=self.low, maxval=self.high)

    def from_chart(self, x: Any, xp: Any = jnp) -> Any:
        share = jax.nn.sigmoid(x) if xp is jnp else expit(x)
        return self.low + (self.high - self.low) * share

    def to_chart(self, y: Any, xp: Any = jnp) -> tuple[Any, Any]:
        below, above = xp.log(y - self.low), xp.log(self.high - y)
        return below - above, math.log(self.high - self.low) - below - above

    def _is_narrow(self, location: np.ndarray, scale: np.ndarray) -> bool:
        far = max(abs(self.low), abs(self.high)) > FAR_OFFSET * (self.high - self.low)
        return far or bool((scale < NARROW_SPREAD).any()) or needs_scaling(location, scale)

    def dequantization(self) -> Chart:
        return Chart(self)


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
