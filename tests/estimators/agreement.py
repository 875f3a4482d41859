"""What every density must pass: its samples are those of its log densities."""

import jax
import numpy as np

from foliax.evaluation import log_prob_once, mean_and_error


def reciprocal(density, known, n, *, seed=0):
    """E_q[g/q] over q's samples, 1 where q's log densities are those of its samples.

    g = `known`, a normalised density that is nowhere large where q is small.
    """
    rows = density.sample(n, key=jax.random.key(seed))
    log_q, _ = log_prob_once(density, rows, key=jax.random.key(seed + 1))
    log_g, _ = log_prob_once(known, rows, key=jax.random.key(seed + 2))
    return mean_and_error(np.exp(log_g - log_q))


def agrees(density, known, n=4000, *, seed=0, error=0.02):
    """Within four standard errors of 1, when these are small enough to see a wrong normaliser."""
    found = reciprocal(density, known, n, seed=seed)
    assert found.error < error, found
    assert abs(found.value - 1) < 4 * found.error, found
