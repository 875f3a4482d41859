"""Is the fit good? Held-out rows against baselines, and against the model's own samples."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import PRNGKeyArray
from scipy.stats import binom, ks_2samp

from ..contest import INDEPENDENT, UNIFORM, Entry, Split, contest
from ..density import AbstractDensity
from ..evidence import Evidence
from ..marginal import evaluate
from ..metrics import samples
from ..tables import Schema

DRAWS = 2500
THIS, KERNEL = "this model", "kernel"


class Coverage(NamedTuple):
    """For each held-out row, the share of the model's own samples that are more likely.

    Uniform where the model is right. `p_value`: of both sets of log densities being of one
    distribution (Kolmogorov and Smirnov).
    """

    ranks: np.ndarray
    p_value: float

    def inside(self, level: np.ndarray) -> np.ndarray:
        """The share of rows in the region of highest density that holds a share `level`."""
        return (self.ranks[None] <= np.atleast_1d(level)[:, None]).mean(axis=1)

    def band(self, level: np.ndarray, confidence: float = 0.95) -> tuple[np.ndarray, np.ndarray]:
        """Where `inside` is to be expected at one level, were the model right."""
        n = len(self.ranks)
        low, high = binom.interval(confidence, n, level)
        return low / n, high / n


class Assessment(NamedTuple):
    """Held-out log densities in the schema's measure, with errors; None where no row is held out.

    `entries`: this model first, then the baselines.
    """

    points: np.ndarray
    scores: np.ndarray
    errors: np.ndarray
    entries: list[Entry]
    coverage: Coverage


def assess(
    density: AbstractDensity,
    schema: Schema,
    evidence: Evidence,
    *,
    key: PRNGKeyArray,
    show: Callable[[str], None] = lambda text: None,
) -> Assessment | None:
    """The model's held-out scores beside those of a kernel, independent columns and uniform.

    The columns are fitted by local kernels: the best there is of what takes seconds.
    """
    if not len(evidence.test.frame):
        return None
    k1, k2, k3, k4 = jax.random.split(key, 4)
    train, test = (
        schema.prepare(rows.frame, project=True).points for rows in (evidence.train, evidence.test)
    )
    show("held-out rows")
    found = evaluate(density, test, key=k1)
    coverage = covered(density, found.value, k2, k3)
    scores = found.value.astype(float) + schema.measure().log_unit
    others = contest(
        schema,
        Split(train, evidence.train.weights, test),
        [KERNEL, INDEPENDENT, UNIFORM],
        columns="local kernel",
        key=k4,
        show=show,
    )
    return Assessment(test, scores, found.error, [Entry(THIS, scores), *others], coverage)


def covered(density: AbstractDensity, value: np.ndarray, k1, k2) -> Coverage:
    """Log densities of held-out rows among those of the model's samples; ties are broken by lot."""
    own = np.sort(evaluate(density, samples(density, DRAWS, key=k1), key=k2).value)
    less, up_to = (np.searchsorted(own, value, side=side) for side in ("left", "right"))
    lots = np.random.default_rng(0).uniform(size=len(value))
    ranks = 1 - (less + lots * (up_to - less)) / DRAWS
    test: Any = ks_2samp(own, value)
    return Coverage(ranks, float(test.pvalue))
