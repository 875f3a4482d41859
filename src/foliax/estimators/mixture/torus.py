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
from .base import REACHED_RATIO, AbstractComponents, AbstractFamily, Point, Rows, Shares, log_sum

MAX_LOST_MASS = 1e-6
"""The largest mass that a component may lose outside its window of images."""
MAX_WRAPPED_ANGLES = 4
"""Angles of a component that may have several images, so that there are at most 81 in all."""
MIN_SHARE = 1e-12
"""The share of a row below which a component ignores it."""
IMAGE_WORK_UNITS = 9e-8
"""Work units of one image of one row and one component in a step of EM: mostly an exponential."""


@storable("rivals.WrappedNormalComponents")
class WrappedNormalComponents(AbstractComponents):
    """f(θ) = Σ_k N(wrap(θ − μ) + 2πk; 0, Σ) on T^d, over a window of k ∈ Z^d; measure: radians.

    Mardia & Jupp 2000, section 3.5.7.

    Args:
        mean: The mean angles μ of each component.
        factor: The Cholesky factor L of each covariance Σ = LLᵀ.
        whitener: W = L⁻¹.
        images: The points W·2πk of the window, padded to the same number for each component.
        log_present: 0 for images, −inf for padding.
        log_constant: log √det 2πΣ.
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
    """Compute ‖a + b‖² as a written-out sum over coordinates.

    XLA's nested small sums on a CPU (jaxlib 0.10.2) are wrong for 3,000 rows at once.
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
    """Wrapped normal densities on T^d with full covariances.

    The window of angle i is |x_i| < (2w_i + 1)π. w_i is the smallest number with a tail mass below
    `MAX_LOST_MASS`/d, so that a component loses less than `MAX_LOST_MASS`. To bound the number of
    images by 81, w_i ≤ 2 for d ≤ 2, w_i ≤ 1 for larger d, and only the four broadest angles have
    w_i > 0. Deviations are capped accordingly: 3.2 radians for d ≤ 2, 1.9 above, and 0.6 beyond the
    fourth angle.

    The latent variables of EM are the turns k. It is a generalised EM: a capped covariance is used
    only if it is better than the old one.

    Args:
        d: The number of angles.
        max_concentration: Every variance is at least 1/`max_concentration`.
    """

    d: int
    max_concentration: float

    @property
    def step_work(self) -> float:
        return IMAGE_WORK_UNITS * 3 ** min(self.d, MAX_WRAPPED_ANGLES)

    @property
    def name(self) -> str:
        return "wrapped normal"

    @property
    def n_parameters(self) -> int:
        return self.d + self.d * (self.d + 1) // 2

    @property
    def least_spread(self) -> float:
        return self.max_concentration**-0.5

    def are_narrowest(self, parameters: Parameters) -> np.ndarray:
        return (
            np.linalg.eigvalsh(parameters.covariance)[:, 0] <= self.least_spread**2 / REACHED_RATIO
        )

    @property
    def window_deviations(self) -> float:
        """The number of deviations that a window must cover."""
        return -float(ndtri(MAX_LOST_MASS / (2 * self.d)))

    def prepare(self, rows: Rows) -> np.ndarray:
        return rows

    def initialize(self, rows: Rows, shares: Shares) -> Parameters:
        mean = np.arctan2(shares.T @ np.sin(rows), shares.T @ np.cos(rows))
        narrow = np.broadcast_to(0.25 * np.eye(self.d), (len(mean), self.d, self.d))
        first = Parameters(mean, narrow)
        return self.maximise(first, self.statistics(first, rows, shares))

    def log_densities(self, parameters: Parameters, rows: Rows) -> Shares:
        each = [self._images_of(*one, rows)[1] for one in zip(*parameters, strict=True)]
        return np.stack([log_sum(heights) for heights in each], axis=1)

    def statistics(self, parameters: Parameters, rows: Rows, shares: Shares):
        """Sum 1, x and xxᵀ over rows and their turns k, by probability; x = θ − μ + 2πk."""
        first, second = [], []
        for one, share in zip(zip(*parameters, strict=True), shares.T, strict=True):
            used = share > MIN_SHARE
            x, heights = self._images_of(*one, rows[used])
            weight = np.exp(heights - log_sum(heights)[:, None])
            weight, x = (weight * share[used, None]).reshape(-1), x.reshape(-1, self.d)
            first.append(weight @ x)
            second.append((weight[:, None] * x).T @ x)
        return shares.sum(0), np.stack(first), np.stack(second)

    def maximise(self, parameters: Parameters, statistics) -> Parameters:
        count, first, second = statistics
        shift = first / count[:, None]
        scatter = second / count[:, None, None] - shift[:, :, None] * shift[:, None]
        old = parameters.covariance
        new = np.stack([self.restrict(one) for one in scatter])
        better = _mean_log_density(new, scatter) >= _mean_log_density(old, scatter)
        mean = parameters.mean + shift
        mean = mean - 2 * np.pi * np.round(mean / (2 * np.pi))
        return Parameters(mean, np.where(better[:, None, None], new, old))

    def restrict(self, covariance: Float[np.ndarray, "d d"]) -> Float[np.ndarray, "d d"]:
        """Raise variances to their minimum, then shrink deviations to what windows can hold."""
        variances, axes = np.linalg.eigh(covariance)
        raised = axes * np.maximum(variances, 1 / self.max_concentration) @ axes.T
        deviations = np.sqrt(np.diagonal(raised))
        widest = np.full(self.d, np.pi)
        widest[np.argsort(-deviations)[:MAX_WRAPPED_ANGLES]] *= 5 if self.d <= 2 else 3
        shrink = np.minimum(1, 0.999 * widest / self.window_deviations / deviations)
        return raised * shrink[:, None] * shrink

    def images(self, covariance: Float[np.ndarray, "d d"]) -> Float[np.ndarray, "b d"]:
        """List the 2πk of the window of a covariance."""
        deviations = np.sqrt(np.diagonal(covariance))
        turns = np.ceil(np.maximum(self.window_deviations * deviations / np.pi - 1, 0) / 2).astype(
            int
        )
        each = itertools.product(*(range(-w, w + 1) for w in turns))
        return 2 * np.pi * np.array(list(each), float)

    def build(self, parameters: Parameters) -> WrappedNormalComponents:
        mean, covariance = parameters
        factor = np.linalg.cholesky(covariance)
        whitener = np.linalg.inv(factor)
        images = [self.images(one) @ w.T for one, w in zip(covariance, whitener, strict=True)]
        longest = max(len(one) for one in images)
        all_images = np.stack(
            [np.pad(one, np.array([[0, longest - len(one)], [0, 0]])) for one in images]
        )
        present = np.arange(longest) < np.array([[len(one)] for one in images])
        log_present = np.where(present, 0.0, -np.inf)
        fields = (mean, factor, whitener, all_images, log_present, _log_constant(factor))
        return WrappedNormalComponents(*(jnp.array(field) for field in fields))

    def _images_of(self, mean, covariance, rows: Rows) -> tuple[np.ndarray, np.ndarray]:
        """Compute all x = θ − μ + 2πk of each row, and their log densities under N(0, Σ)."""
        offset = rows - mean
        offset = offset - 2 * np.pi * np.round(offset / (2 * np.pi))
        x = offset[:, None] + self.images(covariance)
        factor = np.linalg.cholesky(covariance)
        white = x @ np.linalg.inv(factor).T
        return x, -0.5 * np.einsum("nbd,nbd->nb", white, white) - _log_constant(factor)


def _log_constant(factor: Float[np.ndarray, "*k d d"]) -> np.ndarray:
    """Compute log √det 2πΣ from Cholesky factors."""
    diagonal = np.diagonal(factor, axis1=-2, axis2=-1)
    return np.asarray(np.log(diagonal).sum(-1) + diagonal.shape[-1] / 2 * np.log(2 * np.pi))


def _mean_log_density(covariance: np.ndarray, scatter: np.ndarray) -> np.ndarray:
    """Compute the mean log density of rows of a given scatter under N(0, Σ), less a constant."""
    trace = np.trace(np.linalg.solve(covariance, scatter), axis1=1, axis2=2)
    return -0.5 * (np.linalg.slogdet(covariance)[1] + trace)
