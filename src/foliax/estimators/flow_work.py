"""The cost model of training a flow."""

from __future__ import annotations

import functools

import equinox as eqx
import jax
import jax.numpy as jnp

from ..flows import AbstractAmbientSpec

START_WORK_UNITS = 20.0
"""Work units of building a flow and compiling its training."""
GRADIENT_WORK_UNITS = 3.5e-10
"""Work units of one parameter in one evaluation with its gradient, and in its validation.

A gradient takes about twice as long as a value, which takes 1.4e-10.
"""
SOLVER_EVALUATIONS = 20
"""Evaluations of the parameters by a flow that uses a solver: about as many as steps it takes."""
MIN_STEPS = 1000
"""Training steps from which on a flow is worth a start: a shorter training rarely wins."""


def step_work(ambient: AbstractAmbientSpec, dim: int, evaluations: int) -> float:
    """Work units of a training step.

    Args:
        ambient: The flow.
        dim: The dimension of its space.
        evaluations: Evaluations of the flow in a step: rows, times z, times branches.
    """
    passes = SOLVER_EVALUATIONS if ambient.uses_solver else 1
    return GRADIENT_WORK_UNITS * count_parameters(ambient, dim) * passes * evaluations


@functools.cache
def count_parameters(ambient: AbstractAmbientSpec, dim: int) -> int:
    """Count the parameters of a flow on R^dim."""
    zero = jnp.zeros(dim)
    flow = ambient.build(dim, shift=zero, scale=zero + 1, key=jax.random.key(0))
    return sum(leaf.size for leaf in jax.tree.leaves(eqx.filter(flow, eqx.is_inexact_array)))
