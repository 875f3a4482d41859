"""Expectation maximisation (EM) for a mixture with a uniform component."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from .base import AbstractFamily, Parameters, Rows, log_sum

BATCH_ROWS = 8192
"""Rows that are evaluated at once, so that their arrays fit a processor's cache."""
MAX_SEEDING_ROWS = 20_000
"""Rows of the subsample from which components are initialised; k-means needs no more."""
UNIFORM_START = 1e-2
"""The first weight of the uniform component, so that EM can raise it."""


class PreparedRows(NamedTuple):
    """Rows in the family's form, their features, and weights whose sum is a number of rows."""

    rows: Rows
    features: Float[np.ndarray, "n f"]
    weights: Float[np.ndarray, " n"]


class Mixture(NamedTuple):
    """k components, and k + 1 weights; the last weight is that of the uniform density."""

    parameters: Parameters
    weights: Float[np.ndarray, " k1"]

    def select(self, mask: np.ndarray) -> Mixture:
        """Keep some of the components, and normalise the weights."""
        parameters = type(self.parameters)(*(field[mask] for field in self.parameters))
        weights = np.append(self.weights[:-1][mask], self.weights[-1])
        return Mixture(parameters, weights / weights.sum())


class EMResult(NamedTuple):
    """The mixture that EM found, and the mean log-likelihood before every step."""

    mixture: Mixture
    values: list[float]


class EM(NamedTuple):
    """EM for a family on a manifold of finite volume.

    A component with less than a millionth of a row is dropped. The uniform component has a weight
    of at least 1/(n + 1) for n rows, so that every log density is finite. Maximising under these
    bounds is exact, so the likelihood never decreases.

    Args:
        family: The components' family.
        log_volume: The log volume of the manifold.
        steps: The largest number of steps.
        tolerance: The gain in nats per row below which EM stops.
    """

    family: AbstractFamily
    log_volume: float
    steps: int
    tolerance: float

    def log_joint(self, mixture: Mixture, rows: Rows) -> np.ndarray:
        """Compute log w_i f_i of every row and component, the uniform component last."""
        each = self.family.log_densities(mixture.parameters, rows)
        uniform = np.full((len(rows), 1), -self.log_volume)
        return np.concatenate([each, uniform], axis=1) + np.log(mixture.weights)

    def mean_log_prob(self, mixture: Mixture, rows: Rows, weights: np.ndarray) -> float:
        """Compute the weighted mean log density of rows."""
        chunks = range(0, len(rows), BATCH_ROWS)
        each = [log_sum(self.log_joint(mixture, rows[i : i + BATCH_ROWS])) for i in chunks]
        return float(np.average(np.concatenate(each), weights=weights))

    def expect(self, mixture: Mixture, data: PreparedRows) -> tuple[float, np.ndarray, tuple]:
        """Compute the mean log-likelihood, and each component's count of rows and statistics."""
        value, counts, statistics = 0.0, 0.0, None
        for start in range(0, len(data.rows), BATCH_ROWS):
            rows, weights = (part[start : start + BATCH_ROWS] for part in (data.rows, data.weights))
            shares = self.log_joint(mixture, rows)
            total = log_sum(shares)
            shares = np.exp(shares - total[:, None]) * weights[:, None]
            value, counts = value + weights @ total, counts + shares.sum(0)
            part = self.family.statistics(mixture.parameters, rows, shares[:, :-1])
            statistics = part if statistics is None else _add(statistics, part)
        assert statistics is not None, "EM needs rows."
        return float(value / data.weights.sum()), np.asarray(counts), statistics

    def maximise(self, mixture: Mixture, counts: np.ndarray, statistics: tuple) -> Mixture:
        """Maximise the expected log-likelihood, given counts and statistics: the M step."""
        alive = counts[:-1] > min(1e-6, counts[:-1].max() / 2)
        parameters = mixture.select(alive).parameters
        statistics = tuple(part[alive] for part in statistics)
        counts = np.append(counts[:-1][alive], counts[-1])
        least = 1 / (counts.sum() + 1)
        uniform = max(counts[-1] / counts.sum(), least)
        others = counts[:-1] / counts[:-1].sum() * (1 - uniform)
        return Mixture(self.family.maximise(parameters, statistics), np.append(others, uniform))

    def run(self, mixture: Mixture, data: PreparedRows) -> EMResult:
        """Run EM from a mixture until a step gains less than the tolerance.

        Args:
            mixture: Where to begin.
            data: The rows.

        Returns:
            The last mixture, and the mean log-likelihood before every step.
        """
        values: list[float] = []
        for _ in range(self.steps):
            value, counts, statistics = self.expect(mixture, data)
            values.append(value)
            if len(values) > 1 and value - values[-2] < self.tolerance:
                break
            mixture = self.maximise(mixture, counts, statistics)
        return EMResult(mixture, values)

    def initialize(self, data: PreparedRows, k: int, random: np.random.Generator) -> Mixture:
        """Initialise at most k components around seeds, as wide as the rows around their seeds."""
        some = random.permutation(len(data.rows))[:MAX_SEEDING_ROWS]
        rows, features, weights = (part[some] for part in data)
        squared = _squared_distances(features, choose_seeds(features, weights, k, random))
        nearest = squared.min(1)
        width = np.average(nearest, weights=weights) + 1e-12
        shares = np.exp(-(squared - nearest[:, None]) / width)
        shares *= (weights / shares.sum(1))[:, None]
        counts = np.append(shares.sum(0), UNIFORM_START * weights.sum())
        return Mixture(self.family.initialize(rows, shares), counts / counts.sum())


def choose_seeds(
    features: np.ndarray, weights: np.ndarray, k: int, random: np.random.Generator
) -> np.ndarray:
    """Choose at most k centres by k-means++ and five steps of k-means.

    Arthur & Vassilvitskii 2007.

    Args:
        features: The rows' features.
        weights: A weight for each row.
        k: The largest number of centres; fewer are chosen if fewer rows are distinct.
        random: Chooses the centres.

    Returns:
        The centres, in features.
    """
    centres = features[random.choice(len(features), 1, p=weights / weights.sum())]
    nearest = _squared_distances(features, centres)[:, 0]
    while len(centres) < k and (mass := nearest * weights).max() > 1e-12:
        chosen = features[random.choice(len(features), 1, p=mass / mass.sum())]
        centres = np.concatenate([centres, chosen])
        nearest = np.minimum(nearest, _squared_distances(features, chosen)[:, 0])
    for _ in range(5):
        hard = (
            np.eye(len(centres))[_squared_distances(features, centres).argmin(1)] * weights[:, None]
        )
        centres = hard.T @ features / np.maximum(hard.sum(0), 1e-12)[:, None]
    return centres


def _squared_distances(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Compute squared distances between rows of a and rows of b."""
    return np.maximum((a**2).sum(1)[:, None] - 2 * a @ b.T + (b**2).sum(1), 0)


def _add(left: tuple, right: tuple) -> tuple:
    return tuple(a + b for a, b in zip(left, right, strict=True))
