"""Wrapped normal components on tori, with full covariances."""

from __future__ import annotations

import dataclasses
import itertools
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray
from scipy.special import ndtri

from ...manifolds.torus import wrap
from ...registry import storable
from .base import AbstractComponents, AbstractFamily, Point, Rows, Shares, log_sum

LOST = 1e-6
"""The most mass of one component that its window of images may lose."""


@storable("rivals.WrappedNormalComponents")
class WrappedNormalComponents(AbstractComponents):
    """f(θ) = Σ_k N(wrap(θ − μ) + 2πk; 0, Σ) on T^d, over a window of k ∈ Z^d; measure: radians.

    With W = L⁻¹, LLᵀ = Σ, `images` are the W·2πk, padded where `log_present` is −inf.
    Mardia & Jupp 2000, section 3.5.7.
    """

    mean: Float[Array, "k d"]
    factor: Float[Array, "k d d"]
    whitener: Float[Array, "k d d"]
    images: Float[Array, "k b d"]
    log_present: Float[Array, "k b"]
    log_constant: Float[Array, " k"]

    def log_densities(self, y: Point) -> Float[Array, " k"]:
        offset = jax.vmap(wrap)(y - self.mean)
        white = jnp.einsum("kij,kj->ki", self.whitener, offset, precision="highest")
        squares = squares_of_sums(white[:, None], self.images)
        return jax.nn.logsumexp(self.log_present - squares / 2, axis=1) - self.log_constant

    def sample(self, number: Int[Array, ""], *, key: PRNGKeyArray) -> Point:
        noise = jax.random.normal(key, self.mean.shape[1:])
        return wrap(self.mean[number] + self.factor[number] @ noise)


def squares_of_sums(a: Float[Array, "k 1 d"], b: Float[Array, "k b d"]) -> Float[Array, "k b"]:
    """‖a + b‖², the few coordinates added one by one.

    XLA's nested small reductions on a CPU (jaxlib 0.10.2) are wrong for 3,000 rows at once.
    """
    return sum(
        ((a[..., i] + b[..., i]) ** 2 for i in range(a.shape[-1])), jnp.zeros(b.shape[:-1], b.dtype)
    )


class Parameters(NamedTuple):
    """Means and covariances."""

    mean: Float[np.ndarray, "k d"]
    covariance: Float[np.ndarray, "k d d"]


