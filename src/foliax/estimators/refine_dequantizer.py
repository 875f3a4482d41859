"""Train q(z | y) on samples of the density itself."""

from __future__ import annotations

import equinox as eqx
import jax
import paramax
from jaxtyping import Array, Float, PRNGKeyArray

from ..density import DequantizedDensity
from ..training import OwnSamples, Training, train
from ..training.history import INTERRUPTED
from .base import MOST_HELD_OUT

OWN_SAMPLES = 2**16
"""Samples of its own that a density settles by."""


def settled(
    density: DequantizedDensity, *, key: PRNGKeyArray, training: Training | None = None
) -> DequantizedDensity:
    """The same density with a q(z | y) that has learnt from the density's own samples.

    Rows show q(z | y) only where rows are, and the ELBO makes it narrower than p(z | y) even there.
    Where a flow has mass besides, estimates of log p(y) can then be too low by more than their
    errors say. p(y) itself does not depend on q(z | y) and stays what it is. As it is where z has
    less than two dimensions, which need no sampling.
    """
    if density.dequantization.auxiliary.size < 2:
        return density
    sample_key, train_key = jax.random.split(key)
    x = _ambient_draws(density, jax.random.split(sample_key, OWN_SAMPLES))
    training = training or Training(steps=1000, batch=256, rate=3e-3, ema=0.99)
    by = {"training": training, "objective": OwnSamples(), "validation": x[:MOST_HELD_OUT]}
    after, record = train(density, x[MOST_HELD_OUT:], key=train_key, **by)
    if record.stopped == INTERRUPTED:
        raise KeyboardInterrupt
    return after


@eqx.filter_jit
def _ambient_draws(density: DequantizedDensity, keys: Array) -> Float[Array, "n m"]:
    ambient = paramax.unwrap(density.ambient)
    return jax.lax.map(lambda key: ambient.sample(key=key), keys, batch_size=1024)
