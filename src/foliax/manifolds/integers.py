"""Discrete values: the integers, the naturals, multiples of a step."""

from __future__ import annotations

import math

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from ..registry import storable
from . import auxiliary
from .auxiliary import Auxiliary
from .base import AbstractDequantization, AbstractManifold, Ambient, Aux, Point, Scalar, safe_norm
from .local import (
    FAR_CELLS,
    FAR_OFFSET,
    MAX_CELLS,
    MAX_WHOLE_CELLS,
    CellsFromMedian,
    location_and_scale,
)

MIN_SPREAD_ROUNDINGS = 100.0
"""Spread of log counts, in float32 roundings of their logarithm, that makes merging harmless.

Kernels and flows are then many roundings wide, so that neighbouring counts have equal densities.
"""


def no_uniform(manifold: AbstractManifold) -> ValueError:
    """Return the error that manifolds of infinite volume raise in `sample_uniform`."""
    return ValueError(f"{manifold} has infinite volume, so there is no uniform density on it.")


@storable("manifolds.Rounded")
class Rounded(AbstractManifold):
    """offset + step·Z^d: values recorded to a fixed step; measure: counting, so densities are pmfs.

    A density per unit of the rounded quantity is the pmf over step^d. Values beyond 2^16 steps need
    float64; whole numbers beyond 2^23.

    Args:
        step: Distance between neighbouring values, in the unit of y.
        d: Dimension.
        offset: A value on the grid.
        floor: Whether values were rounded down (an age in years) instead of to the nearest.
    """

    step: float = eqx.field(static=True)
    d: int = eqx.field(static=True, default=1)
    offset: float = eqx.field(static=True, default=0.0)
    floor: bool = eqx.field(static=True, default=False)

    def __check_init__(self):
        if not (self.step > 0 and math.isfinite(self.step)):
            raise ValueError(f"Rounded(step) needs a positive step, got {self.step}.")

    @property
    def dim(self) -> int:
        return self.d

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.dim,)

    def violation(self, y: Point) -> Scalar:
        """Return the distance to the nearest multiple, in steps, beyond the float's own rounding.

        Beyond 2^16 steps float32 cannot resolve positions within a cell: that is a violation too.
        Whole numbers may be as large as 2^23: float32 has all of them, and a distribution that
        wide is smooth within a cell.
        """
        cell = (y - self.offset) / self.step
        slack = 4 * jnp.finfo(y.dtype).eps * (jnp.abs(cell) + jnp.abs(y) / self.step)
        gap = jnp.maximum(jnp.abs(cell - jnp.round(cell)) - slack, 0)
        return jnp.max(jnp.where(jnp.abs(cell) > self._max_steps(y.dtype), 1, gap))

    def _max_steps(self, dtype) -> float:
        if dtype != jnp.float32:
            return 2.0**44
        return MAX_WHOLE_CELLS if (self.step, self.offset) == (1, 0) else MAX_CELLS

    def describe_violation(self, y: np.ndarray) -> str:
        nearest = self.offset + self.step * np.round((y - self.offset) / self.step)
        most = self._max_steps(jnp.float32)
        if np.abs(y / self.step).max() > most:
            far = y[int(np.argmax(np.abs(y)))]
            return (
                f"value {far:.9g} is more than {most:.0f} steps from zero, too far for float32. "
                "Use float64, Naturals for counts, or subtract an offset."
            )
        worst = int(np.argmax(np.abs(y - nearest)))
        what = "an integer" if self.step == 1 else f"a multiple of {self.step}"
        return f"value {y[worst]:.9g} is not {what}; the nearest is {nearest[worst]:.9g}."

    def project(self, y: Point) -> Point:
        return self.offset + self.step * jnp.floor((y - self.offset) / self.step + 0.5)

    def distance(self, y: Point, other: Point) -> Scalar:
        return safe_norm(y - other)

    def features(self, y: Point) -> Float[Array, " f"]:
        return signed_log(y)

    def log_total_volume(self) -> float:
        return math.inf

    def sample_uniform(self, *, key: PRNGKeyArray) -> Point:
        raise no_uniform(self)

    def dequantization(self) -> Cells:
        return Cells(self)

    def local_coordinates(self, rows: np.ndarray) -> CellsFromMedian | None:
        cells = np.round((rows - self.offset) / self.step)
        origin = np.round(np.median(cells, axis=0))
        if np.abs(origin).max() <= FAR_CELLS and not self._loses_its_offset():
            return None
        return CellsFromMedian(
            Rounded(1.0, self.d, floor=self.floor), origin, self.step, self.offset
        )

    def _loses_its_offset(self) -> bool:
        """Whether float32 cannot add a step to the offset."""
        return abs(self.offset) > FAR_CELLS * self.step


def Integers(d: int = 1) -> Rounded:
    """Z^d; measure: counting; the cell of n is [n, n + 1), as in the paper."""
    return Rounded(1.0, d, floor=True)


