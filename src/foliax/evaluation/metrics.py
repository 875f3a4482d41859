"""How far a density is from a known one, each number with its Monte Carlo error."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, PRNGKeyArray
from scipy.special import expit

from ..density import AbstractDensity, AbstractTarget, Evaluation, LogProb
from ..density.base import check_samples
from ..density.evaluate import check_not_nan, refine_to_tolerance
from ..manifolds import AbstractManifold
from ..manifolds.row_errors import name_as, name_rows
from .estimate import Estimate, mean_and_error


class Comparison(NamedTuple):
    """A density q against a target p."""

    kl_qp: Estimate
    """KL(q‖p) = ∫ q log q/p − q + p: sees lost mass, and is never negative."""
    kl_pq: Estimate
    """KL(p‖q), likewise."""
    ess: Estimate
    """Relative effective sample size of q's samples weighted by w: (E w)²/E w²."""
    mass: Estimate
    """Total mass of q's log densities."""
    log_error: float
    """Root mean square e of the log densities' own standard errors; kl_qp holds e²/2 of them."""
    self_normalised_qp: Estimate
    """E_q[−log w] + log E_q[w]: the paper's KL(q‖p), which cannot see lost mass."""
    self_normalised_pq: Estimate
    """The same from p's samples."""


class NoOverlapError(ValueError):
    """Two densities whose samples do not overlap, so that neither tells about the other."""


class Moments(NamedTuple):
    """Squared distances of q's and p's means and covariances, of embedded points."""

    mean: Estimate
    covariance: Estimate


def sample_and_evaluate(
    density: AbstractDensity, n: int, *, key: PRNGKeyArray, tol: float = math.inf
) -> tuple[np.ndarray, Evaluation]:
    """Draw n samples with their log densities, by their own z where there is one.

    A sample whose z is far from q(z | y) shows so by its error, so it gets more rounds than a row.

    Args:
        density: What to sample.
        n: How many samples.
        key: Chooses samples and noise.
        tol: The standard error to reach, in nats.
    """
    k1, k2 = jax.random.split(key)
    keys = jax.vmap(lambda i: jax.random.fold_in(k1, i))(jnp.arange(n))
    rows = np.zeros((n, density.manifold.size))

    def log_prob(density, which, key, batch_size):
        rows[which], found = density.sample_rows_with_log_prob(
            keys[which], which, key=key, batch_size=batch_size
        )
        return found

    found = refine_to_tolerance(log_prob, density, n, tol, key=k2, max_rounds=7)
    check_samples(rows)
    with name_rows(name_as("Sample", n)):
        check_not_nan(found.value, rows)
    return rows, found


def log_prob_once(density: AbstractDensity, rows: Any, *, key: PRNGKeyArray) -> LogProb:
    """Log densities by a fixed budget, in float64; the i-th row's noise is `fold_in(key, i)`."""
    rows = np.asarray(rows)
    found = density.log_prob_rows(rows, np.arange(len(rows)), key=key, batch_size=4096)
    check_not_nan(found.value, rows)
    return LogProb(found.value.astype(float), found.error.astype(float))


def total_mass(
    density: AbstractDensity,
    n: int = 20_000,
    *,
    key: PRNGKeyArray,
    near: AbstractDensity | None = None,
    share: float = 0.5,
    tol: float = math.inf,
) -> Estimate:
    """Estimate ∫ q by importance sampling, on a manifold of finite volume.

    Args:
        density: The density q.
        n: How many points.
        key: Chooses the points and the noise of the log densities.
        near: A normalised density like q (a target, a kernel estimate). Points are drawn from it,
            and it is a control variate: 1 + E[(q − near)/proposal]. Without it all points are
            uniform.
        share: The share of the points that `near` draws; the others are uniform.
        tol: The standard error of the log densities to reach, in nats.
    """
    k1, k2, k3 = jax.random.split(key, 3)
    uniform = n if near is None else n - round(share * n)
    rows = sample_uniform(density.manifold, uniform, key=k1)
    if near is None:
        value = density.evaluate(rows, tol=tol, key=k3).value
        return mean_and_error(np.exp(value + density.manifold.log_total_volume()))
    rows = np.concatenate([rows, near.sample(n - uniform, key=k2)])
    value = density.evaluate(rows, tol=tol, key=k3).value
    log_near, _ = log_prob_once(near, rows, key=k3)
    return controlled_mass(value, log_near, uniform / n, density.manifold)


