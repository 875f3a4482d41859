"""Blocks of optimiser steps, compiled as one scan."""

from __future__ import annotations

import math
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
import paramax
from jaxtyping import Array, Float, Int, PRNGKeyArray, PyTree

from ..density.batches import map_chunks
from ..density.dataset import Sampler
from .objectives import AbstractObjective
from .rows import Batch
from .settings import Training

VALIDATED_AT_ONCE = 256
"""Held-out rows that are scored at once, so that their activations stay in the cache."""


class State(NamedTuple):
    """Everything the next step depends on, and the best parameters so far."""

    params: PyTree
    averaged: PyTree
    moments: PyTree
    step: Int[Array, ""]
    rate_factor: Float[Array, ""]
    best: PyTree
    best_validation: Float[Array, ""]
    best_step: Int[Array, ""]


def partition(model: PyTree) -> tuple[PyTree, PyTree]:
    """(trainable arrays, the rest)."""
    return eqx.partition(
        model, eqx.is_inexact_array, is_leaf=lambda leaf: isinstance(leaf, paramax.NonTrainable)
    )


def count_parameters(model: PyTree) -> int:
    """Number of trainable numbers."""
    return sum(leaf.size for leaf in jax.tree.leaves(partition(model)[0]))


class Run(NamedTuple):
    """The constants of a training: what a block needs besides the state."""

    static: PyTree
    training: Training
    objective: AbstractObjective
    data: Batch | None
    sampler: Sampler | None
    key: PRNGKeyArray

    def advance(self, state: State) -> tuple[State, float]:
        """Run one block of steps; return the state after it and its mean loss."""
        count = min(self.training.eval_every, self.training.steps - int(state.step))
        steps = state.step + jnp.arange(count, dtype=jnp.int32)
        fresh = None
        if self.sampler is not None:
            fresh = _fresh(self.sampler, self.key, steps, self.training.batch_size)
        state, loss = _scan(state, self._replace(sampler=None), steps, fresh)
        return state, float(loss)

    def validate(self, state: State, held_out: Batch | None) -> float:
        """Loss of the averaged parameters on held-out rows; inf where there are none."""
        if held_out is None:
            return math.inf
        key = jax.random.fold_in(self.key, 2**31 - 1)
        samples = self.training.validation_samples
        return float(
            _held_out_loss(state.averaged, self.static, self.objective, held_out, key, samples)
        )


@eqx.filter_jit
def _fresh(sampler: Sampler, key, steps: Int[Array, " s"], batch: int) -> Float[Array, "s b size"]:
    """Draw the batches of a block, outside the scan: a rejection sampler compiles once."""
    return jax.vmap(lambda step: sampler(_keys(key, step)[0], batch))(steps)


def _keys(key: PRNGKeyArray, step: Int[Array, ""]) -> Array:
    """A step's keys: for its batch, for its noise."""
    return jax.random.split(jax.random.fold_in(key, step))


@eqx.filter_jit
def _scan(
    state: State, run: Run, steps: Int[Array, " s"], fresh: Float[Array, "s b size"] | None
) -> tuple[State, Float[Array, ""]]:
    training = run.training
    optimizer = _optimizer(training)

    def one(state: State, inputs):
        (batch_key, noise_key), rate, decay, rows = inputs
        if rows is None:
            assert run.data is not None
            chosen = jax.random.randint(batch_key, (training.batch_size,), 0, len(run.data.rows))
            batch = run.data.take(chosen)
        else:
            batch = Batch(rows, jnp.ones(len(rows), rows.dtype))
        loss, gradient = run.objective.value_and_grad(
            state.params, run.static, batch, key=noise_key
        )
        direction, moments = optimizer.update(gradient, state.moments)
        taken = rate * state.rate_factor
        params = jax.tree.map(lambda p, d: p - (taken * d).astype(p.dtype), state.params, direction)
        averaged = jax.tree.map(
            lambda a, p: a + (1 - decay).astype(p.dtype) * (p - a), state.averaged, params
        )
        after = state._replace(
            params=params, averaged=averaged, moments=moments, step=state.step + 1
        )
        return after, loss

    keys = jax.vmap(lambda step: _keys(run.key, step))(steps)
    rates = jax.vmap(training.rate_at)(steps)
    # A moving average of the first steps must not remember the start.
    decays = jnp.minimum(training.ema, (1 + steps) / (10 + steps))
    state, losses = jax.lax.scan(one, state, (keys, rates, decays, fresh))
    return state, losses.mean()


@eqx.filter_jit
def _held_out_loss(
    params, static, objective: AbstractObjective, held_out: Batch, key, samples: int
) -> Float[Array, ""]:
    model = paramax.unwrap(eqx.combine(params, static))

    def score(some):
        batch, numbers = some
        keys = jax.vmap(lambda number: jax.random.fold_in(key, number))(numbers)
        return objective.log_scores(model, batch, samples=samples, keys=keys)

    numbers = jnp.arange(len(held_out.rows))
    scores = map_chunks(score, (held_out, numbers), VALIDATED_AT_ONCE)
    return -(held_out.weights * scores).mean()


def _optimizer(training: Training) -> optax.GradientTransformation:
    return optax.chain(optax.clip_by_global_norm(training.clip), optax.scale_by_adam())


def start_state(params: PyTree, training: Training) -> State:
    """The state before the first step."""
    # Weakly typed constants among the parameters would cost a second compilation.
    params = jax.tree.map(lambda p: jnp.asarray(p, p.dtype), params)
    moments = _optimizer(training).init(params)
    zero, one, infinite = jnp.zeros((), jnp.int32), jnp.ones(()), jnp.inf * jnp.ones(())
    return State(params, params, moments, zero, one, params, infinite, zero)
