"""Kernel families: how each manifold enters a kernel.

`base` has the interface and the decorator that registers a family for a manifold type.
`directional` has the families of spheres, tori and rotations, `charts` those of single charts.
May import: `estimators.base` and everything below `estimators`.
"""

from .base import AbstractKernelFamily, kernel_for
from .charts import CellKernel, ChartKernel, ChartKernelTangent
from .directional import MatrixFisherKernel, VonMisesFisherKernel, VonMisesKernel
from .lookup import kernel_family

__all__ = [
    "AbstractKernelFamily",
    "CellKernel",
    "ChartKernel",
    "ChartKernelTangent",
    "MatrixFisherKernel",
    "VonMisesFisherKernel",
    "VonMisesKernel",
    "kernel_family",
    "kernel_for",
]
