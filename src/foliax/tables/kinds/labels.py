"""Labels of measures and axes that several kinds share."""

from __future__ import annotations

from collections.abc import Sequence

from ...manifolds import AbstractManifold
from ..periods import Turn
from .base import AxisLabel, Measure

UNIFORM = "× uniform"
"""Label of densities in multiples of the uniform density."""


def per_power(unit: str, exponent: int) -> str:
    """Write "per unit" to a power, e.g. "per degree²"."""
    digits = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
    return f"per {unit}{str(exponent).translate(digits) if exponent > 1 else ''}"


def per_column(columns: Sequence[str], unit: str | None) -> str:
    """Write the label for columns that each have this unit."""
    return " · ".join(f"per {unit or f'unit of {column}'}" for column in columns)


def relative_to_uniform(manifold: AbstractManifold) -> Measure:
    """Return the measure in multiples of the uniform density, for finite volumes."""
    return Measure(UNIFORM, manifold.log_total_volume())


def axis_labels(columns: Sequence[str], unit: str | Turn | None) -> tuple[AxisLabel, ...]:
    """Label axes of columns that all have this unit."""
    return tuple(AxisLabel(column, unit or "") for column in columns)
