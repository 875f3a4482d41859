"""The settings of a training."""

from __future__ import annotations

import dataclasses

import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from ..registry import storable


@storable(
    "fit.Training",
    renamed_fields={
        "batch": "batch_size",
        "rate": "learning_rate",
        "block": "eval_every",
        "cut": "lr_backoff",
        "seconds": "time_limit",
    },
)
@dataclasses.dataclass(frozen=True)
class Training:
    """The numbers of a training, which JSON can hold.

    Adam with global-norm clipping, a linear warm-up, and a cosine decay or a constant learning
    rate. An exponential moving average of the parameters is validated and returned.

    Args:
        steps: Optimiser steps.
        batch_size: Rows of a step.
        learning_rate: The largest learning rate.
        schedule: "cosine" or "constant".
        warmup: Steps over which the learning rate rises from 0.
        clip: The largest global norm of a gradient.
        ema: Decay of the moving average of the parameters.
        eval_every: Steps of a block. After each block the parameters are validated, and checked for
            divergence.
        patience: Blocks without improvement before training stops; 0 never stops it.
        validation_samples: z for each held-out row, with fixed noise.
        retries: How often a diverged block may be repeated.
        lr_backoff: Factor of the learning rate for each repetition.
        time_limit: Seconds after which no further block starts; 0 means no limit.
    """

    steps: int = 5000
    batch_size: int = 128
    learning_rate: float = 2e-3
    schedule: str = "cosine"
    warmup: int = 100
    clip: float = 1.0
    ema: float = 0.999
    eval_every: int = 250
    patience: int = 0
    validation_samples: int = 16
    retries: int = 4
    lr_backoff: float = 0.3
    time_limit: float = 0.0

    def __post_init__(self):
        for name in ("steps", "batch_size", "eval_every", "validation_samples"):
            if getattr(self, name) < 1:
                raise ValueError(f"Training needs {name} >= 1, got {getattr(self, name)}.")
        for name in ("learning_rate", "clip"):
            if not getattr(self, name) > 0:
                raise ValueError(f"Training needs {name} > 0, got {getattr(self, name)}.")
        if self.schedule not in ("cosine", "constant"):
            raise ValueError(f"schedule is 'cosine' or 'constant', not '{self.schedule}'.")
        if not (0 <= self.ema < 1 and 0 < self.lr_backoff < 1 and self.retries >= 0):
            raise ValueError("Training needs 0 <= ema < 1, 0 < lr_backoff < 1 and retries >= 0.")

    def rate_at(self, step: Int[Array, ""]) -> Float[Array, ""]:
        """The learning rate at a step, before any back-off."""
        rate = self.learning_rate * jnp.minimum(1.0, (step + 1) / max(self.warmup, 1))
        if self.schedule == "constant":
            return rate
        progress = jnp.clip(step / self.steps, 0.0, 1.0)
        return rate * (1e-3 + (1 - 1e-3) * 0.5 * (1 + jnp.cos(jnp.pi * progress)))
