"""The density of a spline flow on the cover of a manifold."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import paramax
from jaxtyping import Array, Float, Key, PRNGKeyArray

from ..flows.manifold.block_splines import BlockSplines
from ..flows.manifold.cell_splines import CellSplines, log_logistic
from ..manifolds import AbstractManifold
from ..manifolds.cover import AbstractCover, Block
from ..registry import storable
from .base import AbstractDensity, Condition, Point
from .log_prob import LogProb

Scalar = Float[Array, "*rows"]


@storable("density.Standardizer")
class Standardizer(eqx.Module):
    """v ↦ (v − location)/scale, by numbers that training leaves as they are."""

    location: paramax.NonTrainable
    scale: paramax.NonTrainable

    def __init__(self, location: Float[Array, " k"], scale: Float[Array, " k"]):
        self.location, self.scale = paramax.NonTrainable(location), paramax.NonTrainable(scale)

    def __call__(self, v: Float[Array, "k *rows"]) -> Float[Array, "k *rows"]:
        """Return (v − location)/scale."""
        location, scale = self._beside(v)
        return (v - location) / scale

    def invert(self, t: Float[Array, "k *rows"]) -> Float[Array, "k *rows"]:
        """Return location + scale · t."""
        location, scale = self._beside(t)
        return location + scale * t

    def _beside(self, v: Float[Array, "k *rows"]) -> list[Array]:
        shape = (-1, *(1,) * (v.ndim - 1))
        return [a.reshape(shape) for a in paramax.unwrap((self.location, self.scale))]

    @property
    def log_slope(self) -> Float[Array, ""]:
        """log of the change of volume, −Σ log scale."""
        return -jnp.log(paramax.unwrap(self.scale)).sum()


@storable("density.CoveredDensity")
class CoveredDensity(AbstractDensity):
    """p(y) = Σ_b π(x_b) exp(log_volume_b) · P(cells of y | y), exact, by one evaluation a branch.

    π is uniform on spheres and circles and logistic on lines, pushed through splines. It is the
    marginal of a flow on R^m that maps fibres to fibres: z integrates out in closed form.

    Args:
        cover: The coordinates x_b of a point, and its cells.
        flow: The splines on the coordinates; None if all values are discrete.
        cell_flow: The probabilities of the cells; None without discrete values.
        coordinates: Scales lines, and leaves spheres and circles as they are.
        features: Scales what the cells depend on.
        condition: Scales the condition's features; of size 0 without a condition.
    """

    manifold: AbstractManifold
    cover: AbstractCover
    flow: BlockSplines | None
    cell_flow: CellSplines | None
    coordinates: Standardizer
    features: Standardizer
    condition: Standardizer

    def _log_prob(
        self, y: Point, *, condition: Condition = None, key: PRNGKeyArray | None = None
    ) -> LogProb:
        return self._log_prob_of(lambda function: function(y), condition)

    def _log_prob_batch(
        self,
        rows: Float[Array, "n size"],
        *,
        condition: Float[Array, "n c"] | None = None,
        keys: Key[Array, " n"] | None = None,
    ) -> LogProb:
        given = None if condition is None else condition.T
        return self._log_prob_of(lambda function: jax.vmap(function, out_axes=-1)(rows), given)

    def _log_prob_of(
        self, at: Callable[[Callable], Any], condition: Float[Array, "c *rows"] | None
    ) -> LogProb:
        """Log densities of one point or of rows, which are on the last axis of every array.

        Args:
            at: Evaluates a function at the point, or at all rows.
            condition: The condition's features.
        """
        model = paramax.unwrap(self)
        given = None if condition is None else model.condition(condition)
        value = jnp.zeros(())
        if model.flow is not None:
            x, log_volume = at(self.cover.lift)
            branches = range(len(x))  # an axis of branches would slow matrix products
            each = [model._log_ambient(x[b], given) + log_volume[b] for b in branches]
            value += each[0] if len(each) == 1 else jax.nn.logsumexp(jnp.stack(each), axis=0)
        if model.cell_flow is not None:
            features = model._seen(at(self.cover.features), given)
            value += model.cell_flow.log_prob(at(self.cover.cells), features)
        return LogProb(value, jnp.zeros_like(value))

    def _sample(self, *, condition: Condition = None, key: PRNGKeyArray) -> Point:
        model, flow_key, cell_key = paramax.unwrap(self), *jax.random.split(key)
        given = None if condition is None else model.condition(condition)
        x = jnp.zeros(0)
        if model.flow is not None:
            u = sample_base(model.flow.blocks, flow_key)
            x = model.coordinates.invert(model.flow.from_base(u, given))
        cells = jnp.zeros(self.cover.cell_count, x.dtype)
        y = self.cover.drop(x, cells)
        if model.cell_flow is None:
            return y
        features = model._seen(self.cover.features(y), given)
        for i, k in enumerate(jax.random.split(cell_key, self.cover.cell_count)):
            middle = self.cover.cells(y).middle
            found = model.cell_flow.sample_coordinate(i, middle, features, key=k)
            cells = cells.at[i].set(found)
            y = self.cover.drop(x, cells)
        return y

    @property
    def work(self) -> int:
        return self.cover.branches

    def refine(self) -> CoveredDensity:
        return self

    def _log_ambient(
        self, x: Float[Array, "m *rows"], given: Float[Array, "c *rows"] | None
    ) -> Scalar:
        assert self.flow is not None
        u, log_stretch = self.flow.to_base(self.coordinates(x), given)
        return log_base(self.flow.blocks, u) + log_stretch + self.coordinates.log_slope

    def _seen(
        self, features: Float[Array, "f *rows"], given: Float[Array, "c *rows"] | None
    ) -> Float[Array, "g *rows"]:
        features = self.features(features)
        return features if given is None else jnp.concatenate([features, given])


def log_base(blocks: tuple[Block, ...], u: Float[Array, "m *rows"]) -> Scalar:
    """Compute the log density of the base: uniform on spheres and circles, logistic on lines."""
    found, start = jnp.zeros_like(u[0]), 0
    for block in blocks:
        if block.kind == "line":
            found += log_logistic(u[start])
        else:
            found -= log_volume(block)
        start += block.size
    return found


def sample_base(blocks: tuple[Block, ...], key: PRNGKeyArray) -> Float[Array, " m"]:
    """Draw a point of the base."""
    parts = []
    for block, k in zip(blocks, jax.random.split(key, len(blocks)), strict=True):
        if block.kind == "line":
            parts.append(jax.random.logistic(k, (1,)))
        elif block.kind == "circle":
            parts.append(jax.random.uniform(k, (1,), minval=-jnp.pi, maxval=jnp.pi))
        else:
            v = jax.random.normal(k, (block.size,))
            parts.append(v / jnp.linalg.norm(v))
    return jnp.concatenate(parts)


def log_volume(block: Block) -> float:
    """Compute the log of the volume of a sphere or circle, or of the axes of a sphere."""
    if block.kind == "circle":
        return math.log(2 * math.pi)
    sphere = math.log(2) + block.size / 2 * math.log(math.pi) - math.lgamma(block.size / 2)
    return sphere - math.log(2) if block.kind == "axis" else sphere
