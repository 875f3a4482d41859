"""The reals, and the open sets on a line: the half-line and the interval."""

from __future__ import annotations

import math
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray
from scipy.special import expit

from ..registry import storable
from .base import Point, Scalar, safe_norm
from .charts import (
    AbstractCharted,
    AbstractOpenSet,
    Chart,
    ChartCoordinates,
    ScaledChart,
    chart_coordinates,
)
from .digits import format_number
from .integers import no_uniform, signed_log
from .local import FAR_OFFSET, NARROW_SPREAD, location_and_scale, needs_scaling


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

    def local_coordinates(self, rows: np.ndarray) -> ScaledChart | None:
        location, scale = location_and_scale(rows)
        if not needs_scaling(location, scale):
            return None
        return ScaledChart(Euclidean(self.dim), self, location, scale)

    def dequantization(self) -> Chart:
        return Chart(self)


@storable("manifolds.PositiveReals")
class PositiveReals(AbstractOpenSet):
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
            f"value {format_number(y.min())} is not positive. If it was rounded to zero, declare "
            "the column as rounded; if zeros are real, declare it as a count or a real."
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
        with np.errstate(over="ignore"):  # a value beyond the largest float becomes that float
            y = xp.exp(x)
        limits = np.finfo(y.dtype)
        return _keep_inside(x, y, limits.tiny, limits.max, xp)

    def to_chart(self, y: Any, xp: Any = jnp) -> tuple[Any, Any]:
        x = xp.log(y)
        return x, -x

    def log_slope(self, x: Float[Array, " d"]) -> Float[Array, " d"]:
        return -x

    def features_from_chart(self, x: Float[Array, " d"]) -> Float[Array, " f"]:
        return x

    def sample_uniform_in_chart(self, *, key: PRNGKeyArray) -> Float[Array, " d"]:
        raise no_uniform(self)

    def local_coordinates(self, rows: np.ndarray) -> ScaledChart | ChartCoordinates:
        return _open_coordinates(self, rows, is_far=False)

    def dequantization(self) -> Chart:
        return Chart(self)


@storable("manifolds.Interval")
class Interval(AbstractOpenSet):
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
            f"value {format_number(outside)} is not strictly between {format_number(self.low)} "
            f"and {format_number(self.high)}. End points are outside: widen the interval, or "
            "declare the column as rounded."
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
        y = jax.random.uniform(key, self.shape, minval=self.low, maxval=self.high)
        return _keep_inside(y, y, *self._extremes(y.dtype), jnp)

    def from_chart(self, x: Any, xp: Any = jnp) -> Any:
        sigmoid = jax.nn.sigmoid if xp is jnp else expit
        # Measured from the nearer end, where more digits are left if that end is 0.
        part = (self.high - self.low) * sigmoid(-xp.abs(x))
        y = xp.where(x < 0, self.low + part, self.high - part)
        return _keep_inside(x, y, *self._extremes(y.dtype), xp)

    def to_chart(self, y: Any, xp: Any = jnp) -> tuple[Any, Any]:
        below, above = xp.log(y - self.low), xp.log(self.high - y)
        return below - above, math.log(self.high - self.low) - below - above

    def log_slope(self, x: Float[Array, " d"]) -> Float[Array, " d"]:
        return jax.nn.softplus(x) + jax.nn.softplus(-x) - math.log(self.high - self.low)

    def features_from_chart(self, x: Float[Array, " d"]) -> Float[Array, " f"]:
        return jnp.tanh(x / 2)

    def sample_uniform_in_chart(self, *, key: PRNGKeyArray) -> Float[Array, " d"]:
        return jax.random.logistic(key, self.shape)

    def local_coordinates(self, rows: np.ndarray) -> ScaledChart | ChartCoordinates:
        far = max(abs(self.low), abs(self.high)) > FAR_OFFSET * (self.high - self.low)
        return _open_coordinates(self, rows, is_far=far)

    def dequantization(self) -> Chart:
        return Chart(self)

    def _extremes(self, dtype: Any) -> tuple[Any, Any]:
        """The least and the greatest normal float of a type strictly inside the interval."""
        low, high = np.asarray([self.low, self.high], dtype)
        least = low if float(low) > self.low else np.nextafter(low, high)
        most = high if float(high) < self.high else np.nextafter(high, low)
        tiny = np.finfo(dtype).tiny  # JAX takes smaller numbers for 0
        return (tiny if 0 < least < tiny else least), (-tiny if -tiny < most < 0 else most)


def _keep_inside(x: Any, y: Any, least: Any, most: Any, xp: Any) -> Any:
    """Round y, the point of the finite coordinates x, to the nearest float of an open set.

    Coordinates that are not finite are returned, so that a flow that diverges is not hidden. Where
    the set has no float of the type, y is returned.
    """
    if not least <= most:
        return y
    return xp.where(xp.isfinite(x), xp.clip(y, least, most), x)


def _open_coordinates(
    manifold: AbstractOpenSet, rows: np.ndarray, *, is_far: bool
) -> ScaledChart | ChartCoordinates:
    """The coordinates in which rows of an open set are cast: always in its chart."""
    location, scale = location_and_scale(manifold.to_chart(rows, np)[0])
    if is_far or (scale < NARROW_SPREAD).any() or needs_scaling(location, scale):
        return ScaledChart(Euclidean(manifold.dim), manifold, location, scale)
    return chart_coordinates(manifold, location)
