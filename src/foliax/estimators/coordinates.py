"""Local coordinates of the rows that an estimator is fitted to."""

from __future__ import annotations

import numpy as np

from ..density import Dataset
from ..manifolds.local import AbstractCoordinates, Unchanged
from ..manifolds.points import OffManifoldError, check_points_on_device
from ..manifolds.resolution import check_resolution


def find_coordinates(data: Dataset) -> AbstractCoordinates | None:
    """The coordinates that rows must be fitted in; None where they can be fitted as they are."""
    if data.is_sampler or not len(data):
        return None
    rows = data.rows.astype(np.float64)
    local = data.manifold.local_coordinates(rows)
    coordinates = local or Unchanged(data.manifold)
    check_resolution(coordinates, rows)
    try:
        check_points_on_device(coordinates.working, coordinates.encode(rows)[0])
    except OffManifoldError as error:
        if error.row is None:
            raise
        number = int(data.names.numbers[error.row])
        raise OffManifoldError(error.reason, number, data.names[error.row]) from error
    return local


def localize(data: Dataset, local: AbstractCoordinates) -> Dataset:
    """The same rows in local coordinates."""
    rows = local.encode(data.rows.astype(np.float64))[0]
    return data.replace(rows=rows, manifold=local.working)
