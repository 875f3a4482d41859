"""von Mises–Fisher components on spheres."""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from ...distributions import concentration, log_vmf_normaliser, sample_von_mises_fisher
from ...registry import storable
from .base import AbstractComponents, AbstractFamily, Point, Rows, Shares


@storable("rivals.VonMisesFisherComponents")
class VonMisesFisherComponents(AbstractComponents):
    """f(y) = exp(−½κ‖y − μ‖² − c) on S^d, c = log ∫ exp(κ(yᵀμ − 1)) dA; measure: area.

    The chord instead of κ(yᵀμ − 1), which loses a nat in float32 at κ = 1e8.
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
    """von Mises–Fisher densities on S^d, 1e-4 ≤ κ ≤ `sharpest`; EM: Banerjee et al. 2005."""

    d: int
    sharpest: float

    @property
    def name(self) -> str:
        return "von Mises–Fisher"

    @property
    def free(self) -> int:
        return self.d + 1

    def prepare(self, rows: Rows) -> np.ndarray:
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)

    def start(self, rows: Rows, shares: Shares) -> Parameters:
        return self._fitted(shares.sum(0), shares.T @ rows)

    def log_densities(self, parameters: Parameters, rows: Rows) -> Shares:
        mean, kappa = parameters
        depth = 1 - rows @ mean.T
        return -kappa * depth - log_vmf_normaliser(kappa, self.d)

    def statistics(self, parameters: Parameters, rows: Rows, shares: Shares):
        return shares.sum(0), shares.T @ rows

    def maximise(self, parameters: Parameters, statistics) -> Parameters:
        return self._fitted(*statistics)

    def _fitted(self, count: np.ndarray, total: np.ndarray) -> Parameters:
        length = np.linalg.norm(total, axis=1)
        # Where rows cancel exactly every direction is as good.
        mean = np.where(
            length[:, None] > 0, total / np.maximum(length, 1e-300)[:, None], np.eye(self.d + 1)[0]
        )
        most = np.minimum(length / count, 1)
        return Parameters(mean, concentration(most, self.d, least=1e-4, most=self.sharpest))

    def build(self, parameters: Parameters) -> VonMisesFisherComponents:
        mean, kappa = parameters
        constant = log_vmf_normaliser(kappa, self.d)
        return VonMisesFisherComponents(jnp.array(mean), jnp.array(kappa), jnp.array(constant))
