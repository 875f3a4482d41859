"""What kinds of matrices with orthonormal columns share: checks and projection."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from jaxtyping import Float

from .base import Check
from .unit_vectors import TOLERANCE

Matrices = Float[np.ndarray, "rows n p"]


def orthonormality_gaps(matrices: Matrices) -> np.ndarray:
    """Return the largest entry of |MᵀM − Id| for each matrix."""
    products = np.swapaxes(matrices, 1, 2) @ matrices
    return np.abs(products - np.eye(matrices.shape[2])).max((1, 2))


def polar_factors(matrices: Matrices) -> Matrices:
    """Return the nearest matrices with orthonormal columns."""
    u, _, vh = np.linalg.svd(matrices, full_matrices=False)
    return u @ vh


def are_singular(matrices: Matrices) -> np.ndarray:
    """Whether each matrix lacks full rank, so that it has no nearest orthonormal matrix."""
    return np.linalg.svd(matrices, compute_uv=False)[:, -1] < 1e-9


def orthonormal_checks(matrices: Matrices) -> Iterator[Check]:
    """Check that columns are orthonormal, up to rounding to two decimals."""
    singular = are_singular(matrices)
    yield Check(singular, lambda row: "the matrix is singular, so it is not a frame. Drop the row.")
    yield Check(
        ~singular & ~(orthonormality_gaps(matrices) <= 2 * TOLERANCE),
        lambda row: (
            "the columns of the matrix are not orthonormal: MᵀM differs from the identity by "
            f"{orthonormality_gaps(row.reshape(1, *matrices.shape[1:]))[0]:.3g}. Is it row by row? "
            "The nearest such matrix is its polar factor (project)."
        ),
    )
