"""Train q(z | y) on samples of the density itself."""

from __future__ import annotations

import equinox as eqx
import jax
import paramax
from jaxtyping import Array, Float, PRNGKeyArray

from ..density import Dataset, DequantizedDensity
from ..manifolds import Euclidean
from ..training import OwnSamples, Training, train
from ..training.history import INTERRUPTED
from .base import MAX_HELD_OUT_ROWS

OWN_SAMPLES = 2**16
"""Samples of the density that q(z | y) learns from."""


def refine_dequantizer(
    density: DequantizedDensity, *, key: PRNGKeyArray, training: Training | None = None
) -> DequantizedDensity:
    """Train q(z | y) on the density's own samples; p(y) stays the same to the bit.

    Rows show q(z | y) only where rows are, and the ELBO makes it narrower than p(z | y) even there.
    Where a flow puts mass elsewhere, estimates of log p(y) can be too low by more than their errors
    say. This is the sleep phase of Hinton et al. 1995.

    Args:
        density: A trained density; returned unchanged where z has fewer than two dimensions, which
            need no sampling.
        key: Chooses samples and batches.
        training: Numbers of the training; by default 1,000 short steps.

    Returns:
        The same density with another q(z | y).

    Raises:
        KeyboardInterrupt: The user ended the training.
    """
    if density.dequantization.auxiliary.size < 2:
        return density
    sample_key, train_key = jax.random.split(key)
    x = _sample_ambient(density, jax.random.split(sample_key, OWN_SAMPLES))
    space = Euclidean(x.shape[1])
    trained, record = train(
        density,
        Dataset(x[MAX_HELD_OUT_ROWS:], space),
        key=train_key,
        training=training or Training(steps=1000, batch_size=256, learning_rate=3e-3, ema=0.99),
        objective=OwnSamples(),
        validation=Dataset(x[:MAX_HELD_OUT_ROWS], space),
    )
    if record.stopped == INTERRUPTED:
        raise KeyboardInterrupt
    return trained


@eqx.filter_jit
def _sample_ambient(density: DequantizedDensity, keys: Array) -> Float[Array, "n m"]:
    ambient = paramax.unwrap(density.ambient)
    return jax.lax.map(lambda key: ambient.sample(key=key), keys, batch_size=1024)
