"""Train and evaluate one trial of a row."""

from __future__ import annotations

import dataclasses
import importlib.metadata
import math
import time
import zlib
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PRNGKeyArray

from ..density import AbstractTarget, Dataset, DequantizedDensity
from ..estimators import (
    DequantizedFlow,
    FitResult,
    ManifoldODE,
    MobiusFlow,
    refine_dequantizer,
)
from ..estimators.dequantized_flow import START_ROWS
from ..estimators.spline_flow import SplineFlow
from ..evaluation import metrics
from ..manifolds import AbstractManifold
from ..training.history import INTERRUPTED
from .recipes import Row
from .results import settings

MODEL_SAMPLES, TARGET_SAMPLES = 20_000, 100_000
"""Samples of q and of p for their moments; samples of p are cheap."""
RAW_ANGLES = "raw angles"
VERSIONS = ("foliax", "jax", "equinox", "flowjax", "optax")


def measure(row: Row, number: int, fitted: FitResult, draws: int) -> dict[str, Any]:
    """Evaluate a trained trial.

    Args:
        row: The row of the table.
        number: The trial's number.
        fitted: The fit that `fit` returned.
        draws: The number of training draws that `fit` returned.

    Returns:
        What is stored: settings, metrics with their errors, times and versions.
    """
    target = row.target(number)
    compare_key, q_key, p_key = jax.random.split(trial_key(row, number), 5)[2:]
    refine_key = jax.random.fold_in(compare_key, 0)
    began = time.monotonic()
    density = fitted.density
    if isinstance(density, DequantizedDensity) and math.isfinite(row.tolerance):
        # The density stays the same; its estimates get better.
        density = refine_dequantizer(density, key=refine_key)
    found = metrics.compare(
        density.with_budget("coarse"), target, row.points, key=compare_key, tol=row.tolerance
    )
    drawn = fitted.density.sample(min(MODEL_SAMPLES, 10 * row.points), key=q_key)
    exact = target.sample(TARGET_SAMPLES, key=p_key)
    embed = eqx.filter_jit(jax.vmap(target.manifold.features))
    moments = metrics.moments(
        *(np.asarray(embed(jnp.asarray(part)), float) for part in (drawn, exact))
    )
    measured = _name_metrics(moments, found)
    if row.angles:
        # Angles in [0, 2π), as in the paper.
        raw = metrics.moments(*(np.asarray(part, float) % (2 * math.pi) for part in (drawn, exact)))
        measured |= {f"mean, {RAW_ANGLES}": raw.mean, f"covariance, {RAW_ANGLES}": raw.covariance}
    return {
        **settings(row, number),
        "parameters": fitted.record.parameters,
        "draws": draws,
        "training seconds": round(fitted.record.seconds, 1),
        "evaluation seconds": round(time.monotonic() - began, 1),
        "events": fitted.record.events,
        "metrics": measured,
        "versions": {name: importlib.metadata.version(name) for name in VERSIONS},
    }


def _name_metrics(moments: metrics.Moments, found: metrics.Comparison) -> dict[str, Any]:
    """The metrics by the names under which they are stored."""
    return {
        "mean": moments.mean,
        "covariance": moments.covariance,
        "KL(q‖p)": found.kl_qp,
        "KL(p‖q)": found.kl_pq,
        "ESS": found.ess,
        "mass": found.mass,
        "rms error of log q": found.log_error,
        "KL(q‖p), self-normalised": found.self_normalised_qp,
        "KL(p‖q), self-normalised": found.self_normalised_pq,
    }


def trial_key(row: Row, number: int) -> PRNGKeyArray:
    """Return a random key that differs for every row and trial."""
    return jax.random.fold_in(jax.random.key(number), zlib.crc32(row.name.encode()))


def fit(row: Row, number: int) -> tuple[FitResult, int]:
    """Train a trial.

    Args:
        row: The row of the table.
        number: The trial's number, which is also its seed.

    Returns:
        The fit, and the number of draws of the target that it has seen.

    Raises:
        KeyboardInterrupt: The training was interrupted.
    """
    target, training = row.target(number), row.estimator.training
    rows_key, fit_key = jax.random.split(trial_key(row, number), 5)[:2]
    drawn = training.steps * training.batch_size
    match row.estimator:
        case MobiusFlow() as estimator:
            fitted, draws = estimator.fit_target(target.manifold, target, key=fit_key), 0
        case ManifoldODE() as estimator:
            fresh = Dataset(sampler(target), target.manifold)
            fitted, draws = estimator.fit(fresh, key=fit_key), drawn
        case estimator if row.rows:
            data = Dataset(target.sample(row.rows, key=rows_key), target.manifold)
            fitted = with_dequantization(estimator, row).fit(data, key=fit_key)
            draws = row.rows
        case estimator:
            fresh = Dataset(sampler(target), target.manifold)
            fitted = with_dequantization(estimator, row).fit(fresh, key=fit_key)
            draws = drawn + START_ROWS
    if fitted.record.stopped == INTERRUPTED:
        # The trainer returns what it has so far, but a trial must be complete.
        raise KeyboardInterrupt
    return fitted, draws


def with_dequantization(
    estimator: DequantizedFlow | SplineFlow, row: Row
) -> DequantizedFlow | SplineFlow:
    """The row's estimator with the row's dequantization, where it names one."""
    if isinstance(estimator, SplineFlow) or isinstance(row.dequantization, AbstractManifold):
        return estimator
    return dataclasses.replace(estimator, dequantization=row.dequantization)


def sampler(target: AbstractTarget):
    """Return a function that draws fresh rows for the trainer."""
    return lambda key, n: jax.vmap(lambda k: target.sample(key=k))(jax.random.split(key, n))