def sample_uniform(manifold: AbstractManifold, n: int, *, key: PRNGKeyArray) -> np.ndarray:
    """Draw n points from the uniform density."""
    keys = jax.random.split(key, n)
    return np.asarray(jax.jit(jax.vmap(lambda k: manifold.sample_uniform(key=k)))(keys))


def controlled_mass(
    value: np.ndarray, log_near: np.ndarray, uniform: float, manifold: AbstractManifold
) -> Estimate:
    """Estimate ∫ q from values of q and of a normalised density like it, at the same points.

    Args:
        value: Log densities of q.
        log_near: Log densities of the other one, from which the points were drawn.
        uniform: The share of the points that are uniform instead.
        manifold: Where the points lie.
    """
    log_proposal = partly_uniform(log_near, uniform, manifold)
    return mean_and_error(1 + np.exp(value - log_proposal) - np.exp(log_near - log_proposal))


def bridged_mass(
    density: AbstractDensity, other: AbstractDensity, n: int = 20_000, *, key: PRNGKeyArray
) -> Estimate:
    """Estimate ∫ q as E_r[q/(q + r)] / E_q[r/(q + r)]: bridge sampling, Meng and Wong 1996.

    The averaged values lie between 0 and 1, so the error can be trusted, also on infinite volumes
    and in many dimensions. It is small where q and r are alike. The estimate also tells whether the
    samples of q agree with its log densities.

    Args:
        density: The density q.
        other: A normalised density r.
        n: How many samples of each.
        key: Chooses the samples and the noise of the log densities.

    Raises:
        NoOverlapError: The samples of the two densities do not overlap.
    """
    return combine_bridge(*sample_bridge(density, other, n, key=key))


def sample_bridge(
    density: AbstractDensity, other: AbstractDensity, n: int, *, key: PRNGKeyArray
) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, " n"]]:
    """Return q/(q + r) at n samples of `other`, r, and r/(q + r) at n samples of `density`, q."""
    k1, k2, k3, k4 = jax.random.split(key, 4)

    def log_ratio(rows: np.ndarray) -> np.ndarray:
        log_q, log_r = (
            log_prob_once(density, rows, key=k3).value,
            log_prob_once(other, rows, key=k4).value,
        )
        return log_q - log_r

    above = expit(log_ratio(other.sample(n, key=k1)))
    return above, expit(-log_ratio(density.sample(n, key=k2)))


def combine_bridge(above: Float[np.ndarray, " n"], below: Float[np.ndarray, " n"]) -> Estimate:
    """Estimate the mass from the values of `sample_bridge`; see `bridged_mass`."""
    top, bottom = mean_and_error(above), mean_and_error(below)
    if min(top.value, bottom.value) < 1 / len(above):
        raise NoOverlapError("No bridge: samples of the two densities do not overlap.")
    value = top.value / bottom.value
    return Estimate(value, value * math.hypot(top.error / top.value, bottom.error / bottom.value))


