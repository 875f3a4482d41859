"""Kernel density estimators.

`scale_mixture` and `local` are the estimators; `families` has the kernels of each manifold,
`components` and `shapes` sum them over rows. `pruning` and `scoring` skip negligible ones.
May import: `estimators.base`, `estimators.weights` and everything below `estimators`.
"""

from .density import KernelDensity
from .local import LocalKernel
from .scale_mixture import ScaleMixtureKernel

__all__ = ["KernelDensity", "LocalKernel", "ScaleMixtureKernel"]
