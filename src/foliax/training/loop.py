"""The training loop: validation, best parameters, roll-back, resumption."""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Sequence
from typing import TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PRNGKeyArray

from ..density import AbstractDensity
from ..density.dataset import Dataset
from .callbacks import Callback, find_reason_to_stop
from .checkpoint import fingerprint
from .history import INTERRUPTED, Block, Record
from .objectives import AbstractObjective, ImportanceWeighted
from .rows import Batch, to_device
from .settings import Training
from .steps import Run, State, count_parameters, partition, start_state

D = TypeVar("D", bound=AbstractDensity)


class TrainingDivergedError(RuntimeError):
    """The loss stayed non-finite after every roll-back."""


def train(
    density: D,
    data: Dataset,
    *,
    key: PRNGKeyArray,
    training: Training | None = None,
    objective: AbstractObjective | None = None,
    validation: Dataset | None = None,
    callbacks: Sequence[Callback] = (),
) -> tuple[D, Record]:
    """Train a density on rows, or on fresh draws of a sampler.

    Step i uses `fold_in(key, i)` alone, so the same key gives the same bits, also after resuming
    from a checkpoint. An interrupt (Ctrl-C) ends training with the best parameters so far. Before
    the first block is done there are none, and the interrupt goes on to the caller.

    Args:
        density: The untrained density.
        data: Rows, weights and conditions, or a sampler.
        key: Chooses batches and noise.
        training: Numbers of the training; by default `Training()`.
        objective: The loss; by default `ImportanceWeighted()`.
        validation: Held-out rows that choose the best parameters; without them the last are kept.
        callbacks: Told of every block; a `Checkpoint` also saves and restores the state.

    Returns:
        The density with the best parameters, and the record of the training.

    Raises:
        TrainingDivergedError: The loss stayed non-finite after every roll-back.
        CheckpointError: A checkpoint is of another training, or damaged.
    """
    training, objective = training or Training(), objective or ImportanceWeighted()
    params, static = partition(density)
    # Exclude the time limit, so that changing it does not recompile.
    timeless = dataclasses.replace(training, time_limit=0.0)
    source = (None, data.rows) if data.is_sampler else (to_device(data), None)
    run = Run(static, timeless, objective, *source, key)
    held_out = None if validation is None else to_device(validation)
    state, record = start_state(params, training), Record(count_parameters(density))
    keepers = [callback for callback in callbacks if callback.keeps_state]
    identity = fingerprint(state, run, held_out) if keepers else ""
    for keeper in keepers:
        state, record = keeper.restore(state, record, identity)
    state = _run_blocks(run, state, record, training, held_out, callbacks, identity)
    record.best_step, record.best_validation = int(state.best_step), float(state.best_validation)
    return eqx.combine(state.best, static), record


def _run_blocks(
    run: Run,
    state: State,
    record: Record,
    training: Training,
    held_out: Batch | None,
    callbacks: Sequence[Callback],
    identity: str,
) -> State:
    """Run blocks until one is the last, or until an interrupt; add them to the record."""
    began = time.monotonic() - record.seconds
    tried = 0
    try:
        while not record.stopped:
            after, loss, score, trouble = _attempt(run, state, held_out)
            if trouble:
                tried += 1
                state = _back_off(state, training, tried, record, trouble)
                continue
            tried = 0
            state = _keep_best(after, score, held_out is not None)
            record.seconds = time.monotonic() - began
            block = _note_block(record, state, training, loss, score)
            for keeper in (callback for callback in callbacks if callback.keeps_state):
                keeper.save(state, record, identity)
            for callback in callbacks:
                callback.on_block(block)
            _stop_if_asked(record, callbacks)
    except KeyboardInterrupt:
        if int(state.step) == 0:
            raise
        record.stopped = INTERRUPTED
        record.events.append(f"Interrupted after step {int(state.step)}: kept the best so far.")
    return state


def _note_block(
    record: Record, state: State, training: Training, loss: float, score: float
) -> Block:
    """Add a block to the record, and say there if it was the last one."""
    best = float(state.best_validation)
    block = Block(int(state.step), training.steps, loss, score, best, record.seconds)
    record.history.append(block)
    if block.step == training.steps:
        record.stopped = "all steps done"
    elif _out_of_patience(state, training):
        record.stopped = f"no improvement for {training.patience} blocks"
    elif 0 < training.time_limit <= record.seconds:
        record.stopped = f"reached the time limit of {training.time_limit:.0f} s"
        record.events.append(f"Out of time after step {block.step}: kept the best so far.")
    return block


def _stop_if_asked(record: Record, callbacks: Sequence[Callback]) -> None:
    """End the training where a callback has a reason to."""
    if not record.stopped and (reason := find_reason_to_stop(callbacks)):
        record.stopped = reason
        step = record.history[-1].step
        record.events.append(f"Stopped after step {step} ({reason}): kept the best so far.")


def _attempt(run: Run, state: State, held_out: Batch | None) -> tuple[State, float, float, str]:
    """Run a block; return the state after it, its loss, its validation and what went wrong."""
    try:
        after, loss = run.advance(state)
        score = run.validate(after, held_out)
    except eqx.EquinoxRuntimeError as error:
        return state, math.nan, math.nan, str(error).strip().splitlines()[0]
    # By NumPy: JAX would compile two programs for every shape, which takes seconds.
    finite = all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(after.params))
    if finite and math.isfinite(loss) and not math.isnan(score):
        return after, loss, score, ""
    what = "finite parameters" if finite else "parameters that are not finite"
    return state, loss, score, f"loss {loss:.4g}, validation {score:.4g}, {what}"


def _back_off(state: State, training: Training, tried: int, record: Record, what: str) -> State:
    """Return to the start of the block with a smaller learning rate, or give up."""
    step, factor = int(state.step), float(state.rate_factor) * training.lr_backoff
    if tried > training.retries:
        raise TrainingDivergedError(
            f"Training diverged after step {step} ({what}); {training.retries} smaller rates did "
            f"not help, the last {training.learning_rate * float(state.rate_factor):.2g}. Check "
            "the data for outliers and duplicates, lower the learning rate, or use a tighter flow."
        )
    record.events.append(
        f"Diverged after step {step} ({what}): went back, learning rate × {factor:.3g}."
    )
    return state._replace(rate_factor=jnp.asarray(factor, state.rate_factor.dtype))


def _keep_best(state: State, score: float, validated: bool) -> State:
    if validated and not score < float(state.best_validation):
        return state
    return state._replace(
        best=state.averaged,
        best_validation=jnp.asarray(score, state.best_validation.dtype),
        best_step=state.step,
    )


def _out_of_patience(state: State, training: Training) -> bool:
    """Whether no block has improved for long; without validation every block does."""
    waited = int(state.step) - int(state.best_step)
    return 0 < training.patience * training.eval_every <= waited
