"""What stands for flowjax's transformer constructors, which are closures, in a model file.

A coupling or masked layer of flowjax holds a function from a flat parameter vector to the scalar
bijection that it moves a coordinate by. These modules are the same function as data.
"""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import numpy as np
from flowjax.bijections import AbstractBijection, Affine, RationalQuadraticSpline
from jaxtyping import Array, Float

from ..flows.coupling import softplus_affine
from ..registry import storable

RAVELLED = "get_ravelled_pytree_constructor.<locals>.constructor"
SOFTPLUS = "softplus_affine.<locals>.<lambda>"
DERIVATIVES = "RationalQuadraticSpline.__init__.<locals>.<lambda>"


@storable("ambient.SplineTransformer")
class SplineTransformer(eqx.Module):
    """params ↦ the rational-quadratic spline of unconstrained parameters start + params."""

    knots: int = eqx.field(static=True)
    interval: tuple[float, float] = eqx.field(static=True)
    min_derivative: float = eqx.field(static=True)
    min_width: float = eqx.field(static=True)
    start: tuple[float, ...] = eqx.field(static=True)
    dtype: str = eqx.field(static=True)

    def __call__(self, params: Float[Array, " p"]) -> AbstractBijection:
        """The spline."""

        def blank() -> AbstractBijection:
            return RationalQuadraticSpline(
                knots=self.knots,
                interval=self.interval,
                min_derivative=self.min_derivative,
                min_width=self.min_width,
            )

        return filled(blank, params + np.array(self.start, self.dtype))


@storable("ambient.AffineTransformer")
class AffineTransformer(eqx.Module):
    """params ↦ s ↦ scale · s + shift of unconstrained parameters start + params."""

    min_scale: float = eqx.field(static=True)
    start: tuple[float, ...] = eqx.field(static=True)
    dtype: str = eqx.field(static=True)

    def __call__(self, params: Float[Array, " p"]) -> AbstractBijection:
        """The affine map."""
        return filled(
            lambda: softplus_affine(self.min_scale), params + np.array(self.start, self.dtype)
        )


def filled(blank: Callable[[], AbstractBijection], values: Float[Array, " p"]) -> AbstractBijection:
    """The bijection that `blank` makes, its arrays taken from values in turn."""
    shapes, static = eqx.partition(
        eqx.filter_eval_shape(blank), lambda leaf: isinstance(leaf, jax.ShapeDtypeStruct)
    )
    leaves, structure = jax.tree.flatten(shapes)
    ends = np.cumsum([leaf.size for leaf in leaves])[:-1]
    parts = [
        part.reshape(leaf.shape)
        for part, leaf in zip(np.split(np.arange(len(values)), ends), leaves, strict=True)
    ]
    return eqx.combine(jax.tree.unflatten(structure, [values[part] for part in parts]), static)


def recognised(function: Any) -> eqx.Module | None:
    """The module that is the same function; None where it is not one that foliax makes."""
    captured = _captured(function, RAVELLED)
    if not {"init", "static"} <= captured.keys():
        return None
    init, static = np.asarray(captured["init"]), captured["static"]
    start, dtype = tuple(init.tolist()), str(init.dtype)
    if isinstance(static, RationalQuadraticSpline):
        derivatives: Any = static.derivatives
        least = _captured(derivatives.fn, DERIVATIVES)
        if "min_derivative" in least:
            width = static.x_pos.min_width  # pyright: ignore[reportAttributeAccessIssue]
            low, high = static.interval
            return SplineTransformer(
                static.knots, (low, high), least["min_derivative"], width, start, dtype
            )
    if isinstance(static, Affine):
        scale: Any = static.scale
        least = _captured(scale.fn, SOFTPLUS)
        if "min_scale" in least:
            return AffineTransformer(least["min_scale"], start, dtype)
    return None


def _captured(function: Any, name: str) -> dict[str, Any]:
    """The variables of a closure of that name; none of any other function."""
    if not isinstance(function, types.FunctionType) or function.__qualname__ != name:
        return {}
    return dict(inspect.getclosurevars(function).nonlocals)
