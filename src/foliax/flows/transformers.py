"""Transformers of coupling and masked layers: from a network's outputs to a scalar bijection.

FlowJAX keeps them as closures, which a model file cannot hold. These modules compute the same
function and consist of plain settings.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import paramax
from flowjax.bijections import (
    AbstractBijection,
    Affine,
    Coupling,
    MaskedAutoregressive,
    RationalQuadraticSpline,
)
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float
from paramax.utils import inv_softplus

from foliax.registry import storable

B = TypeVar("B", bound=AbstractBijection)

MIN_DERIVATIVE = 1e-3
"""Smallest derivative of a spline, FlowJAX's default; it keeps the inverse finite."""

MIN_WIDTH = 1e-3
"""Smallest width of a spline's bin as a fraction of the interval, FlowJAX's default."""


@storable("ambient.SplineTransformer")
class SplineTransformer(eqx.Module):
    """params ↦ the rational-quadratic spline of unconstrained parameters start + params.

    `start` holds the parameters of the identity. `dtype` is the type of `start`.
    """

    knots: int = eqx.field(static=True)
    interval: tuple[float, float] = eqx.field(static=True)
    min_derivative: float = eqx.field(static=True)
    min_width: float = eqx.field(static=True)
    start: tuple[float, ...] = eqx.field(static=True)
    dtype: str = eqx.field(static=True)

    @classmethod
    def build(cls, knots: int, interval: float) -> SplineTransformer:
        """Describe splines on [−interval, interval] that start at the identity.

        Args:
            knots: The number of inner knots.
            interval: Outside ±interval the spline is the identity.

        Returns:
            The transformer.
        """
        blank = cls(knots, (-interval, interval), MIN_DERIVATIVE, MIN_WIDTH, (), "")
        return dataclasses.replace(blank, **_start(blank.initial()))

    def initial(self) -> RationalQuadraticSpline:
        """Return the spline at the identity, as FlowJAX's layers expect it."""
        return RationalQuadraticSpline(
            knots=self.knots,
            interval=self.interval,
            min_derivative=self.min_derivative,
            min_width=self.min_width,
        )

    def __call__(self, params: Float[Array, " p"]) -> AbstractBijection:
        """Return the spline of `start + params`."""
        return _with_parameters(self.initial, params + np.array(self.start, self.dtype))


@storable("ambient.AffineTransformer")
class AffineTransformer(eqx.Module):
    """params ↦ (s ↦ scale · s + shift) of unconstrained parameters start + params.

    The scale is softplus(·) + `min_scale`. `dtype` is the type of `start`.
    """

    min_scale: float = eqx.field(static=True)
    start: tuple[float, ...] = eqx.field(static=True)
    dtype: str = eqx.field(static=True)

    @classmethod
    def build(cls, min_scale: float) -> AffineTransformer:
        """Describe affine maps that start at the identity.

        Args:
            min_scale: The smallest scale, which keeps the inverse finite.

        Returns:
            The transformer.
        """
        blank = cls(min_scale, (), "")
        return dataclasses.replace(blank, **_start(blank.initial()))

    def initial(self) -> Affine:
        """Return the map at the identity, as FlowJAX's layers expect it."""
        raw = inv_softplus(1.0 - self.min_scale)
        scale = paramax.Parameterize(lambda a: jax.nn.softplus(a) + self.min_scale, raw)
        return eqx.tree_at(lambda affine: affine.scale, Affine(), scale)

    def __call__(self, params: Float[Array, " p"]) -> AbstractBijection:
        """Return the affine map of `start + params`."""
        return _with_parameters(self.initial, params + np.array(self.start, self.dtype))


Transformer = SplineTransformer | AffineTransformer


def use_transformer(bijection: B, transformer: Transformer) -> B:
    """Replace the transformer of every FlowJAX coupling and masked layer by a storable one.

    Args:
        bijection: Its layers were built with `transformer.initial()`.
        transformer: What the layers hold afterwards instead of FlowJAX's closure.

    Returns:
        The same function, which a model file can hold.
    """

    def is_layer(node: object) -> bool:
        return isinstance(node, Coupling | MaskedAutoregressive)

    def replace(node):
        if not is_layer(node):
            return node
        return eqx.tree_at(lambda layer: layer.transformer_constructor, node, transformer)

    return jax.tree.map(replace, bijection, is_leaf=is_layer)


def _start(bijection: AbstractBijection) -> dict[str, Any]:
    """The fields `start` and `dtype`: a bijection's parameters in the order of FlowJAX's layers."""
    values, _ = ravel_pytree(eqx.filter(bijection, eqx.is_inexact_array))
    return {"start": tuple(np.asarray(values).tolist()), "dtype": str(values.dtype)}


def _with_parameters(
    template: Callable[[], AbstractBijection], values: Float[Array, " p"]
) -> AbstractBijection:
    """The bijection that `template` builds, with its arrays taken from `values` in order."""
    shapes, static = eqx.partition(
        eqx.filter_eval_shape(template), lambda leaf: isinstance(leaf, jax.ShapeDtypeStruct)
    )
    leaves, structure = jax.tree.flatten(shapes)
    ends = np.cumsum([leaf.size for leaf in leaves])[:-1]
    parts = zip(jnp.split(values, ends), leaves, strict=True)
    arrays = [part.reshape(leaf.shape) for part, leaf in parts]
    return eqx.combine(jax.tree.unflatten(structure, arrays), static)