@storable("manifolds.Cells")
class Cells(AbstractDequantization):
    """R^d -> (offset + h·Z)^d; z = u ∈ [0, 1)^d; x = y + h(u − c); log_volume = d log h.

    c = ½ for values rounded to the nearest, 0 for values rounded down: with h = 1 the paper's
    floor. Brofos et al. 2021, appendix on the integers.
    """

    manifold: Rounded

    @property
    def auxiliary(self) -> Auxiliary:
        return auxiliary.unit(self.manifold.dim)

    @property
    def ambient_dim(self) -> int:
        return self.manifold.dim

    @property
    def branches(self) -> int:
        return 1

    @property
    def _centre(self) -> float:
        return 0.0 if self.manifold.floor else 0.5

    def quantize(self, x: Ambient) -> tuple[Point, Aux]:
        m = self.manifold
        cell = (x - m.offset) / m.step + self._centre
        return m.offset + m.step * jnp.floor(cell), cell - jnp.floor(cell)

    def preimages(self, y: Point, z: Aux) -> tuple[Float[Array, "b m"], Float[Array, " b"]]:
        m = self.manifold
        log_volume = jnp.full(1, m.dim * math.log(m.step), z.dtype)
        return (y + m.step * (z - self._centre))[None], log_volume


@storable("manifolds.Naturals")
class Naturals(AbstractManifold):
    """{0, 1, 2, …}^d: counts; measure: counting."""

    d: int = eqx.field(static=True, default=1)

    @property
    def dim(self) -> int:
        return self.d

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.dim,)

    def violation(self, y: Point) -> Scalar:
        return jnp.max(jnp.abs(y - self.project(y)))

    def describe_violation(self, y: np.ndarray) -> str:
        if (y < 0).any():
            return f"count {y[int(np.argmin(y))]:.9g} is negative."
        worst = int(np.argmax(np.abs(y - np.round(y))))
        return f"count {y[worst]:.9g} is not a whole number."

    def project(self, y: Point) -> Point:
        # Above 2^23, y + 0.5 is no float32, and rounding it would change a whole number.
        return jnp.maximum(jnp.where(y == jnp.floor(y), y, jnp.floor(y + 0.5)), 0)

    def distance(self, y: Point, other: Point) -> Scalar:
        return safe_norm(y - other)

    def features(self, y: Point) -> Float[Array, " f"]:
        return jnp.log1p(y)

    def log_total_volume(self) -> float:
        return math.inf

    def sample_uniform(self, *, key: PRNGKeyArray) -> Point:
        raise no_uniform(self)

    def dequantization(self) -> LogCells:
        return LogCells(self)

    def local_coordinates(self, rows: np.ndarray) -> CellsFromMedian | None:
        """Count from the median if the counts are large and close together."""
        median, spread = location_and_scale(rows)
        apart = np.abs(rows - median).max()
        far = (median > FAR_CELLS) & (rows.min(axis=0) > median / 2)
        if not (far & (median > FAR_OFFSET * spread)).all() or apart >= MAX_WHOLE_CELLS:
            return None
        return CellsFromMedian(Integers(self.d), np.round(median), 1.0, 0.0)

    @property
    def rounds_samples(self) -> bool:
        return True

    def restore_digits(self, rows: np.ndarray, noise: np.ndarray) -> np.ndarray:
        """Spread each count over those whose logarithms have the same float32.

        The step of the logarithm near n is more than a cell wide for counts beyond 10^6. Smaller
        counts stay as they are. Counts of one step have almost equal probabilities.
        """
        middle = rows + 0.5
        step = np.spacing(np.log(middle).astype(np.float32)).astype(np.float64)
        return np.floor(middle * np.exp((noise - 0.5) * np.abs(step)))

    def tolerates_merging(self, rows: np.ndarray) -> bool:
        logs = np.log(rows + 0.5)
        rounding = np.finfo(np.float32).eps * np.abs(logs).max(axis=0)
        return bool((location_and_scale(logs)[1] > MIN_SPREAD_ROUNDINGS * rounding).all())


@storable("manifolds.LogCells")
class LogCells(AbstractDequantization):
    """R^d -> N^d by n = ⌊exp x⌋; z = u ∈ [0, 1)^d, x = log(n + u); log_volume = −Σ log(n + u).

    There is no mass below 0, and large counts keep their relative precision in float32.
    """

    manifold: Naturals

    @property
    def auxiliary(self) -> Auxiliary:
        return auxiliary.unit(self.manifold.dim)

    @property
    def ambient_dim(self) -> int:
        return self.manifold.dim

    @property
    def branches(self) -> int:
        return 1

    def quantize(self, x: Ambient) -> tuple[Point, Aux]:
        value = jnp.minimum(jnp.exp(x), jnp.finfo(x.dtype).max)
        return jnp.floor(value), value - jnp.floor(value)

    def preimages(self, y: Point, z: Aux) -> tuple[Float[Array, "b m"], Float[Array, " b"]]:
        x = jnp.log(y + z)
        return x[None], -x.sum()[None]


def signed_log(y: Float[Array, " d"]) -> Float[Array, " d"]:
    """Return sign(y) log(1 + |y|), the network input for an unbounded value."""
    return jnp.sign(y) * jnp.log1p(jnp.abs(y))
