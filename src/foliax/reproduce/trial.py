"""One trial of one row: training, evaluation, and what is kept of it."""

from __future__ import annotations

import importlib.metadata
import json
import math
import time
import zlib
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PRNGKeyArray

from .. import files, metrics
from ..density import DequantizedDensity, coarse
from ..fit import FIRST, settled
from ..record import INTERRUPTED
from ..rivals.manifold_ode import ManifoldODE
from ..rivals.mobius import MobiusFlow
from ..specs import Fitted
from ..targets import AbstractTarget
from .recipes import Row

SAMPLES, EXACT = 20_000, 100_000
"""Samples of q and of p for their moments: p's are cheap."""
ANGLES = "raw angles"
VERSIONS = ("foliax", "jax", "equinox", "flowjax", "optax")


def measure(row: Row, number: int, fitted: Fitted, draws: int) -> dict[str, Any]:
    """What goes into the file of trial `number` of a row, by what `fit` gave."""
    target = row.target(number)
    compare_key, q_key, p_key = jax.random.split(key_of(row, number), 5)[2:]
    settle_key = jax.random.fold_in(compare_key, 0)
    began = time.monotonic()
    density = fitted.density
    if isinstance(density, DequantizedDensity) and math.isfinite(row.tol):
        # What is compared is the same density; its estimates are better.
        density = settled(density, key=settle_key)
    found = metrics.compare(coarse(density), target, row.points, key=compare_key, tol=row.tol)
    drawn = metrics.samples(fitted.density, min(SAMPLES, 10 * row.points), key=q_key)
    exact = metrics.samples(target, EXACT, key=p_key)
    embed = eqx.filter_jit(jax.vmap(target.manifold.features))
    moments = metrics.moments(
        *(np.asarray(embed(jnp.asarray(part)), float) for part in (drawn, exact))
    )
    measured = {
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
    if row.angles:
        # In [0, 2π), as the paper's.
        raw = metrics.moments(*(np.asarray(part, float) % (2 * math.pi) for part in (drawn, exact)))
        measured |= {f"mean, {ANGLES}": raw.mean, f"covariance, {ANGLES}": raw.covariance}
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


def key_of(row: Row, number: int) -> PRNGKeyArray:
    """Another for every row and trial."""
    return jax.random.fold_in(jax.random.key(number), zlib.crc32(row.name.encode()))


def fit(row: Row, number: int) -> tuple[Fitted, int]:
    """The density of trial `number`, whose seed it is, and how many draws it has seen."""
    target, training = row.target(number), row.spec.training
    rows_key, fit_key = jax.random.split(key_of(row, number), 5)[:2]
    drawn = training.steps * training.batch
    match row.spec:
        case MobiusFlow() as spec:
            fitted, draws = spec.fit_target(target.manifold, target, key=fit_key), 0
        case ManifoldODE() as spec:
            fitted, draws = spec.fit(target.manifold, sampler(target), key=fit_key), drawn
        case spec if row.rows:
            data = metrics.samples(target, row.rows, key=rows_key)
            fitted, draws = spec.fit(row.where, data, key=fit_key), row.rows
        case spec:
            fitted, draws = spec.fit(row.where, sampler(target), key=fit_key), drawn + FIRST
    if fitted.record.stopped == INTERRUPTED:
        # The trainer would make do with what it has; a trial is whole or none.
        raise KeyboardInterrupt
    return fitted, draws


def sampler(target: AbstractTarget):
    """Fresh draws for the trainer."""
    return lambda key, n: jax.vmap(lambda k: target.sample(key=k))(jax.random.split(key, n))


def settings(row: Row, number: int) -> dict[str, Any]:
    """What a trial depends on: a stored one counts only if it agrees."""
    return {
        "table": row.table,
        "density": row.density,
        "method": row.method,
        "trial": number,
        "spec": repr(row.spec),
        "dequantization": repr(row.where),
        "target": repr(row.target(number)),
        "steps": row.spec.training.steps,
        "rows": row.rows,
        "points": row.points,
    }


def stored(folder: Path, row: Row, number: int) -> dict[str, Any] | None:
    """The trial's file, where there is one of the same settings."""
    path = path_of(folder, row, number)
    if not path.exists():
        return None
    found = json.loads(path.read_text())
    wanted = settings(row, number)
    return found if {name: found.get(name) for name in wanted} == wanted else None


def store(folder: Path, row: Row, number: int, found: dict[str, Any]) -> None:
    """Write the trial's file, whole or not at all."""
    path = path_of(folder, row, number)
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(found, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    with files.replacing(path) as file:
        file.write(text.encode())


def path_of(folder: Path, row: Row, number: int) -> Path:
    """Where a trial is kept."""
    return folder / row.table / row.name / f"{number}.json"
