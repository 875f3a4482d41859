"""Means with their standard errors."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np


class Estimate(NamedTuple):
    """A Monte Carlo mean and its standard error."""

    value: float
    error: float

    def __str__(self):
        return f"{self.value:.5f} ± {self.error:.5f}"


def mean_and_error(
    values: np.ndarray, weights: np.ndarray | None = None, blocks: np.ndarray | None = None
) -> Estimate:
    """Estimate the mean of values and its standard error.

    Args:
        values: The values.
        weights: A weight for each, given and not estimated; by default all count the same.
        blocks: A label for each. Values of one block depend on each other, so that the error is
            that of independent blocks, to which a block bootstrap converges. By default all values
            are independent.
    """
    n = len(values)
    share = np.full(n, 1 / n) if weights is None else weights / weights.sum()
    mean = share @ values
    parts = share * (values - mean)
    if blocks is not None:
        parts = np.bincount(np.unique(blocks, return_inverse=True)[1].reshape(-1), parts)
        n = len(parts)
        if n == 1:
            return Estimate(float(mean), math.inf)
    variance = (parts**2).sum() * n / (n - 1)
    return Estimate(float(mean), float(np.sqrt(variance)))
