"""Kernel density estimators.

`scale_mixture` and `local` are the estimators; `families` has a kernel for each manifold,
`components` sums them over rows, and `pruning` skips those that cannot matter.
May import: `estimators.base`, `estimators.weights` and everything below `estimators`.
"""

from .density import KernelDensity
from .local import LocalKernel
from .scale_mixture import ScaleMixtureKernel

__all__ = ["KernelDensity", "LocalKernel", "ScaleMixtureKernel"]
