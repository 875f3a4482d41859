"""How good the fit is: held-out rows against baselines and against the model's samples."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import jax
import numpy as np
from jaxtyping import PRNGKeyArray
from scipy.stats import betabinom, kstwobign

from ..density import AbstractDensity, Dataset, evaluate
from ..evaluation.comparison import INDEPENDENT, UNIFORM, Entry, Settings, compare_estimators
from ..io.training_data import TrainingData
from ..manifolds.row_errors import name_as, name_rows
from ..tables import Schema

COVERAGE_SAMPLES = 2500
"""Samples of the model that held-out rows are compared with; they take seconds."""
FIGURE_SAMPLES = 6000
"""Samples for the figures: enough for smooth histograms, and a flow takes seconds for them."""
MIN_P_VALUE = 0.01
"""Coverage with a lower p-value counts as a misfit: 1 report in 100 is a false alarm."""
THIS_MODEL, KERNEL = "this model", "kernel"
"""Names in the table of models."""


class Coverage(NamedTuple):
    """Ranks of held-out rows among the model's samples, by density.

    If the model is right, ranks are uniform on [0, 1].

    Attributes:
        ranks: for each row, the share of samples with a higher density.
        weights: weights of the rows.
        p_value: of the Kolmogorov–Smirnov test that the ranks are uniform.
        blocks: the number of each row's block, or None for independent rows.
    """

    ranks: np.ndarray
    weights: np.ndarray
    p_value: float
    blocks: np.ndarray | None = None

    @property
    def is_consistent(self) -> bool:
        """Whether the test finds no misfit."""
        return self.p_value >= MIN_P_VALUE

    @property
    def effective_rows(self) -> float:
        """Kish's effective sample size (Σw)² / Σw², of blocks if there are any."""
        weights = self.weights
        if self.blocks is not None:
            weights = np.bincount(np.unique(self.blocks, return_inverse=True)[1], weights)
        return float(weights.sum() ** 2 / (weights**2).sum())

    def inside(self, level: np.ndarray) -> np.ndarray:
        """The share of rows inside the highest-density regions of mass `level`."""
        is_inside = self.ranks[None] <= np.atleast_1d(level)[:, None]
        return is_inside @ self.weights / self.weights.sum()

    def band(self, level: np.ndarray, confidence: float = 0.95) -> tuple[np.ndarray, np.ndarray]:
        """Interval that holds `inside` at one level with this probability, if the model is right.

        The regions come from samples, so their mass has a beta distribution and the number of rows
        inside a beta-binomial one.

        Args:
            level: masses of highest-density regions.
            confidence: probability of the interval.

        Returns:
            Lower and upper ends, as shares of the rows.
        """
        n, below = round(self.effective_rows), level * (COVERAGE_SAMPLES + 1)
        low, high = betabinom.interval(confidence, n, below, COVERAGE_SAMPLES + 1 - below)
        return low / n, high / n


class Assessment(NamedTuple):
    """How a model scores on held-out rows.

    Attributes:
        scores: log densities of the rows in the schema's measure.
        errors: numerical standard errors of the scores.
        entries: this model first, then the baselines.
        coverage: ranks of the rows among the model's samples.
        samples: samples of the model, for the figures; coverage uses the first of them.
    """

    scores: np.ndarray
    errors: np.ndarray
    entries: list[Entry]
    coverage: Coverage
    samples: np.ndarray


def assess(
    density: AbstractDensity,
    schema: Schema,
    evidence: TrainingData,
    *,
    key: PRNGKeyArray,
    show: Callable[[str], None] = lambda text: None,
) -> Assessment | None:
    """Score a model on held-out rows, beside a kernel, independent columns and uniform.

    Local kernels fit the independent columns: the best estimator that takes seconds.

    Args:
        density: the model.
        schema: the schema of its table.
        evidence: the rows that were fitted and held out.
        key: key of samples, and of log densities that are estimated by sampling.
        show: called with the name of each step, for a progress display.

    Returns:
        The assessment; None if no rows are held out.
    """
    if not len(evidence.test.frame):
        return None
    k1, k2, k3, k4 = jax.random.split(key, 4)
    train, test = (rows.points(schema) for rows in (evidence.train, evidence.test))
    show("held-out rows")
    names = name_as("Fitted row", len(train)), name_as("Held-out row", len(test))
    with name_rows(names[1]):
        found = evaluate(density, test, key=k1)
    weights, blocks = evidence.test.weights, evidence.test.blocks
    show("samples")
    samples = density.sample(FIGURE_SAMPLES, key=k2)
    shared = {"samples": samples, "blocks": blocks}
    coverage = measure_coverage(density, found.value, weights, k2, k3, **shared)
    scores = found.value.astype(float) + schema.measure().log_unit
    manifold = schema.manifold()
    others = compare_estimators(
        schema,
        Dataset(train, manifold, evidence.train.weights, row_names=names[0]).replace(
            blocks=evidence.train.blocks
        ),
        Dataset(test, manifold, weights, row_names=names[1]).replace(blocks=blocks),
        [KERNEL, INDEPENDENT, UNIFORM],
        Settings(columns="local kernel"),
        key=k4,
        show=show,
    )
    this = Entry(THIS_MODEL, scores, weights, blocks=blocks)
    return Assessment(scores, found.error, [this, *others], coverage, samples)


def measure_coverage(
    density: AbstractDensity,
    value: np.ndarray,
    weights: np.ndarray | None,
    k1,
    k2,
    *,
    samples: np.ndarray | None = None,
    blocks: np.ndarray | None = None,
) -> Coverage:
    """Rank the log densities of held-out rows among those of samples; ties break at random.

    The samples are the first ones of `samples`, or drawn by `k1`.
    """
    drawn = density.sample(COVERAGE_SAMPLES, key=k1) if samples is None else samples
    with name_rows(name_as("Sample", COVERAGE_SAMPLES)):
        own = np.sort(evaluate(density, drawn[:COVERAGE_SAMPLES], key=k2).value)
    less, up_to = (np.searchsorted(own, value, side=side) for side in ("left", "right"))
    ties = np.random.default_rng(0).uniform(size=len(value))
    ranks = 1 - (less + ties * (up_to - less)) / COVERAGE_SAMPLES
    found = Coverage(ranks, np.ones(len(value)) if weights is None else weights, 1.0, blocks)
    order = np.sort(ranks)
    above = found.inside(order)
    gap = max(np.abs(above - order).max(), np.abs(np.append(0, above[:-1]) - order).max())
    rows = found.effective_rows
    count = rows * COVERAGE_SAMPLES / (rows + COVERAGE_SAMPLES)
    return found._replace(p_value=float(kstwobign.sf(gap * np.sqrt(count))))
