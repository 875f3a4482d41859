"""What a family of maps of the circle offers, and the torus flows that any of them makes."""

from __future__ import annotations

import abc

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from ...manifolds.torus import wrap
from ...registry import storable
from .bijections import AbstractBijection, Conditioner, Point, Scalar, conditioner

Raw = Float[Array, " p"]


class AbstractCircleMap(eqx.Module):
    """Smooth bijections of the circle of degree 1, one for every vector of `size` reals."""

    @property
    @abc.abstractmethod
    def size(self) -> int:
        """How many reals describe a map."""

    @abc.abstractmethod
    def start(self, *, key: PRNGKeyArray) -> Raw:
        """Reals near those of the identity."""

    @abc.abstractmethod
    def forward(self, raw: Raw, angle: Scalar) -> tuple[Scalar, Scalar]:
        """The angle's image, not necessarily in [−π, π), and the log of the slope there."""

    @abc.abstractmethod
    def inverse(self, raw: Raw, angle: Scalar) -> tuple[Scalar, Scalar]:
        """The angle's origin, and the log of the inverse map's slope."""


def circular(angles: Float[Array, " d"]) -> Float[Array, " f"]:
    """cos and sin of each."""
    return jnp.concatenate([jnp.cos(angles), jnp.sin(angles)])


@storable("rivals.Autoregressive")
class Autoregressive(AbstractBijection):
    """T^d: y_i = map(x_i; y_1, …, y_{i−1}), a network for each i; log stretch: the slopes' sum."""

    circle_map: AbstractCircleMap
    conditioners: tuple[Conditioner, ...]

    def __init__(
        self, circle_map: AbstractCircleMap, dim: int, width: int, depth: int, *, key: PRNGKeyArray
    ):
        self.circle_map = circle_map
        self.conditioners = tuple(
            conditioner(2 * i, circle_map.start(key=k1), width, depth, key=k2)
            for i, (k1, k2) in enumerate(jax.random.split(key, (dim, 2)))
        )

    def forward(self, x: Point) -> tuple[Point, Scalar]:
        y, log_stretch = x[:0], jnp.zeros((), x.dtype)
        for angle, condition in zip(x, self.conditioners, strict=True):
            image, log_slope = self.circle_map.forward(condition(circular(y)), angle)
            y, log_stretch = jnp.append(y, image), log_stretch + log_slope
        return wrap(y), log_stretch

    def inverse(self, y: Point) -> tuple[Point, Scalar]:
        raw = [condition(circular(y[:i])) for i, condition in enumerate(self.conditioners)]
        x, log_slopes = jax.vmap(self.circle_map.inverse)(jnp.stack(raw), y)
        return wrap(x), log_slopes.sum()

    def accurate(self) -> Autoregressive:
        return self


@storable("rivals.Coupling")
class Coupling(AbstractBijection):
    """T^d: the first `split` angles choose the maps of the others; then all are rolled by split."""

    circle_map: AbstractCircleMap
    condition: Conditioner
    split: int = eqx.field(static=True)
    moved: int = eqx.field(static=True)

    def __init__(
        self, circle_map: AbstractCircleMap, dim: int, width: int, depth: int, *, key: PRNGKeyArray
    ):
        k1, k2 = jax.random.split(key)
        self.circle_map = circle_map
        self.split, self.moved = dim // 2, dim - dim // 2
        starts = jax.vmap(lambda k: circle_map.start(key=k))(jax.random.split(k1, self.moved))
        self.condition = conditioner(2 * self.split, starts.reshape(-1), width, depth, key=k2)

    def forward(self, x: Point) -> tuple[Point, Scalar]:
        still = x[: self.split]
        moved, log_slopes = jax.vmap(self.circle_map.forward)(self._raw(still), x[self.split :])
        return jnp.concatenate([wrap(moved), still]), log_slopes.sum()

    def inverse(self, y: Point) -> tuple[Point, Scalar]:
        still = y[self.moved :]
        moved, log_slopes = jax.vmap(self.circle_map.inverse)(self._raw(still), y[: self.moved])
        return jnp.concatenate([still, wrap(moved)]), log_slopes.sum()

    def accurate(self) -> Coupling:
        return self

    def _raw(self, still: Float[Array, " s"]) -> Float[Array, "t p"]:
        return self.condition(circular(still)).reshape(self.moved, self.circle_map.size)
