"""The training loop: validation, best parameters, roll-back, resumption."""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Callable
from typing import TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import PRNGKeyArray

from ..density import AbstractDensity
from .checkpoint import Checkpoint, fingerprint
from .history import INTERRUPTED, Block, Record
from .objectives import AbstractObjective, ImportanceWeighted
from .rows import Column, Sampler, Table, _source, _weighted
from .settings import Training
from .steps import Run, State, _start, count_parameters, partition

D = TypeVar("D", bound=AbstractDensity)


class TrainingDivergedError(RuntimeError):
    """The loss stayed non-finite after every roll-back."""


def train(
    density: D,
    rows: Table | Sampler,
    *,
    key: PRNGKeyArray,
    training: Training | None = None,
    objective: AbstractObjective | None = None,
    weights: Column | None = None,
    validation: Table | None = None,
    validation_weights: Column | None = None,
    checkpoint: Checkpoint | None = None,
    on_block: Callable[[Block], None] | None = None,
) -> tuple[D, Record]:
    """Train a density on rows, or on fresh draws of a sampler (key, n) -> rows.

    Step i uses `fold_in(key, i)` alone, so the same key gives the same bits, also after resuming
    from a checkpoint. An interrupt (Ctrl-C) ends training with the best parameters so far; before
    the first block is done there are none, and the interrupt goes on to the caller.
    """
    training, objective = training or Training(), objective or ImportanceWeighted()
    params, static = partition(density)
    record = Record(count_parameters(density))
    # Programs are compiled for a run, and a time limit is none of their business.
    timeless = dataclasses.replace(training, seconds=0.0)
    run = Run(static, timeless, objective, *_source(rows, weights), key)
    held_out = None if validation is None else _weighted(validation, validation_weights)
    state = _start(params, training)
    identity = "" if checkpoint is None else fingerprint(state, run, held_out)
    if checkpoint is not None:
        state, record = checkpoint.restore(state, record, identity)
    began = time.monotonic() - record.seconds
    tried = 0
    try:
        while not record.stopped:
            after, loss, score, trouble = _attempt(run, state, held_out)
            if trouble:
                tried += 1
                state = _cut(state, training, tried, record, trouble)
                continue
            tried = 0
            state = _keep_best(after, score, held_out is not None)
            record.seconds = time.monotonic() - began
            report = Block(
                int(state.step),
                training.steps,
                loss,
                score,
                float(state.best_validation),
                record.seconds,
            )
            record.history.append(report)
            if report.step == training.steps:
                record.stopped = "all steps done"
            elif _out_of_patience(state, training, held_out is not None):
                record.stopped = f"no improvement for {training.patience} blocks"
            elif 0 < training.seconds <= record.seconds:
                record.stopped = f"{training.seconds:.0f} s were over"
                record.events.append(f"Out of time after step {report.step}: the best is kept.")
            if checkpoint is not None:
                checkpoint.save(state, record, identity)
            if on_block is not None:
                on_block(report)
    except KeyboardInterrupt:
        if int(state.step) == 0:
            raise
        record.stopped = INTERRUPTED
        record.events.append(f"Interrupted after step {int(state.step)}: the best so far is kept.")
    record.best_step, record.best_validation = int(state.best_step), float(state.best_validation)
    return eqx.combine(state.best, static), record


def _attempt(run: Run, state: State, held_out) -> tuple[State, float, float, str]:
    """A block: the state after it, its loss, its validation, and what went wrong ("": nothing)."""
    try:
        after, loss = run.advance(state)
        score = run.validate(after, held_out)
    except eqx.EquinoxRuntimeError as error:
        return state, math.nan, math.nan, str(error).strip().splitlines()[0]
    finite = all(bool(jnp.isfinite(leaf).all()) for leaf in jax.tree.leaves(after.params))
    if finite and math.isfinite(loss) and not math.isnan(score):
        return after, loss, score, ""
    what = "finite parameters" if finite else "parameters that are not finite"
    return state, loss, score, f"loss {loss:.4g}, validation {score:.4g}, {what}"


def _cut(state: State, training: Training, tried: int, record: Record, what: str) -> State:
    """The block's start again, at a smaller rate; an error when that has been tried enough."""
    step, factor = int(state.step), float(state.rate_factor) * training.cut
    if tried > training.retries:
        raise TrainingDivergedError(
            f"Training diverged after step {step} ({what}); {training.retries} smaller rates did "
            f"not help, the last {training.rate * float(state.rate_factor):.2g}. Check the data "
            "for outliers and duplicates, lower the rate, or use a tighter ambient density."
        )
    record.events.append(f"Diverged after step {step} ({what}): taken back, rate × {factor:.3g}.")
    return state._replace(rate_factor=jnp.asarray(factor, state.rate_factor.dtype))


def _keep_best(state: State, score: float, validated: bool) -> State:
    if validated and not score < float(state.best_validation):
        return state
    return state._replace(
        best=state.averaged,
        best_validation=jnp.asarray(score, state.best_validation.dtype),
        best_step=state.step,
    )


def _out_of_patience(state: State, training: Training, validated: bool) -> bool:
    waited = int(state.step) - int(state.best_step)
    return validated and training.patience > 0 and waited >= training.patience * training.block
