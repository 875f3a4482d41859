"""Transformers of coupling and masked layers: from a network's outputs to a scalar bijection.

FlowJAX keeps them as closures, which a model file cannot hold. These modules compute the same
function and consist of plain settings.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

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
    def of(cls, spline: RationalQuadraticSpline, min_derivative: float = 1e-3) -> SplineTransformer:
        """Describe a FlowJAX spline.

        Args:
            spline: Its parameters become `start`.
            min_derivative: The spline's smallest derivative, which it keeps in a closure. FlowJAX's
                default.
        """
        low, high = spline.interval
        width = spline.x_pos.min_width  # pyright: ignore[reportAttributeAccessIssue]
        return cls(spline.knots, (low, high), min_derivative, width, *_flat_parameters(spline))

    def __call__(self, params: Float[Array, " p"]) -> AbstractBijection:
        """Return the spline of `start + params`."""
        return _with_parameters(self._template, params + np.array(self.start, self.dtype))

    def _template(self) -> RationalQuadraticSpline:
        return RationalQuadraticSpline(
            knots=self.knots,
            interval=self.interval,
            min_derivative=self.min_derivative,
            min_width=self.min_width,
        )


@storable("ambient.AffineTransformer")
class AffineTransformer(eqx.Module):
    """params ↦ (s ↦ scale · s + shift) of unconstrained parameters start + params.

    The scale is softplus(·) + `min_scale`. `dtype` is the type of `start`.
    """

    min_scale: float = eqx.field(static=True)
    start: tuple[float, ...] = eqx.field(static=True)
    dtype: str = eqx.field(static=True)

    @classmethod
    def of(cls, affine: Affine, min_scale: float) -> AffineTransformer:
        """Describe a map that `softplus_affine(min_scale)` made."""
        return cls(min_scale, *_flat_parameters(affine))

    def __call__(self, params: Float[Array, " p"]) -> AbstractBijection:
        """Return the affine map of `start + params`."""
        values = params + np.array(self.start, self.dtype)
        return _with_parameters(lambda: softplus_affine(self.min_scale), values)


Transformer = SplineTransformer | AffineTransformer


def softplus_affine(min_scale: float) -> Affine:
    """s ↦ scale · s + shift, scale = softplus(·) + min_scale, starting at the identity."""
    raw = inv_softplus(1.0 - min_scale)
    scale = paramax.Parameterize(lambda a: jax.nn.softplus(a) + min_scale, raw)
    return eqx.tree_at(lambda affine: affine.scale, Affine(), scale)


def use_transformer(bijection: B, transformer: Transformer) -> B:
    """Replace the transformer of every FlowJAX coupling and masked layer by a storable one.

    Args:
        bijection: Its layers were built with the same transformer, as a FlowJAX bijection.
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


def _flat_parameters(bijection: AbstractBijection) -> tuple[tuple[float, ...], str]:
    """(values, dtype) of a bijection's parameters, in the order of FlowJAX's layers."""
    values, _ = ravel_pytree(eqx.filter(bijection, eqx.is_inexact_array))
    return tuple(np.asarray(values).tolist()), str(values.dtype)


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
