"""The settings of a training."""

from __future__ import annotations

import dataclasses

import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from ..registry import storable


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
