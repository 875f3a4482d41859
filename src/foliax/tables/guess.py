"""A guess at what columns are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from .column_names import unit_in_names

ColumnValues = Mapping[str, np.ndarray]
"""Columns by name, as finite numbers of equal length."""


class Guess(NamedTuple):
    """What some columns are.

    Attributes:
        columns: The columns.
        name: Name of the factor.
        call: The factor's `kind(…)`; None to leave the columns out.
        assumed: A sentence that states the assumption.
    """

    columns: tuple[str, ...]
    name: str
    call: str | None
    assumed: str


def guess_angle_unit(values: ColumnValues, columns: tuple[str, ...]) -> tuple[str, str]:
    """Return the unit of angles and the reason: the columns' names, or their range."""
    stated = unit_in_names(columns)
    if stated:
        return stated, "by their names"
    most = max(float(np.abs(values[column]).max()) for column in columns)
    return ("radians" if most <= 6.2832 else "degrees"), f"as they reach {most:.4g}"
