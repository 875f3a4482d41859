"""Is the fit good? Held-out rows against baselines, and against the model's own samples."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import jax
import numpy as np
from jaxtyping import PRNGKeyArray
from scipy.stats import betabinom, kstwobign

from ..density import AbstractDensity, Dataset, evaluate
from ..evaluation.comparison import INDEPENDENT, UNIFORM, Entry, compare_estimators
from ..io.training_data import TrainingData
from ..tables import Schema

DRAWS = 2500
DOUBTFUL = 0.01
"""The p-value below which the coverage is called off."""
THIS, KERNEL = "this model", "kernel"


class Coverage(NamedTuple):
    """For each held-out row, the share of the model's own samples that are more likely.

    Uniform where the model is right. `p_value`: of that, by Kolmogorov and Smirnov's test.
    """

    ranks: np.ndarray
    weights: np.ndarray
    p_value: float

    @property
    def right(self) -> bool:
        """Whether the test sees no misfit."""
        return self.p_value >= DOUBTFUL

    @property
    def worth(self) -> float:
        """Kish's number of rows: how many equal ones the weighted ones are worth."""
        return float(self.weights.sum() ** 2 / (self.weights**2).sum())

    def inside(self, level: np.ndarray) -> np.ndarray:
        """The share of rows in the region of highest density that holds a share `level`."""
        within = self.ranks[None] <= np.atleast_1d(level)[:, None]
        return within @ self.weights / self.weights.sum()

    def band(self, level: np.ndarray, confidence: float = 0.95) -> tuple[np.ndarray, np.ndarray]:
        """Where `inside` is to be expected at one level, were the model right.

        The region's edge is that of `DRAWS` samples, so a share of it is beta distributed.
        """
        n, below = round(self.worth), level * (DRAWS + 1)
        low, high = betabinom.interval(confidence, n, below, DRAWS + 1 - below)
        return low / n, high / n


class Assessment(NamedTuple):
    """Held-out log densities in the schema's measure, with errors; None where no row is held out.

    `entries`: this model first, then the baselines.
    """

    scores: np.ndarray
    errors: np.ndarray
    entries: list[Entry]
    coverage: Coverage


def assess(
    density: AbstractDensity,
    schema: Schema,
    evidence: TrainingData,
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
    train, test = (rows.points(schema) for rows in (evidence.train, evidence.test))
    show("held-out rows")
    found = evaluate(density, test, key=k1)
    weights = evidence.test.weights
    coverage = covered(density, found.value, weights, k2, k3)
    scores = found.value.astype(float) + schema.measure().log_unit
    manifold = schema.manifold()
    others = compare_estimators(
        schema,
        Dataset(train, manifold, evidence.train.weights),
        Dataset(test, manifold, weights),
        [KERNEL, INDEPENDENT, UNIFORM],
        columns="local kernel",
        key=k4,
        show=show,
    )
    return Assessment(scores, found.error, [Entry(THIS, scores, weights), *others], coverage)


def covered(
    density: AbstractDensity, value: np.ndarray, weights: np.ndarray | None, k1, k2
) -> Coverage:
    """Log densities of held-out rows among those of the model's samples; ties are broken by lot."""
    own = np.sort(evaluate(density, density.sample(DRAWS, key=k1), key=k2).value)
    less, up_to = (np.searchsorted(own, value, side=side) for side in ("left", "right"))
    lots = np.random.default_rng(0).uniform(size=len(value))
    ranks = 1 - (less + lots * (up_to - less)) / DRAWS
    found = Coverage(ranks, np.ones(len(value)) if weights is None else weights, 1.0)
    order = np.sort(ranks)
    above = found.inside(order)
    gap = max(np.abs(above - order).max(), np.abs(np.append(0, above[:-1]) - order).max())
    count = found.worth * DRAWS / (found.worth + DRAWS)
    return found._replace(p_value=float(kstwobign.sf(gap * np.sqrt(count))))
