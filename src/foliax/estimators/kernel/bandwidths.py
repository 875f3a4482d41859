"""Find bandwidths by leave-one-out likelihood."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, PRNGKeyArray

from ..weights import mixture_weights
from .components import ScaleKernels
from .data import Data
from .mixing import with_background
from .pruning import components_of_parts
from .space import Space

TURNS = ((600, 600, 2.0), (8000, 1000, 2**0.5))
"""How ratios of bandwidths are found: of so many kernels, by so many rows, in steps of a factor."""
ASKED = 1000
"""Rows that tell which concentrations are of use."""
SLIGHT = 1e-4
"""A weight of no use."""
FAR = 16.001
"""How far a ratio may be from one over its deviation; sixteen, in spite of rounding."""


def leave_one_out(kernels: ScaleKernels, data: Data) -> Float[np.ndarray, "n k"]:
    """Log densities of the rows under each component without the rows themselves."""
    if data.together:
        gone = np.asarray(jnp.exp(kernels.log_rows), float)
        order = len(gone) // max(1, len(np.unique(np.asarray(kernels.groups))))
        share = dict(zip(np.asarray(kernels.groups)[::order], gone[::order], strict=True))
        lost = np.array([share.get(g, 0.0) for g in data.groups])
        values = components_of_parts([kernels], data.rows, data.groups)
        return values - np.log1p(-lost)[:, None]
    return _without_one_copy(kernels, data)


def _without_one_copy(kernels: ScaleKernels, data: Data) -> np.ndarray:
    """Bounded likelihoods: of each row one unit of weight leaves, copies stay."""
    everything = components_of_parts([kernels], data.rows)
    others = components_of_parts([kernels], data.rows, data.groups)
    unit = data.weights.sum() / max(len(data.rows), data.weights.sum())
    left = np.maximum(data.weights - unit, 0)[:, None] / data.weights[:, None]
    with np.errstate(divide="ignore"):
        # A row without copies leaves whole: log 0 is meant.
        kept = np.logaddexp(np.log1p(-left) + others, np.log(left) + everything)
    return kept - np.log1p(-unit / data.weights.sum())


def find_relative(
    space: Space, data: Data, kappas: np.ndarray, key: PRNGKeyArray
) -> Float[np.ndarray, " s"]:
    """The bandwidths' ratios: one over the deviation of each, then changed by turns.

    First doubled and halved on few rows, then by smaller steps on more. By a factor of 16 at most:
    ties within a column would reward ever sharper kernels there.
    """
    owners = space.owners()
    embedded = np.asarray(jax.vmap(space.embed)(jnp.asarray(data.rows)), float)
    variance = np.bincount(owners, embedded.var(0))
    start = np.where(variance > 0, 1 / np.sqrt(np.maximum(variance, 1e-300)), 1.0)
    if space.bandwidths == 1:
        # One bandwidth is as good as another where the κ cover them all.
        return np.ones(1) if np.isfinite(space.manifold.log_total_volume()) else start
    order = np.asarray(jax.random.permutation(key, len(data.rows)))
    relative = start
    for centres, asked, step in TURNS:
        some, few = (data.take(np.sort(order[:count])) for count in (centres, asked))

        def score(relative, some=some, few=few):
            # Every other scale, few rows and few steps: enough to tell ratios apart. Where copies
            # stay, the scores lack a constant, since the total is not that of the few.
            kernels = ScaleKernels(space, *some[:3], kappas[::2], relative)
            return mixture_weights(leave_one_out(kernels, few), few.weights, steps=50)[1]

        relative = climbed(score, relative, start, step)
    return relative


def useful(
    space: Space, data: Data, relative: np.ndarray, kappas: np.ndarray, key: PRNGKeyArray
) -> np.ndarray:
    """The concentrations to which some of the rows give any weight, and those next to them.

    All of them where kernels are cheap: of few rows, or of one bandwidth.
    """
    if len(data.rows) <= 4 * ASKED or space.bandwidths == 1:
        return kappas
    few = data.take(np.sort(np.asarray(jax.random.permutation(key, len(data.rows)))[:ASKED]))
    kernels = ScaleKernels(space, *data[:3], kappas, relative)
    _, scores = with_background(space.manifold, [kernels], leave_one_out(kernels, few))
    weighty = mixture_weights(scores, few.weights)[0][: len(kappas)] > SLIGHT
    return kappas[np.convolve(weighty, np.ones(3), "same") > 0]


def climbed(
    score: Callable[[np.ndarray], float], relative: np.ndarray, start: np.ndarray, step: float
) -> np.ndarray:
    """Ratios of a larger score, of which one at a time is changed by the factor `step`."""
    best = score(relative)
    for _ in range(3):
        before = best
        for s in range(len(relative)):
            for factor in (step, 1 / step):
                while 1 / FAR <= relative[s] * factor / start[s] <= FAR:
                    tried = relative.copy()
                    tried[s] *= factor
                    found = score(tried)
                    if found <= best + 1e-4:
                        break
                    relative, best = tried, found
        if best - before < 1e-3:
            break
    return relative
