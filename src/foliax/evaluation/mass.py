"""Total mass of a fitted density, the smoke detector at the end of every fit."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, PRNGKeyArray
from scipy.spatial import KDTree

from ..density import AbstractDensity
from ..density.localized import LocalizedDensity
from ..estimators import KernelDensity, UnsupportedManifoldError
from ..estimators.kernel.components import ScaleKernels
from ..estimators.kernel.pruning import evaluate_parts
from ..estimators.kernel.space import Space
from ..estimators.weights import mixture_weights
from ..training import Record
from .metrics import Estimate, NoOverlapError, combine_bridge, sample_bridge

TOLERANCE = 0.02
"""How far from 1 a total mass may be, beyond its own error."""
MAX_STANDARD_ERRORS = 3.0
"""Standard errors by which a total mass may be off besides."""
MAX_ERROR = 0.02
"""The largest standard error of a mass that counts as measured."""
TARGET_ERROR = 0.018
"""The standard error that more samples should reach, so that it is below `MAX_ERROR`."""
MAX_WORK = 500_000
"""Evaluations of a flow or the like that the check may take at first: about a second."""
MOST_DRAWS, LEAST_DRAWS = 2000, 300
MAX_GROWTH = 4
"""How many times as many samples the check may take where the first ones leave a large error."""
MAX_EXTRA_WORK_UNITS = 5.0
"""Work units of evaluating these samples: a check must be cheap beside its fit."""
REFERENCE_ROWS = 256
"""Kernels of the reference. Always as many, so that one compiled program serves every table."""
NEIGHBOUR_SHARE = 8
"""The distance to the nearest 1/8 of the reference's centres scales bandwidths."""
BANDWIDTHS = 16
"""Number of the reference's bandwidths, from narrow clusters to the deviation of all rows."""
NARROWEST, WIDEST = 1 / 16, 2.0
"""Ends of the bandwidths, in distances to neighbours and in standard deviations of the rows."""
MIN_SHARE = 0.1
"""Share of the reference that all bandwidths have equally, so that none vanishes."""


class UnmeasuredMassError(ValueError):
    """A total mass that is not measured, for a reason that the message gives."""


def check_total_mass(
    density: AbstractDensity, rows: np.ndarray, record: Record, *, key: PRNGKeyArray
) -> None:
    """Measure the total mass where that is cheap, note it in the record, and say if it is off.

    A mass that cannot be measured is an event too: the fit is kept, whatever happens here.

    Args:
        density: What was fitted.
        rows: Rows that it was fitted to.
        record: Gets `mass`; a warning where the mass is off by more than 2 %; and an event where
            its standard error is above 2 %, or where there is none.
        key: Chooses the samples.
    """
    try:
        found = total_mass_of_fit(density, rows, key=key)
    except UnmeasuredMassError as error:
        record.events.append(f"The total mass was not measured: {error}")
        return
    except NoOverlapError as error:
        record.events.append(
            f"The total mass could not be measured. {error} Compare samples of the model with the "
            "rows: it may have missed most of them."
        )
        return
    except Exception as error:  # the fit took minutes; nothing here may lose it
        record.events.append(
            f"The total mass could not be measured. {type(error).__name__}: {error}"
        )
        return
    record.mass = (found.value, found.error)
    if mass_is_off(record):
        record.warn(
            f"WRONG: the total mass is {found.value:.3f} ± {found.error:.3f}, not 1, so that these "
            "log densities cannot be trusted. Please report the data that show it."
        )
    elif not mass_is_measured(record):
        record.events.append(
            f"The total mass could not be measured: {found.value:.3f} ± {found.error:.3f} has a "
            f"standard error above {MAX_ERROR}."
        )


def mass_is_off(record: Record) -> bool:
    """Whether the measured total mass is off by more than 2 % and its own error."""
    if record.mass is None:
        return False
    value, error = record.mass
    return not abs(value - 1) <= TOLERANCE + MAX_STANDARD_ERRORS * error


def mass_is_measured(record: Record) -> bool:
    """Whether there is a total mass whose standard error is at most 2 %."""
    return record.mass is not None and record.mass[1] <= MAX_ERROR


def describe_mass(record: Record) -> str:
    """Say what the total mass is, and whether it is known well enough, in one or two sentences."""
    if record.mass is None:
        return "The total mass is not known. The events say why."
    shown = "The total mass is {:.4f} ± {:.4f}".format(*record.mass)
    if mass_is_off(record):
        return f"{shown}; it should be 1."
    if not mass_is_measured(record):
        return f"{shown}, which does not tell whether it is 1: its error is above {MAX_ERROR}."
    return f"{shown}, as it should be."


