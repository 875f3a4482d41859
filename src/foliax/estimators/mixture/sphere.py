"""von Mises–Fisher components on spheres."""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from ...distributions import concentration, log_vmf_normaliser, sample_von_mises_fisher
from ...registry import storable
from .base import REACHED_RATIO, AbstractComponents, AbstractFamily, Point, Rows, Shares

MIN_CONCENTRATION = 1e-4
"""The smallest κ, which is uniform for all practical purposes; the sampler needs κ > 0."""
STEP_WORK_UNITS = 6e-8
"""Work units of one row and one component in a step of EM, on S²: mostly an exponential."""


@storable("rivals.VonMisesFisherComponents")
class VonMisesFisherComponents(AbstractComponents):
    """f(y) = exp(−½κ‖y − μ‖² − c) on S^d, c = log ∫ exp(κ(yᵀμ − 1)) dA; measure: area.

    It uses the chord ‖y − μ‖, because κ(yᵀμ − 1) loses a nat in float32 at κ = 1e8.

    Args:
        mean: The mean direction μ of each component.
        kappa: The concentration κ of each component.
        log_constant: The log normalising constant c.
    """

    mean: Float[Array, "k size"]
    kappa: Float[Array, " k"]
    log_constant: Float[Array, " k"]

    def log_densities(self, y: Point) -> Float[Array, " k"]:
        squared = ((y - self.mean) ** 2).sum(-1)
        return -0.5 * self.kappa * squared - self.log_constant

    def sample(self, number: Int[Array, ""], *, key: PRNGKeyArray) -> Point:
        return sample_von_mises_fisher(self.mean[number], self.kappa[number], key=key)


class Parameters(NamedTuple):
    """Unit vectors and concentrations."""

    mean: Float[np.ndarray, "k size"]
    kappa: Float[np.ndarray, " k"]


@dataclasses.dataclass(frozen=True)
class VonMisesFisherFamily(AbstractFamily):
    """von Mises–Fisher densities on S^d. EM by Banerjee et al. 2005.

    Args:
        d: The dimension of the sphere.
        max_concentration: The largest κ. The smallest is `MIN_CONCENTRATION`.
    """

    d: int
    max_concentration: float

    @property
    def step_work(self) -> float:
        return STEP_WORK_UNITS * (1 + self.d / 20)

    @property
    def name(self) -> str:
        return "von Mises–Fisher"

    @property
    def n_parameters(self) -> int:
        return self.d + 1

    @property
    def least_spread(self) -> float:
        return self.max_concentration**-0.5

    def are_narrowest(self, parameters: Parameters) -> np.ndarray:
        return parameters.kappa >= REACHED_RATIO * self.max_concentration

    def prepare(self, rows: Rows) -> np.ndarray:
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)

    def initialize(self, rows: Rows, shares: Shares) -> Parameters:
        return self._fit_moments(shares.sum(0), shares.T @ rows)

    def log_densities(self, parameters: Parameters, rows: Rows) -> Shares:
        mean, kappa = parameters
        depth = 1 - rows @ mean.T
        return -kappa * depth - log_vmf_normaliser(kappa, self.d)

    def statistics(self, parameters: Parameters, rows: Rows, shares: Shares):
        return shares.sum(0), shares.T @ rows

    def maximise(self, parameters: Parameters, statistics) -> Parameters:
        return self._fit_moments(*statistics)

    def _fit_moments(self, count: np.ndarray, total: np.ndarray) -> Parameters:
        length = np.linalg.norm(total, axis=1)
        # Where rows cancel exactly, every direction is as likely.
        mean = np.where(
            length[:, None] > 0, total / np.maximum(length, 1e-300)[:, None], np.eye(self.d + 1)[0]
        )
        kappa = concentration(
            np.minimum(length / count, 1),
            self.d,
            least=MIN_CONCENTRATION,
            most=self.max_concentration,
        )
        return Parameters(mean, kappa)

    def build(self, parameters: Parameters) -> VonMisesFisherComponents:
        mean, kappa = parameters
        constant = log_vmf_normaliser(kappa, self.d)
        return VonMisesFisherComponents(jnp.array(mean), jnp.array(kappa), jnp.array(constant))
