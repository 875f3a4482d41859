"""The interface of maps of the circle, and flows on tori built from them."""

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
    """A family of smooth bijections of the circle of degree 1, with `size` real parameters."""

    @property
    @abc.abstractmethod
    def size(self) -> int:
        """The number of parameters of a map."""

    @abc.abstractmethod
    def start(self, *, key: PRNGKeyArray) -> Raw:
        """Draw parameters near those of the identity."""

    @abc.abstractmethod
    def forward(self, raw: Raw, angle: Scalar) -> tuple[Scalar, Scalar]:
        """Compute the image of an angle, and the log slope there; the image may need wrapping."""

    @abc.abstractmethod
    def inverse(self, raw: Raw, angle: Scalar) -> tuple[Scalar, Scalar]:
        """Compute the angle with a given image, and the log slope of the inverse map."""


def cos_and_sin(angles: Float[Array, " d"]) -> Float[Array, " f"]:
    """Compute cos and sin of each angle: periodic features."""
    return jnp.concatenate([jnp.cos(angles), jnp.sin(angles)])


@storable("rivals.Autoregressive")
class Autoregressive(AbstractBijection):
    """On T^d: y_i = map(x_i; y_1, …, y_{i−1}); log |dy/dx| is the sum of the log slopes.

    Args:
        circle_map: The family of maps.
        dim: The number of angles d.
        width: The width of the hidden layers.
        depth: The number of hidden layers.
        key: Initialises one network for each angle.
    """

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
            image, log_slope = self.circle_map.forward(condition(cos_and_sin(y)), angle)
            y, log_stretch = jnp.append(y, image), log_stretch + log_slope
        return wrap(y), log_stretch

    def inverse(self, y: Point) -> tuple[Point, Scalar]:
        raw = [condition(cos_and_sin(y[:i])) for i, condition in enumerate(self.conditioners)]
        x, log_slopes = jax.vmap(self.circle_map.inverse)(jnp.stack(raw), y)
        return wrap(x), log_slopes.sum()

    def accurate(self) -> Autoregressive:
        return self


@storable("rivals.Coupling")
class Coupling(AbstractBijection):
    """On T^d: the first `split` angles condition the maps of the others; then all are rolled.

    Args:
        circle_map: The family of maps.
        dim: The number of angles d, at least 2.
        width: The width of the hidden layers.
        depth: The number of hidden layers.
        key: Initialises the network.
    """

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
        fixed = x[: self.split]
        moved, log_slopes = jax.vmap(self.circle_map.forward)(self._raw(fixed), x[self.split :])
        return jnp.concatenate([wrap(moved), fixed]), log_slopes.sum()

    def inverse(self, y: Point) -> tuple[Point, Scalar]:
        fixed = y[self.moved :]
        moved, log_slopes = jax.vmap(self.circle_map.inverse)(self._raw(fixed), y[: self.moved])
        return jnp.concatenate([fixed, wrap(moved)]), log_slopes.sum()

    def accurate(self) -> Coupling:
        return self

    def _raw(self, fixed: Float[Array, " s"]) -> Float[Array, "t p"]:
        return self.condition(cos_and_sin(fixed)).reshape(self.moved, self.circle_map.size)
