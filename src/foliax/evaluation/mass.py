"""Total mass of a fitted density, the smoke detector at the end of every fit."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PRNGKeyArray

from ..density import AbstractDensity
from ..density.localized import LocalizedDensity
from ..estimators import KernelDensity, UnsupportedManifoldError
from ..estimators.kernel.components import ScaleKernels
from ..estimators.kernel.space import Space
from ..training import Record
from .metrics import Estimate, NoOverlapError, bridged_mass

TOLERANCE = 0.02
"""How far from 1 a total mass may be, beyond its own error."""
ERRORS = 3.0
"""Standard errors that are allowed for besides."""
MOST_WORK = 500_000
"""Evaluations of a flow or the like that the check may take: about a second."""
MOST_DRAWS, LEAST_DRAWS = 2000, 300
REFERENCE_ROWS = 256
BANDWIDTHS = (1.0, 0.3, 0.1)
"""Of the reference's kernels, in standard deviations of the rows: far above what float32 loses."""


def check_total_mass(
    density: AbstractDensity, rows: np.ndarray, record: Record, *, key: PRNGKeyArray
) -> None:
    """Measure the total mass where that is cheap, note it in the record, and say if it is off.

    A mass that cannot be measured is an event too: the fit is kept.

    Args:
        density: What was fitted.
        rows: Rows that it was fitted to.
        record: Gets `mass`, and a warning where the mass is off by more than 2 %.
        key: Chooses the samples.
    """
    try:
        found = total_mass_of_fit(density, rows, key=key)
    except (NoOverlapError, FloatingPointError) as error:
        record.events.append(f"The total mass could not be measured. {error}")
        return
    if found is None:
        return
    record.mass = (found.value, found.error)
    if mass_is_off(record):
        record.warn(
            f"WRONG: the total mass is {found.value:.3f} ± {found.error:.3f}, not 1, so that these "
            "log densities cannot be trusted. Please report the data that show it."
        )


def mass_is_off(record: Record) -> bool:
    """Whether the measured total mass is off by more than 2 % and its own error."""
    if record.mass is None:
        return False
    value, error = record.mass
    return not abs(value - 1) <= TOLERANCE + ERRORS * error


def total_mass_of_fit(
    density: AbstractDensity, rows: np.ndarray, *, key: PRNGKeyArray
) -> Estimate | None:
    """∫ p by a bridge to broad kernels around some of the rows; None where that is not cheap.

    The kernels' mass is known exactly, and no offset or scale of the rows disturbs it.
    """
    draws = min(MOST_DRAWS, MOST_WORK // max(1, density.work))
    if draws < LEAST_DRAWS or len(rows) < 2:
        return None
    k1, k2 = jax.random.split(key)
    try:
        other = broad_kernels(density, np.asarray(rows, np.float64), key=k1)
        return bridged_mass(density, other, draws, key=k2)
    except UnsupportedManifoldError:
        return None


def broad_kernels(
    density: AbstractDensity, rows: np.ndarray, *, key: PRNGKeyArray
) -> AbstractDensity:
    """Kernels of a few broad bandwidths, in the coordinates in which the density was fitted."""
    # Always as many, so that one compiled program serves every table.
    order = np.asarray(jax.random.permutation(key, len(rows)))
    rows = rows[np.resize(order, REFERENCE_ROWS)]
    manifold = density.manifold
    if isinstance(density, LocalizedDensity):
        manifold, rows = density.coordinates.working, density.coordinates.encode(rows)[0]
    space = Space(manifold)
    points = np.asarray(jnp.asarray(rows))
    embedded = np.asarray(jax.vmap(space.embed)(jnp.asarray(points)), float)
    variance = np.bincount(space.bandwidth_index(), embedded.var(0))
    relative = np.where(variance > 0, 1 / np.sqrt(np.maximum(variance, 1e-30)), 1.0)
    kappas = 1 / np.square(BANDWIDTHS)
    kernels = ScaleKernels(
        space, points, np.ones(len(points)), np.arange(len(points)), kappas, relative
    )
    weights = jnp.full(len(kappas), -np.log(len(kappas)), points.dtype)
    found = KernelDensity(manifold, (kernels,), (weights,))
    return density.with_density(found) if isinstance(density, LocalizedDensity) else found
