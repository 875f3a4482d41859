"""Expectation maximisation of a mixture with a uniform component."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from .base import AbstractFamily, Parameters, Rows, log_sum

CHUNK = 8192
SEEDING = 20_000
"""Rows at once; rows that initial components are made of."""


class Data(NamedTuple):
    """Rows as the family wants them, their features, and weights that add up to a row count."""

    rows: Rows
    features: Float[np.ndarray, "n f"]
    weights: Float[np.ndarray, " n"]


class Mixture(NamedTuple):
    """k components, and k + 1 weights, the last one the uniform density's."""

    parameters: Parameters
    weights: Float[np.ndarray, " k1"]

    def kept(self, which: np.ndarray) -> Mixture:
        """Those components only."""
        parameters = type(self.parameters)(*(field[which] for field in self.parameters))
        weights = np.append(self.weights[:-1][which], self.weights[-1])
        return Mixture(parameters, weights / weights.sum())


class Climb(NamedTuple):
    """Where EM arrived, and the mean log-likelihood before every step."""

    mixture: Mixture
    values: list[float]


class EM(NamedTuple):
    """EM for a family on a manifold of known volume.

    Components hold at least a millionth of a row, else they are dropped; the uniform one has a
    weight of at least 1/(n + 1), n the number of rows, so that every log density is finite.
    Maximising under these bounds is exact, so that the likelihood never falls.
    """

    family: AbstractFamily
    log_volume: float
    steps: int
    tolerance: float

    def log_joint(self, mixture: Mixture, rows: Rows) -> np.ndarray:
        """log w_i f_i of every row and component."""
        each = self.family.log_densities(mixture.parameters, rows)
        uniform = np.full((len(rows), 1), -self.log_volume)
        return np.concatenate([each, uniform], axis=1) + np.log(mixture.weights)

    def mean_log_prob(self, mixture: Mixture, rows: Rows, weights: np.ndarray) -> float:
        """Weighted mean log density of rows."""
        chunks = range(0, len(rows), CHUNK)
        each = [log_sum(self.log_joint(mixture, rows[i : i + CHUNK])) for i in chunks]
        return float(np.average(np.concatenate(each), weights=weights))

    def expect(self, mixture: Mixture, data: Data) -> tuple[float, np.ndarray, tuple]:
        """The mean log-likelihood, every component's count of rows, and its statistics."""
        value, counts, statistics = 0.0, 0.0, None
        for start in range(0, len(data.rows), CHUNK):
            rows, weights = (part[start : start + CHUNK] for part in (data.rows, data.weights))
            shares = self.log_joint(mixture, rows)
            total = log_sum(shares)
            shares = np.exp(shares - total[:, None]) * weights[:, None]
            value, counts = value + weights @ total, counts + shares.sum(0)
            part = self.family.statistics(mixture.parameters, rows, shares[:, :-1])
            statistics = part if statistics is None else _added(statistics, part)
        assert statistics is not None, "EM needs rows."
        return float(value / data.weights.sum()), np.asarray(counts), statistics

    def maximise(self, mixture: Mixture, counts: np.ndarray, statistics: tuple) -> Mixture:
        """The mixture that the expected counts and statistics make most likely."""
        alive = counts[:-1] > min(1e-6, counts[:-1].max() / 2)
        parameters = mixture.kept(alive).parameters
        statistics = tuple(part[alive] for part in statistics)
        counts = np.append(counts[:-1][alive], counts[-1])
        least = 1 / (counts.sum() + 1)
        uniform = max(counts[-1] / counts.sum(), least)
        others = counts[:-1] / counts[:-1].sum() * (1 - uniform)
        return Mixture(self.family.maximise(parameters, statistics), np.append(others, uniform))

    def climb(self, mixture: Mixture, data: Data) -> Climb:
        """EM from a mixture until a step gains less than the tolerance, in nats for each row."""
        values: list[float] = []
        for _ in range(self.steps):
            value, counts, statistics = self.expect(mixture, data)
            values.append(value)
            if len(values) > 1 and value - values[-2] < self.tolerance:
                break
            mixture = self.maximise(mixture, counts, statistics)
        return Climb(mixture, values)

    def start(self, data: Data, k: int, random: np.random.Generator) -> Mixture:
        """At most k components around seeds, as wide as the rows around their seeds."""
        some = random.permutation(len(data.rows))[:SEEDING]
        rows, features, weights = (part[some] for part in data)
        squared = _squared(features, seeds(features, weights, k, random))
        nearest = squared.min(1)
        width = np.average(nearest, weights=weights) + 1e-12
        shares = np.exp(-(squared - nearest[:, None]) / width)
        shares *= (weights / shares.sum(1))[:, None]
        counts = np.append(shares.sum(0), 1e-2 * weights.sum())
        return Mixture(self.family.start(rows, shares), counts / counts.sum())


def seeds(
    features: np.ndarray, weights: np.ndarray, k: int, random: np.random.Generator
) -> np.ndarray:
    """At most k centres by k-means++ (Arthur & Vassilvitskii 2007) and five steps of k-means."""
    centres = features[random.choice(len(features), 1, p=weights / weights.sum())]
    nearest = _squared(features, centres)[:, 0]
    while len(centres) < k and (mass := nearest * weights).max() > 1e-12:
        chosen = features[random.choice(len(features), 1, p=mass / mass.sum())]
        centres = np.concatenate([centres, chosen])
        nearest = np.minimum(nearest, _squared(features, chosen)[:, 0])
    for _ in range(5):
        hard = np.eye(len(centres))[_squared(features, centres).argmin(1)] * weights[:, None]
        centres = hard.T @ features / np.maximum(hard.sum(0), 1e-12)[:, None]
    return centres


def _squared(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Squared distances between rows of a and rows of b."""
    return np.maximum((a**2).sum(1)[:, None] - 2 * a @ b.T + (b**2).sum(1), 0)


def _added(left: tuple, right: tuple) -> tuple:
    return tuple(a + b for a, b in zip(left, right, strict=True))