def total_mass_of_fit(density: AbstractDensity, rows: np.ndarray, *, key: PRNGKeyArray) -> Estimate:
    """∫ p by a bridge to kernels around some of the rows and samples.

    The kernels' mass is known exactly, and no offset or scale of the rows disturbs it. If the error
    is large, up to `MAX_GROWTH` times as many samples reduce it.

    Raises:
        UnmeasuredMassError: The measurement is not cheap, or there is nothing to compare with.
    """
    draws = min(MOST_DRAWS, MAX_WORK // max(1, density.work))
    if draws < LEAST_DRAWS:
        raise UnmeasuredMassError(
            f"it would take {LEAST_DRAWS * density.work:,} evaluations, and the check makes at "
            f"most {MAX_WORK:,}. In Python, foliax.evaluation.bridged_mass with a kernel of the "
            "same rows has no limit."
        )
    if len(rows) < 2:
        raise UnmeasuredMassError("it takes at least 2 rows. Fit more rows.")
    k1, k2, k3 = jax.random.split(key, 3)
    try:
        other = reference_kernels(density, np.asarray(rows, np.float64), key=k1)
    except UnsupportedManifoldError as error:
        raise UnmeasuredMassError(
            f"it is compared with kernels, and none serve {density.manifold}. In Python, "
            "foliax.evaluation.total_mass uses uniform points instead, where the volume is finite."
        ) from error
    values = sample_bridge(density, other, draws, key=k2)
    found, growth = combine_bridge(*values), 1.0
    if found.error > MAX_ERROR:
        most = 1 + MAX_EXTRA_WORK_UNITS // (draws * density.evaluation_work)
        growth = min(MAX_GROWTH, most, np.ceil((found.error / TARGET_ERROR) ** 2))
    if growth > 1:
        more = sample_bridge(density, other, int(growth - 1) * draws, key=k3)
        above, below = (np.concatenate(both) for both in zip(values, more, strict=True))
        found = combine_bridge(above, below)
    return found


def reference_kernels(
    density: AbstractDensity, rows: np.ndarray, *, key: PRNGKeyArray
) -> AbstractDensity:
    """Kernels of many bandwidths, in the coordinates in which the density was fitted.

    Half of the centres are rows, to see mass that the density never samples. Other samples fit the
    weights of the bandwidths by EM.
    """
    k1, k2 = jax.random.split(key)
    order = np.asarray(jax.random.permutation(k1, len(rows)))
    half = REFERENCE_ROWS // 2
    rows = np.concatenate([rows[np.resize(order, half)], density.sample(3 * half, key=k2)])
    manifold = density.manifold
    if isinstance(density, LocalizedDensity):
        manifold, rows = density.coordinates.working, density.coordinates.encode(rows)[0]
    points, others = np.split(np.asarray(jnp.asarray(rows)), [REFERENCE_ROWS])
    space = Space(manifold)
    relative, widths = _bandwidths(space, points)
    equal = np.ones(len(points))
    kernels = ScaleKernels(space, points, equal, np.arange(len(points)), widths**-2, relative)
    shares, _ = mixture_weights(evaluate_parts([kernels], others), np.ones(len(others)))
    weights = jnp.asarray(np.log((1 - MIN_SHARE) * shares + MIN_SHARE / len(widths)), points.dtype)
    found = KernelDensity(manifold, (kernels,), (weights,))
    return density.with_density(found) if isinstance(density, LocalizedDensity) else found


def _bandwidths(
    space: Space, points: Float[np.ndarray, "n size"]
) -> tuple[Float[np.ndarray, " s"], Float[np.ndarray, " k"]]:
    """Relative bandwidths by each block's own neighbours, and factors for all of them."""
    embedded = np.asarray(jax.vmap(space.embed)(jnp.asarray(points)), float)
    index = space.bandwidth_index()
    deviation = np.sqrt(np.bincount(index, embedded.var(0)))
    deviation = np.where(deviation > 0, deviation, 1.0)
    near, k = np.empty(len(deviation)), len(points) // NEIGHBOUR_SHARE
    for block in range(len(deviation)):
        values = embedded[:, index == block]
        near[block] = np.median(KDTree(values).query(values, k)[0][:, -1])
    near = np.where(near > 0, near, deviation)
    return 1 / near, np.geomspace(NARROWEST, WIDEST * (deviation / near).max(), BANDWIDTHS)
