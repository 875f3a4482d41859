"""Determinants of small matrices, written out where that is exact and fast."""

import jax.numpy as jnp
from jaxtyping import Array, Float


def determinant(a: Float[Array, "m m"]) -> Float[Array, ""]:
    """Compute det a by products up to m = 4, which need no factorisation; above by LU."""
    m = a.shape[0]
    if m == 1:
        return a[0, 0]
    if m == 2:
        return _minor(a, 0, 0, 1)
    if m == 3:
        return (
            a[2, 0] * _minor(a, 0, 1, 2)
            - a[2, 1] * _minor(a, 0, 0, 2)
            + a[2, 2] * _minor(a, 0, 0, 1)
        )
    if m == 4:  # Laplace's expansion by the first two rows
        return (
            _minor(a, 0, 0, 1) * _minor(a, 2, 2, 3)
            - _minor(a, 0, 0, 2) * _minor(a, 2, 1, 3)
            + _minor(a, 0, 0, 3) * _minor(a, 2, 1, 2)
            + _minor(a, 0, 1, 2) * _minor(a, 2, 0, 3)
            - _minor(a, 0, 1, 3) * _minor(a, 2, 0, 2)
            + _minor(a, 0, 2, 3) * _minor(a, 2, 0, 1)
        )
    return jnp.linalg.det(a)


def log_determinant(a: Float[Array, "m m"], floor: float = 0.01) -> Float[Array, ""]:
    """Compute log det a where det a ≥ floor; below the floor continue by the tangent there.

    This is a barrier against folds. The tangent falls to −∞ as det does, so that training moves a
    layer away from a negative determinant, which log |det| would reward. The density is exact while
    all determinants exceed the floor. Otherwise total mass and `sample` show the error.

    Args:
        a: The matrix.
        floor: The determinant below which the tangent is used.

    Returns:
        The log determinant, or its continuation.
    """
    det = determinant(a)
    return jnp.where(
        det > floor, jnp.log(jnp.maximum(det, floor)), jnp.log(floor) + det / floor - 1
    )


def log_determinant_of_positive(a: Float[Array, "m m"]) -> Float[Array, ""]:
    """Compute log det of a symmetric positive matrix by the pivots of Gaussian elimination.

    It is written out, since a factorisation of many small matrices is slow to differentiate.
    """
    pivot = a[0, 0]
    if len(a) == 1:
        return jnp.log(pivot)
    rest = a[1:, 1:] - jnp.outer(a[1:, 0], a[0, 1:]) / pivot
    return jnp.log(pivot) + log_determinant_of_positive(rest)


def _minor(a: Float[Array, "m m"], row: int, i: int, j: int) -> Float[Array, ""]:
    """Compute the 2×2 minor of rows (row, row + 1) and columns (i, j)."""
    return a[row, i] * a[row + 1, j] - a[row, j] * a[row + 1, i]
