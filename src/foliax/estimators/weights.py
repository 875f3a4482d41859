"""Weights of a mixture of given densities, fitted by EM."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from ..manifolds.row_errors import RowError, RowNames, name_rows


def mixture_weights(
    scores: Float[np.ndarray, "n k"],
    weights: Float[np.ndarray, " n"],
    *,
    prior: float = 0.0,
    steps: int = 400,
    names: RowNames | None = None,
) -> tuple[Float[np.ndarray, " k"], float]:
    """Find the weights π of k densities that maximise the likelihood of n weighted rows.

    Args:
        scores: The log density of each row under each component.
        weights: A non-negative weight for each row.
        prior: The strength of a Dirichlet prior towards equal weights, in rows. By default there is
            no prior.
        steps: The largest number of EM steps. It usually converges in fewer than the default.
        names: Names of the rows in errors; by default their positions.

    Returns:
        The weights π, and the mean log density of the rows under the mixture.

    Raises:
        RowError: A row has density 0 under every component, or a density that is not a number.
    """
    top = scores.max(1, keepdims=True)
    with name_rows(names):
        _check_finite(top[:, 0])
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


def _check_finite(log_density: Float[np.ndarray, " n"]) -> None:
    """Raise `RowError` for a row whose largest log density is not finite."""
    if np.isfinite(log_density).all():
        return
    bad = int(np.argmin(np.isfinite(log_density)))
    if log_density[bad] != -np.inf:
        raise RowError(
            bad,
            f"has a log density of {log_density[bad]}: single precision cannot hold the terms of "
            "its sum. Rescale its columns or its weight.",
        )
    raise RowError(
        bad,
        "has density 0 under every component: it is too far from all other rows. Remove it, or "
        "rescale its columns.",
    )
