"""Weights of a mixture of given densities, by EM."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float


def mixture_weights(
    scores: Float[np.ndarray, "n k"],
    weights: Float[np.ndarray, " n"],
    *,
    prior: float = 0.0,
    steps: int = 400,
) -> tuple[Float[np.ndarray, " k"], float]:
    """(π, mean score): the mixture of k densities of the greatest likelihood of n weighted rows.

    `scores`: log densities. `prior`: rows' worth of equal weights, a Dirichlet prior.
    """
    top = scores.max(1, keepdims=True)
    if not np.isfinite(top).all():
        bad = int(np.argmin(np.isfinite(top[:, 0])))
        raise FloatingPointError(
            f"Row {bad} has density 0 under every component: it is too far from all others. "
            "Remove it, or rescale its columns."
        )
    ratios = np.exp(scores - top)
    share = weights / weights.sum()
    k = scores.shape[1]
    pull = prior / (prior + len(scores))
    pi = np.full(k, 1 / k)
    value = -np.inf
    for _ in range(steps):
        total = ratios @ pi
        fit = float(share @ (np.log(total) + top[:, 0]))
        goal = (1 - pull) * fit + pull * float(np.log(np.maximum(pi, 1e-300)).mean())
        if goal - value < 1e-9:
            break
        value = goal
        pi = (1 - pull) * pi * (ratios.T @ (share / total)) + pull / k
        pi = pi / pi.sum()
    return pi, float(share @ (np.log(ratios @ pi) + top[:, 0]))
