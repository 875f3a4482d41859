"""Fit flows on a manifold to rows or to a target density."""

from __future__ import annotations

import abc
from collections.abc import Sequence
from typing import TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from ...density import AbstractDensity, Dataset, PushForward, Sampler
from ...manifolds import AbstractManifold
from ...training import Callback, Likelihood, ReverseKL, Training, train
from ..base import MAX_HELD_OUT_ROWS, AbstractEstimator, FitResult, UnsupportedManifoldError

D = TypeVar("D", bound=AbstractDensity)


class AbstractManifoldFlow(AbstractEstimator):
    """A flow on a manifold, fitted to rows or to a target's log density."""

    training: Training
    validation_fraction: float

    @abc.abstractmethod
    def build(self, manifold: AbstractManifold, *, key: PRNGKeyArray) -> PushForward:
        """The untrained density."""

    def serves(self, manifold: AbstractManifold) -> bool:
        try:
            eqx.filter_eval_shape(lambda key: self.build(manifold, key=key), jax.random.key(0))
        except UnsupportedManifoldError:
            return False
        return True

    def _fit(
        self,
        data: Dataset,
        *,
        key: PRNGKeyArray,
        validation: Dataset | None = None,
        callbacks: Sequence[Callback] = (),
    ) -> FitResult[PushForward]:
        build_key, train_key = jax.random.split(key)
        found = fit_by_likelihood(
            self.build(data.manifold, key=build_key),
            data,
            key=train_key,
            training=self.training,
            validation_fraction=self.validation_fraction,
            validation=validation,
            callbacks=callbacks,
        )
        return FitResult(found.density.accurate(), found.record)

    def fit_target(
        self,
        manifold: AbstractManifold,
        target: AbstractDensity,
        *,
        key: PRNGKeyArray,
        callbacks: Sequence[Callback] = (),
    ) -> FitResult[PushForward]:
        """Minimise KL(q‖p) to a target known up to a constant, without any row of it.

        Args:
            manifold: Where the density lives; it needs a finite volume.
            target: The density p; only its `log_prob` is used.
            key: Chooses parameters and noise.
            callbacks: Told of the progress.
        """
        build_key, train_key = jax.random.split(key)
        density, record = train(
            self.build(manifold, key=build_key),
            Dataset(uniform_sampler(manifold), manifold),
            key=train_key,
            training=self.training,
            objective=ReverseKL(target),
            callbacks=callbacks,
        )
        return FitResult(density.accurate(), record)


def uniform_sampler(manifold: AbstractManifold) -> Sampler:
    """The sampler of the uniform density."""

    def sample(key: PRNGKeyArray, n: int) -> Float[Array, "n size"]:
        return jax.vmap(lambda k: manifold.sample_uniform(key=k))(jax.random.split(key, n))

    return sample


def fit_by_likelihood(
    density: D,
    data: Dataset,
    *,
    key: PRNGKeyArray,
    training: Training,
    validation_fraction: float,
    validation: Dataset | None,
    callbacks: Sequence[Callback],
) -> FitResult[D]:
    """Train an exact density by its likelihood, holding out a fraction of the rows if none are."""
    split_key, train_key = jax.random.split(key)
    if not data.is_sampler:
        if validation is None and validation_fraction > 0:
            data, validation = data.split(
                validation_fraction, key=split_key, max_held_out=MAX_HELD_OUT_ROWS
            )
        data = in_single_precision(data)
    if validation is not None:
        validation = in_single_precision(validation)
    trained = train(
        density,
        data,
        key=train_key,
        training=training,
        objective=Likelihood(),
        validation=validation,
        callbacks=callbacks,
    )
    return FitResult(*trained)


def in_single_precision(data: Dataset) -> Dataset:
    """The same data with rows in float32, on the device."""
    return data.replace(rows=jnp.asarray(data.rows, jnp.float32))