@dataclasses.dataclass(frozen=True)
class WrappedNormalFamily(AbstractFamily):
    """Wrapped normal densities on T^d, every variance at least 1/`sharpest`.

    The window of coordinate i is |x_i| < (2w_i + 1)π, w_i the least with tail mass below
    `LOST`/d, so that a component loses less than `LOST`. To keep images few, w_i ≤ 2 for d ≤ 2,
    w_i ≤ 1 for larger d, and only the four broadest coordinates have w_i > 0: at most 81 images.
    Deviations are capped accordingly, at 3.2 radians for d ≤ 2, 1.9 above, 0.6 beyond the fourth.

    EM with the latent turns k: a generalised EM, for a capped covariance is taken only if it is
    better than the old one.
    """

    d: int
    sharpest: float

    @property
    def name(self) -> str:
        return "wrapped normal"

    @property
    def free(self) -> int:
        return self.d + self.d * (self.d + 1) // 2

    @property
    def reach(self) -> float:
        """How many deviations a window must cover."""
        return -float(ndtri(LOST / (2 * self.d)))

    def prepare(self, rows: Rows) -> np.ndarray:
        return rows

    def start(self, rows: Rows, shares: Shares) -> Parameters:
        mean = np.arctan2(shares.T @ np.sin(rows), shares.T @ np.cos(rows))
        narrow = np.broadcast_to(0.25 * np.eye(self.d), (len(mean), self.d, self.d))
        first = Parameters(mean, narrow)
        return self.maximise(first, self.statistics(first, rows, shares))

    def log_densities(self, parameters: Parameters, rows: Rows) -> Shares:
        each = [self._images_of(*one, rows)[1] for one in zip(*parameters, strict=True)]
        return np.stack([log_sum(heights) for heights in each], axis=1)

    def statistics(self, parameters: Parameters, rows: Rows, shares: Shares):
        """The sums of 1, x and xxᵀ, x = θ − μ + 2πk, over rows and their probable turns."""
        first, second = [], []
        for one, share in zip(zip(*parameters, strict=True), shares.T, strict=True):
            near = share > 1e-12
            x, heights = self._images_of(*one, rows[near])
            weight = np.exp(heights - log_sum(heights)[:, None])
            weight, x = (weight * share[near, None]).reshape(-1), x.reshape(-1, self.d)
            first.append(weight @ x)
            second.append((weight[:, None] * x).T @ x)
        return shares.sum(0), np.stack(first), np.stack(second)

    def maximise(self, parameters: Parameters, statistics) -> Parameters:
        count, first, second = statistics
        shift = first / count[:, None]
        scatter = second / count[:, None, None] - shift[:, :, None] * shift[:, None]
        old = parameters.covariance
        new = np.stack([self.restrained(one) for one in scatter])
        better = _expected(new, scatter) >= _expected(old, scatter)
        mean = parameters.mean + shift
        mean = mean - 2 * np.pi * np.round(mean / (2 * np.pi))
        return Parameters(mean, np.where(better[:, None, None], new, old))

    def restrained(self, covariance: Float[np.ndarray, "d d"]) -> Float[np.ndarray, "d d"]:
        """Variances raised to the floor, then deviations shrunk to what the windows hold."""
        variances, axes = np.linalg.eigh(covariance)
        raised = axes * np.maximum(variances, 1 / self.sharpest) @ axes.T
        deviations = np.sqrt(np.diagonal(raised))
        widest = np.full(self.d, np.pi)
        widest[np.argsort(-deviations)[:4]] *= 5 if self.d <= 2 else 3
        shrink = np.minimum(1, 0.999 * widest / self.reach / deviations)
        return raised * shrink[:, None] * shrink

    def images(self, covariance: Float[np.ndarray, "d d"]) -> Float[np.ndarray, "b d"]:
        """The 2πk of the window."""
        deviations = np.sqrt(np.diagonal(covariance))
        turns = np.ceil(np.maximum(self.reach * deviations / np.pi - 1, 0) / 2).astype(int)
        each = itertools.product(*(range(-w, w + 1) for w in turns))
        return 2 * np.pi * np.array(list(each), float)

    def build(self, parameters: Parameters) -> WrappedNormalComponents:
        mean, covariance = parameters
        factor = np.linalg.cholesky(covariance)
        whitener = np.linalg.inv(factor)
        images = [self.images(one) @ w.T for one, w in zip(covariance, whitener, strict=True)]
        longest = max(len(one) for one in images)
        padded = np.stack(
            [np.pad(one, np.array([[0, longest - len(one)], [0, 0]])) for one in images]
        )
        present = np.arange(longest) < np.array([[len(one)] for one in images])
        log_present = np.where(present, 0.0, -np.inf)
        fields = (mean, factor, whitener, padded, log_present, _log_constant(factor))
        return WrappedNormalComponents(*(jnp.array(field) for field in fields))

    def _images_of(self, mean, covariance, rows: Rows) -> tuple[np.ndarray, np.ndarray]:
        """All x = θ − μ + 2πk of each row, and their log densities under N(0, Σ)."""
        offset = rows - mean
        offset = offset - 2 * np.pi * np.round(offset / (2 * np.pi))
        x = offset[:, None] + self.images(covariance)
        factor = np.linalg.cholesky(covariance)
        white = x @ np.linalg.inv(factor).T
        return x, -0.5 * np.einsum("nbd,nbd->nb", white, white) - _log_constant(factor)


def _log_constant(factor: Float[np.ndarray, "*k d d"]) -> np.ndarray:
    """log √det 2πΣ."""
    diagonal = np.diagonal(factor, axis1=-2, axis2=-1)
    return np.asarray(np.log(diagonal).sum(-1) + diagonal.shape[-1] / 2 * np.log(2 * np.pi))


def _expected(covariance: np.ndarray, scatter: np.ndarray) -> np.ndarray:
    """Mean log density under N(0, Σ) of rows with that scatter, less a constant."""
    trace = np.trace(np.linalg.solve(covariance, scatter), axis1=1, axis2=2)
    return -0.5 * (np.linalg.slogdet(covariance)[1] + trace)
