"""The classes that a model file can name: foliax's own and a few of other packages."""

from __future__ import annotations

import functools
import importlib
import inspect

import equinox as eqx
import flowjax.bijections
import flowjax.distributions
import jax
import jax.numpy as jnp
import paramax

from ..registry import storable, storable_function

MODULES = (
    "density",
    "dequantizers",
    "estimators",
    "flows",
    "manifolds",
    "paper.targets",
    "training",
)
"""Modules imported before a file is decoded; a file never causes another import."""


@functools.cache
def import_storable_modules() -> None:
    """Import the modules that define storable classes, because classes register on import."""
    for name in MODULES:
        importlib.import_module(f"foliax.{name}")


for _cls in (eqx.nn.Linear, eqx.nn.MLP):
    storable(f"equinox.{_cls.__name__}")(_cls)
for _cls in (paramax.NonTrainable, paramax.Parameterize):
    storable(f"paramax.{_cls.__name__}")(_cls)
for _cls in (
    flowjax.bijections.Chain,
    flowjax.bijections.Coupling,
    flowjax.bijections.Flip,
    flowjax.bijections.Invert,
    flowjax.bijections.MaskedAutoregressive,
    flowjax.bijections.Scan,
    flowjax.distributions.StandardNormal,
    flowjax.distributions.Transformed,
):
    storable(f"flowjax.{_cls.__name__}")(_cls)

storable_function(
    "identity", inspect.signature(eqx.nn.MLP.__init__).parameters["final_activation"].default
)
storable_function("relu", jax.nn.relu)
storable_function("silu", jax.nn.silu)
storable_function("tanh", jnp.tanh)
storable_function("where", jnp.where)
