"""Bounds on what a model file may describe, checked before anything large is allocated.

A file of a few kilobytes can describe a manifold of a billion dimensions, or a network whose
intermediate results take all memory. Shapes are traced, which computes and allocates nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend import core

from ..density import AbstractDensity
from ..density.integrate import AbstractIntegrator
from ..manifolds import AbstractDequantization, AbstractManifold
from ..manifolds.base import check_branches
from .container import ModelFileError

MAX_POINT_SIZE = 100_000
"""Numbers of a point; tables of thousands of columns stay far below."""

MAX_NODES = 2**20
"""Nodes of the integral over z; the default with all its refinements stays below a tenth."""

MAX_INTERMEDIATE_BYTES = 2**29
"""Size of an array that one log density or one sample needs; real models stay below a third."""


def check_size(value: Any) -> None:
    """Check the size of a decoded object, before another object is built from it.

    Args:
        value: Any object. Only manifolds, dequantizations and integrators are checked.

    Raises:
        ModelFileError: The object is too large, or has a size that is not positive.
        ValueError: A dequantization has too many branches.
    """
    if isinstance(value, AbstractManifold) and not 0 < value.size <= MAX_POINT_SIZE:
        raise ModelFileError(
            f"it holds a {type(value).__name__} whose points have {value.size} numbers; from 1 to "
            f"{MAX_POINT_SIZE} are possible."
        )
    if isinstance(value, AbstractDequantization):
        check_branches(value)
    if isinstance(value, AbstractIntegrator) and not 0 < value.work <= MAX_NODES:
        raise ModelFileError(
            f"it holds a {type(value).__name__} with {value.work} nodes; from 1 to {MAX_NODES} are "
            "possible."
        )


def check_shapes(density: AbstractDensity) -> None:
    """Check that the arrays of a density fit together and that its use takes little memory.

    Args:
        density: A density without a condition.

    Raises:
        ModelFileError: The shapes do not fit, or an intermediate array is too large.
    """
    size = density.manifold.size
    key = jax.random.key(0)
    point = jax.ShapeDtypeStruct((size,), jnp.result_type(float))
    traced = (
        (lambda y: tuple(density._log_prob(y, key=key)), point, [(), ()]),
        (lambda _: density._sample(key=key), point, [(size,)]),
    )
    for function, argument, expected in traced:
        try:
            program = jax.make_jaxpr(function)(argument)
        except Exception as error:
            reason = str(error).partition("\n")[0][:300] or type(error).__name__
            raise ModelFileError(
                f"the arrays of its density do not fit together: {reason}"
            ) from error
        found = [tuple(shape.shape) for shape in program.out_avals]
        if found != expected:
            raise ModelFileError(f"its density gives arrays of shapes {found}, not {expected}.")
        largest = max(_array_bytes(program.jaxpr), default=0)
        if largest > MAX_INTERMEDIATE_BYTES:
            raise ModelFileError(
                f"its density needs an array of {largest / 2**30:.1f} GiB for one row; at most "
                f"{MAX_INTERMEDIATE_BYTES / 2**30:.1f} GiB are possible."
            )


def _array_bytes(program: core.Jaxpr) -> Iterator[int]:
    """The sizes of all arrays that a traced program computes, also inside its loops."""
    for equation in program.eqns:
        for variable in equation.outvars:
            shape = getattr(variable.aval, "shape", ())
            itemsize = getattr(getattr(variable.aval, "dtype", None), "itemsize", 8)
            yield int(np.prod(shape, dtype=object)) * itemsize
        for parameter in jax.tree.leaves(
            list(equation.params.values()), is_leaf=lambda x: isinstance(x, core.Jaxpr)
        ):
            inner = getattr(parameter, "jaxpr", parameter)
            if isinstance(inner, core.Jaxpr):
                yield from _array_bytes(inner)
