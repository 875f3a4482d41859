"""Matrix Fisher components on SO(3), as Bingham densities of unit quaternions."""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from ...distributions import bingham, bingham_rates, envelopes, sample_bingham
from ...manifolds import SpecialOrthogonal
from ...manifolds.quaternions import quaternion_of_rotation, rotation_of_quaternion
from ...registry import storable
from .base import REACHED_RATIO, AbstractComponents, AbstractFamily, Point, Rows, Shares

STEP_WORK_UNITS = 3.5e-7
"""Work units of one row and one component in a step of EM: three squares, and an exponential."""


@storable("rivals.MatrixFisherComponents")
class MatrixFisherComponents(AbstractComponents):
    """f(R) ∝ exp(tr FᵀR) = exp(−Σ_j λ_j (b_jᵀq)² − c) on SO(3), where q is the quaternion of R.

    b₀, …, b₃ (rows of `frame`) are orthonormal in R⁴, and b₀ is the mode. With the proper singular
    values s of F, λ = 2(s₂ + s₃, s₁ + s₃, s₁ + s₂) ≥ 0. The measure is that of the Frobenius norm.
    Prentice 1986. Samples come by rejection from an angular central Gaussian: Kent et al. 2013.

    Args:
        frame: The b_j of each component.
        rates: The λ_j of each component, ascending.
        log_constant: The log normalising constant c.
        envelope: The parameter b of the sampler's envelope.
    """

    frame: Float[Array, "k 4 4"]
    rates: Float[Array, "k 3"]
    log_constant: Float[Array, " k"]
    envelope: Float[Array, " k"]

    def log_densities(self, y: Point) -> Float[Array, " k"]:
        q = quaternion_of_rotation(y.reshape(3, 3))
        x, y, z = jnp.einsum("kji,i->jk", self.frame[:, 1:], q, precision="highest")
        # Written out, since XLA's nested small sums can be wrong for many rows (jaxlib 0.10.2).
        a, b, c = self.rates.T
        return -(a * x**2 + b * y**2 + c * z**2) - self.log_constant

    def sample(self, number: Int[Array, ""], *, key: PRNGKeyArray) -> Point:
        q = sample_bingham(self.rates[number], self.envelope[number], key=key) @ self.frame[number]
        return rotation_of_quaternion(q / jnp.linalg.norm(q)).reshape(-1)


class Parameters(NamedTuple):
    """Frames, with the mode first, and ascending rates."""

    frame: Float[np.ndarray, "k 4 4"]
    rates: Float[np.ndarray, "k 3"]


@dataclasses.dataclass(frozen=True)
class MatrixFisherFamily(AbstractFamily):
    """Matrix Fisher densities on SO(3).

    The likelihood depends on rows only through E qqᵀ: its eigenvectors are the frame, and its
    eigenvalues give λ.

    Args:
        max_concentration: The largest λ is 4 times this, so that 1/`max_concentration` is the
            smallest variance of the Frobenius distance.
    """

    max_concentration: float

    @property
    def step_work(self) -> float:
        return STEP_WORK_UNITS

    @property
    def name(self) -> str:
        return "matrix Fisher"

    @property
    def n_parameters(self) -> int:
        return 9

    @property
    def least_spread(self) -> float:
        # exp(−λq²) with q = θ/2 for a small angle θ, and λ = 4 times the concentration.
        return (2 * self.max_concentration) ** -0.5

    def are_narrowest(self, parameters: Parameters) -> np.ndarray:
        return parameters.rates[:, -1] >= REACHED_RATIO * 4 * self.max_concentration

    def prepare(self, rows: Rows) -> np.ndarray:
        matrices = jnp.asarray(rows).reshape(-1, 3, 3)
        q = np.asarray(jax.jit(jax.vmap(quaternion_of_rotation))(matrices), float)
        return q / np.linalg.norm(q, axis=1, keepdims=True)

    def initialize(self, rows: Rows, shares: Shares) -> Parameters:
        return self._fit_moments(*self._moments(rows, shares))

    def log_densities(self, parameters: Parameters, rows: Rows) -> Shares:
        frame, rates = parameters
        along = np.einsum("kji,ni->nkj", frame[:, 1:], rows, optimize=True)
        return -np.einsum("nkj,kj->nk", along**2, rates) - self._log_constant(rates)

    def statistics(self, parameters: Parameters, rows: Rows, shares: Shares):
        return self._moments(rows, shares)

    def maximise(self, parameters: Parameters, statistics) -> Parameters:
        return self._fit_moments(*statistics)

    def build(self, parameters: Parameters) -> MatrixFisherComponents:
        frame, rates = parameters
        constant, envelope = self._log_constant(rates), envelopes(rates)
        return MatrixFisherComponents(*(jnp.array(v) for v in (frame, rates, constant, envelope)))

    def _moments(self, rows: Rows, shares: Shares) -> tuple[np.ndarray, np.ndarray]:
        products = (rows[:, :, None] * rows[:, None]).reshape(-1, 16)
        return shares.sum(0), (shares.T @ products).reshape(-1, 4, 4)

    def _fit_moments(self, count: np.ndarray, total: np.ndarray) -> Parameters:
        moments, vectors = np.linalg.eigh(total / count[:, None, None])
        frame = vectors[:, :, ::-1].swapaxes(1, 2)
        # Descending moments give ascending λ; the first moment is the mode's.
        rates = bingham_rates(moments[:, 2::-1], most=4 * self.max_concentration)
        return Parameters(frame, rates)

    def _log_constant(self, rates: np.ndarray) -> np.ndarray:
        return bingham(rates).log_constant + SpecialOrthogonal(3).log_total_volume()
