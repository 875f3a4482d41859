"""Errors of a fit about single precision, in the words of the user's table."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd

from ..manifolds import OffManifoldError
from ..manifolds.digits import format_number
from ..manifolds.far_values import FarValueError
from ..manifolds.local import Unchanged
from ..manifolds.points import check_points_on_device
from ..manifolds.resolution import ResolutionError
from .columns import read_numbers
from .errors import TableError
from .factor import Factor
from .row_names import row_name


@contextlib.contextmanager
def name_columns_in_errors(
    factors: Sequence[Factor], frame: pd.DataFrame | None, points: np.ndarray | None
) -> Iterator[None]:
    """Convert errors of a fit to `TableError`; see `Schema.name_columns_in_errors`."""
    try:
        yield
    except ResolutionError as error:
        raise TableError(_name_columns(factors, error, one=False)) from error
    except FarValueError as error:
        raise TableError(_name_columns(factors, error, one=True)) from error
    except OffManifoldError as error:
        found = None
        if frame is not None and points is not None:
            found = _describe_unresolved_row(factors, frame, points)
        if found is None:
            raise
        raise TableError(found) from error


def _name_columns(
    factors: Sequence[Factor], error: ResolutionError | FarValueError, *, one: bool
) -> str:
    """Name the columns of the factor that an error is about, or one of them if it has one each."""
    sizes = [factor.kind.manifold().size for factor in factors]
    ends = np.cumsum(sizes)
    number = int(np.searchsorted(ends, error.coordinate, side="right"))
    columns = factors[number].columns
    if one and sizes[number] == len(columns):
        columns = [columns[error.coordinate - ends[number]]]
    what = "Columns" if len(columns) > 1 else "Column"
    return f"{what} {', '.join(columns)}: {error.reason}"


def _describe_unresolved_row(
    factors: Sequence[Factor], frame: pd.DataFrame, points: np.ndarray
) -> str | None:
    """Name the first row that is no point in single precision; None if all rows are."""
    sizes = [factor.kind.manifold().size for factor in factors]
    parts = np.split(points, np.cumsum(sizes)[:-1], axis=1)
    for factor, part in zip(factors, parts, strict=True):
        manifold = factor.kind.manifold()
        local = manifold.local_coordinates(part) or Unchanged(manifold)
        try:
            check_points_on_device(local.working, local.encode(part)[0])
        except OffManifoldError as error:
            row = error.row or 0
            numbers = read_numbers(frame.iloc[[row]], factor.columns).values[0]
            values = ", ".join(map(format_number, numbers))
            what = "columns" if len(factor.columns) > 1 else "column"
            return (
                f"{row_name(frame, row)}, {what} {', '.join(factor.columns)}: {values} is too far "
                "from the other rows for single precision. Correct it, drop the row, or declare "
                "another kind of column."
            )
    return None
