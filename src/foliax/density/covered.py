"""The density of a spline flow on the cover of a manifold."""

from __future__ import annotations

import math

import equinox as eqx
import jax
import jax.numpy as jnp
import paramax
from jaxtyping import Array, Float, PRNGKeyArray

from ..flows.manifold.block_splines import BlockSplines
from ..flows.manifold.cell_splines import CellSplines, log_logistic
from ..manifolds import AbstractManifold
from ..manifolds.cover import AbstractCover, Block
from ..registry import storable
from .base import AbstractDensity, Condition, Point
from .log_prob import LogProb

Scalar = Float[Array, ""]


@storable("density.Standardizer")
class Standardizer(eqx.Module):
    """v ↦ (v − location)/scale, by numbers that training leaves as they are."""

    location: paramax.NonTrainable
    scale: paramax.NonTrainable

    def __init__(self, location: Float[Array, " k"], scale: Float[Array, " k"]):
        self.location, self.scale = paramax.NonTrainable(location), paramax.NonTrainable(scale)

    def __call__(self, v: Float[Array, " k"]) -> Float[Array, " k"]:
        """Return (v − location)/scale."""
        return (v - paramax.unwrap(self.location)) / paramax.unwrap(self.scale)

    def invert(self, t: Float[Array, " k"]) -> Float[Array, " k"]:
        """Return location + scale · t."""
        return paramax.unwrap(self.location) + paramax.unwrap(self.scale) * t

    @property
    def log_slope(self) -> Scalar:
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
        model = paramax.unwrap(self)
        given = None if condition is None else model.condition(condition)
        value = jnp.zeros((), y.dtype)
        if model.flow is not None:
            x, log_volume = self.cover.lift(y)
            if len(x) == 1:  # a batch axis of one would slow matrix products
                value += model._log_ambient(x[0], given) + log_volume[0]
            else:
                each = jax.vmap(lambda x: model._log_ambient(x, given))(x)
                value += jax.nn.logsumexp(each + log_volume)
        if model.cell_flow is not None:
            value += model.cell_flow.log_prob(self.cover.cells(y), model._seen(y, given))
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
        features = model._seen(y, given)
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

    def _log_ambient(self, x: Float[Array, " m"], given: Condition) -> Scalar:
        assert self.flow is not None
        u, log_stretch = self.flow.to_base(self.coordinates(x), given)
        return log_base(self.flow.blocks, u) + log_stretch + self.coordinates.log_slope

    def _seen(self, y: Point, given: Condition) -> Float[Array, " f"]:
        features = self.features(self.cover.features(y))
        return features if given is None else jnp.concatenate([features, given])


def log_base(blocks: tuple[Block, ...], u: Float[Array, " m"]) -> Scalar:
    """Compute the log density of the base: uniform on spheres and circles, logistic on lines."""
    found, start = jnp.zeros((), u.dtype), 0
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
