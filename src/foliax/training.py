"""The trainer: scanned blocks of steps, validation, best parameters, roll-back, resumption."""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Callable
from typing import NamedTuple, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import paramax
from jaxtyping import Array, Float, Int, PRNGKeyArray, PyTree

from .checkpoint import Checkpoint, fingerprint
from .density import AbstractDensity
from .objectives import AbstractObjective, ImportanceWeighted
from .record import INTERRUPTED, Block, Record
from .registry import storable

Rows = Float[Array, "n size"]
Table = Float[Array, "_ size"] | Float[np.ndarray, "_ size"]
Column = Float[Array, " _"] | Float[np.ndarray, " _"]
D = TypeVar("D", bound=AbstractDensity)
Sampler = Callable[[PRNGKeyArray, int], Rows]


@storable("fit.Training")
@dataclasses.dataclass(frozen=True)
class Training:
    """How to train: numbers only, so that JSON can hold it.

    Adam with global-norm clipping, a linear warm-up and a cosine decay (or a constant rate); an
    exponential moving average of the parameters is what is validated and returned. Every `block`
    steps: validation, by an importance-weighted bound of `validation_samples` z with fixed noise,
    and a check for divergence. `patience`: blocks without improvement before stopping (0: never).
    A diverged block is taken back and repeated at `cut` times the rate, at most `retries` times.
    `seconds`: after which no further block is begun (0: no limit); the best so far is kept.
    """

    steps: int = 5000
    batch: int = 128
    rate: float = 2e-3
    schedule: str = "cosine"
    warmup: int = 100
    clip: float = 1.0
    ema: float = 0.999
    block: int = 250
    patience: int = 0
    validation_samples: int = 16
    retries: int = 4
    cut: float = 0.3
    seconds: float = 0.0

    def __post_init__(self):
        for name in ("steps", "batch", "block", "validation_samples"):
            if getattr(self, name) < 1:
                raise ValueError(f"Training needs {name} >= 1, got {getattr(self, name)}.")
        for name in ("rate", "clip"):
            if not getattr(self, name) > 0:
                raise ValueError(f"Training needs {name} > 0, got {getattr(self, name)}.")
        if self.schedule not in ("cosine", "constant"):
            raise ValueError(f"schedule is 'cosine' or 'constant', not '{self.schedule}'.")
        if not (0 <= self.ema < 1 and 0 < self.cut < 1 and self.retries >= 0):
            raise ValueError("Training needs 0 <= ema < 1, 0 < cut < 1 and retries >= 0.")

    def rate_at(self, step: Int[Array, ""]) -> Float[Array, ""]:
        """The learning rate before cuts."""
        rate = self.rate * jnp.minimum(1.0, (step + 1) / max(self.warmup, 1))
        if self.schedule == "constant":
            return rate
        progress = jnp.clip(step / self.steps, 0.0, 1.0)
        return rate * (1e-3 + (1 - 1e-3) * 0.5 * (1 + jnp.cos(jnp.pi * progress)))


class TrainingDivergedError(RuntimeError):
    """The loss stayed non-finite after every roll-back."""


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


class Run(NamedTuple):
    """The constants of a training: what a block needs besides the state."""

    static: PyTree
    training: Training
    objective: AbstractObjective
    rows: Rows | None
    weights: Float[Array, " n"] | None
    sampler: Sampler | None
    key: PRNGKeyArray

    def advance(self, state: State) -> tuple[State, float]:
        """One block of steps, and its mean loss."""
        count = min(self.training.block, self.training.steps - int(state.step))
        steps = state.step + jnp.arange(count, dtype=jnp.int32)
        fresh = None
        if self.sampler is not None:
            fresh = _fresh(self.sampler, self.key, steps, self.training.batch)
        state, loss = _scan(state, self._replace(sampler=None), steps, fresh)
        return state, float(loss)

    def validate(self, state: State, held_out: tuple[Array, Array] | None) -> float:
        """The averaged parameters' loss on held-out rows; inf where there are none."""
        if held_out is None:
            return math.inf
        key = jax.random.fold_in(self.key, 2**31 - 1)
        samples = self.training.validation_samples
        return float(
            _held_out_loss(state.averaged, self.static, self.objective, *held_out, key, samples)
        )


@eqx.filter_jit
def _fresh(sampler: Sampler, key, steps: Int[Array, " s"], batch: int) -> Float[Array, "s b size"]:
    """The batches of a block, drawn apart: a rejection sampler compiles once for all models."""
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
            assert run.rows is not None
            assert run.weights is not None
            chosen = jax.random.randint(batch_key, (training.batch,), 0, len(run.rows))
            rows, weights = run.rows[chosen], run.weights[chosen]
        else:
            weights = jnp.ones(len(rows), rows.dtype)
        loss, gradient = run.objective.value_and_grad(
            state.params, run.static, rows, weights, key=noise_key
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
    params, static, objective: AbstractObjective, rows, weights, key, samples: int
) -> Float[Array, ""]:
    model = paramax.unwrap(eqx.combine(params, static))

    def one(row_and_number):
        y, number = row_and_number
        return objective.log_score(model, y, samples=samples, key=jax.random.fold_in(key, number))

    scores = jax.lax.map(one, (rows, jnp.arange(len(rows))), batch_size=256)
    return -(weights * scores).mean()


def _optimizer(training: Training) -> optax.GradientTransformation:
    return optax.chain(optax.clip_by_global_norm(training.clip), optax.scale_by_adam())


def _start(params: PyTree, training: Training) -> State:
    # Weakly typed constants among the parameters would cost a second compilation.
    params = jax.tree.map(lambda p: jnp.asarray(p, p.dtype), params)
    moments = _optimizer(training).init(params)
    zero, one, infinite = jnp.zeros((), jnp.int32), jnp.ones(()), jnp.inf * jnp.ones(())
    return State(params, params, moments, zero, one, params, infinite, zero)


def _source(
    rows: Table | Sampler, weights: Column | None
) -> tuple[Array | None, Array | None, Sampler | None]:
    if not isinstance(rows, Array | np.ndarray):
        if weights is not None:
            raise ValueError("A sampler's draws have no weights: pass weights only with rows.")
        return None, None, rows
    return *_weighted(rows, weights), None


def _weighted(rows: Table, weights: Column | None) -> tuple[Array, Array]:
    """Rows on the device, weights of mean 1; an error where either cannot be trained on."""
    rows = jnp.asarray(rows)
    if len(rows) == 0:
        raise ValueError("There are no rows to train on.")
    if not bool(jnp.isfinite(rows).all()):
        bad = int(np.argmax(~np.isfinite(np.asarray(rows)).all(1)))
        raise ValueError(f"Row {bad} is not finite: {rows[bad]}.")
    if weights is None:
        return rows, jnp.ones(len(rows), rows.dtype)
    weights = jnp.asarray(weights, rows.dtype)
    if weights.shape != (len(rows),):
        raise ValueError(f"There are {len(rows)} rows and weights of shape {weights.shape}.")
    if not bool((jnp.isfinite(weights) & (weights >= 0)).all()) or float(weights.sum()) == 0:
        raise ValueError("Weights must be finite, non-negative and not all zero.")
    return rows, weights / weights.mean()


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
