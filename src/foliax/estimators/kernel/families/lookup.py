"""Find the kernel family of a manifold."""

from __future__ import annotations

from ....manifolds import AbstractManifold
from ....manifolds.base import is_chart, is_chart_by_cells
from ...base import UnsupportedManifoldError
from .base import FAMILIES, AbstractKernelFamily
from .charts import CellKernel, ChartKernel


def kernel_family(manifold: AbstractManifold) -> AbstractKernelFamily:
    """Find the family that is registered for a manifold, or that of its chart.

    A quotient has the family of the manifold above it: its group acts by isometries, so that a
    kernel of the quotient is a sum of kernels over an orbit.

    Args:
        manifold: A manifold that is no product.

    Returns:
        The family.

    Raises:
        UnsupportedManifoldError: No family is registered, and the manifold is not one chart.
    """
    base = manifold.unfolded
    for cls in type(base).__mro__:
        if cls in FAMILIES:
            return FAMILIES[cls](base)
    g = base.dequantization()
    if is_chart(g):
        return ChartKernel(g)
    if is_chart_by_cells(g):
        return CellKernel(g)
    raise UnsupportedManifoldError(
        f"There is no kernel for {base}: kernels are for spheres, tori, rotations, reals, "
        "half-lines, intervals, counted and rounded values, their products and their quotients. "
        "DequantizedFlow serves every manifold."
    )
