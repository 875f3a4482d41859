"""Fit flows on a manifold to rows or to a target density."""

from __future__ import annotations

import abc
from collections.abc import Callable
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from ...density import AbstractDensity, PushForward
from ...manifolds import AbstractManifold
from ...manifolds.base import as_points
from ...training import Block, Checkpoint, Likelihood, ReverseKL, Training, train
from ..base import MOST_HELD_OUT, AbstractSpec, Fitted, hold_out

D = TypeVar("D", bound=AbstractDensity)


class AbstractFlowSpec(AbstractSpec):
    """A description of a flow on a manifold, fitted to rows or to a target's log density."""

    training: Training
    validation: float

    @abc.abstractmethod
    def build(self, where: AbstractManifold, *, key: PRNGKeyArray) -> PushForward:
        """The untrained density."""

    def _fit(
        self,
        where: AbstractManifold,
        rows: Any,
        *,
        key: PRNGKeyArray,
        weights: Any = None,
        validation: Any = None,
        checkpoint: Checkpoint | None = None,
        on_block: Callable[[Block], None] | None = None,
    ) -> Fitted[PushForward]:
        """The density of greatest likelihood on rows, or on draws of a sampler (key, n) -> rows."""
        build_key, train_key = jax.random.split(key)
        fitted = fit_rows(
            self.build(where, key=build_key),
            rows,
            key=train_key,
            training=self.training,
            share=self.validation,
            weights=weights,
            validation=validation,
            checkpoint=checkpoint,
            on_block=on_block,
        )
        return Fitted(fitted.density.accurate(), fitted.record)

    def fit_target(
        self,
        where: AbstractManifold,
        target: AbstractDensity,
        *,
        key: PRNGKeyArray,
        checkpoint: Checkpoint | None = None,
        on_block: Callable[[Block], None] | None = None,
    ) -> Fitted[PushForward]:
        """The density of least KL(q‖p) to a p known up to a constant, without a row of it."""
        build_key, train_key = jax.random.split(key)
        density, record = train(
            self.build(where, key=build_key),
            uniform(where),
            key=train_key,
            training=self.training,
            objective=ReverseKL(target),
            checkpoint=checkpoint,
            on_block=on_block,
        )
        return Fitted(density.accurate(), record)


def uniform(where: AbstractManifold) -> Callable[[PRNGKeyArray, int], Float[Array, "n size"]]:
    """The sampler of the uniform density."""

    def draw(key: PRNGKeyArray, n: int) -> Float[Array, "n size"]:
        return jax.vmap(lambda k: where.sample_uniform(key=k))(jax.random.split(key, n))

    return draw


def fit_rows(
    density: D,
    rows: Any,
    *,
    key: PRNGKeyArray,
    training: Training,
    share: float,
    weights: Any,
    validation: Any,
    checkpoint: Checkpoint | None,
    on_block: Callable[[Block], None] | None,
) -> Fitted[D]:
    """An exact density trained by its likelihood; a `share` of the rows held out, if none are."""
    split_key, train_key = jax.random.split(key)
    where, validation_weights = density.manifold, None
    held_out = None if validation is None else _points(where, validation)
    source: Any = rows
    if not callable(rows):
        source = _points(where, rows)
        if held_out is None and share > 0:
            source, weights, held_out, validation_weights = hold_out(
                source, weights, share, split_key, MOST_HELD_OUT
            )
    return Fitted(
        *train(
            density,
            source,
            key=train_key,
            training=training,
            objective=Likelihood(),
            weights=weights,
            validation=held_out,
            validation_weights=validation_weights,
            checkpoint=checkpoint,
            on_block=on_block,
        )
    )


def _points(where: AbstractManifold, rows: Any) -> Float[Array, "n size"]:
    return jnp.asarray(as_points(where, rows), jnp.float32)