def compare(
    density: AbstractDensity,
    target: AbstractTarget,
    n: int = 20_000,
    *,
    key: PRNGKeyArray,
    tol: float = math.inf,
) -> Comparison:
    """Compare q with p by n samples of each and n uniform points.

    Rare samples of q where p almost vanishes make KL(q‖p) uncertain. Uniform points, as samples of
    the mixture of q and the uniform density, reduce that. At uniform points and for the total mass
    the budget is fixed, because refining uncertain estimates biases them: see
    :func:`foliax.evaluate`.

    Args:
        density: The density q.
        target: The density p, known exactly.
        n: How many samples of each, and how many uniform points.
        key: Chooses samples, points and noise.
        tol: The standard error of q's log densities to reach, in nats.
    """
    k1, k2, k3, k4, k5, k6 = jax.random.split(key, 6)
    from_p, spread = target.sample(n, key=k2), sample_uniform(density.manifold, n, key=k5)
    from_q, at_q = sample_and_evaluate(density, n, key=k1, tol=tol)
    q_at_p, _ = log_prob_once(density, from_p, key=k6)
    q_at_spread, error_at_spread = log_prob_once(density.with_budget("thorough"), spread, key=k3)
    p_at_q, p_at_p, p_at_spread = (
        log_prob_once(target, rows, key=k4).value for rows in (from_q, from_p, spread)
    )
    at_p = density.evaluate(from_p, tol=tol, key=k4)
    log_w, log_v = p_at_q - at_q.value, at_p.value - p_at_p
    at_both = np.concatenate([at_q.value, q_at_spread])
    proposal = partly_uniform(at_both, 0.5, density.manifold)
    weighted = np.exp(at_both - proposal) * np.concatenate([at_q.error, error_at_spread]) ** 2
    return Comparison(
        divergence(at_both, np.concatenate([p_at_q, p_at_spread]), proposal),
        divergence(p_at_p, at_p.value, p_at_p),
        relative_ess(np.exp(log_w)),
        controlled_mass(
            np.concatenate([q_at_p, q_at_spread]),
            np.concatenate([p_at_p, p_at_spread]),
            0.5,
            density.manifold,
        ),
        float(np.sqrt(weighted.mean())),
        self_normalised(log_w),
        self_normalised(log_v),
    )


def partly_uniform(
    log_density: np.ndarray, uniform: float, manifold: AbstractManifold
) -> np.ndarray:
    """Log densities of the mixture of a density and a share `uniform` of the uniform density."""
    log_uniform = np.log(uniform) - manifold.log_total_volume()
    return np.logaddexp(log_uniform, log_density + np.log1p(-uniform))


def divergence(log_a: np.ndarray, log_b: np.ndarray, log_proposal: np.ndarray) -> Estimate:
    """Estimate ∫ a log a/b − a + b from samples of a proposal: KL(a‖b) if both have mass 1."""
    a, b = np.exp(log_a - log_proposal), np.exp(log_b - log_proposal)
    # a log a is 0 where a is.
    log_ratio = np.where(a > 0, log_a, log_b) - log_b
    return mean_and_error(a * log_ratio - a + b)


def relative_ess(w: np.ndarray) -> Estimate:
    """Estimate (mean w)²/mean w², with its error to first order."""
    share, square = w / w.mean(), w**2 / (w**2).mean()
    value = float(w.mean() ** 2 / (w**2).mean())
    return Estimate(value, value * mean_and_error(2 * share - square).error)


def self_normalised(log_w: np.ndarray) -> Estimate:
    """Estimate mean(−log w) + log mean w, with its error to first order."""
    w = np.exp(log_w)
    return Estimate(
        float(np.log(w.mean()) - log_w.mean()), mean_and_error(w / w.mean() - log_w).error
    )


def moments(rows: np.ndarray, others: np.ndarray) -> Moments:
    """Squared distances between the means and between the covariances of two samples."""
    products = (
        np.einsum("ni,nj->nij", centred, centred).reshape(len(centred), -1)
        for centred in (part - part.mean(0) for part in (rows, others))
    )
    return Moments(squared_distance(rows, others), squared_distance(*products))


def squared_distance(rows: np.ndarray, others: np.ndarray) -> Estimate:
    """Estimate ‖E rows − E others‖² without the bias of finite samples, so it may be negative.

    With V the covariance of the difference of means, the squared difference has the mean
    ‖Δ‖² + tr V and the variance 4ΔᵀVΔ + 2 tr V².
    """
    difference = rows.mean(0) - others.mean(0)
    v = np.cov(rows.T) / len(rows) + np.cov(others.T) / len(others)
    square = (v**2).sum()
    value = difference @ difference - np.trace(v)
    variance = 4 * max(difference @ v @ difference - square, 0) + 2 * square
    return Estimate(float(value), float(np.sqrt(variance)))
