"""Other ways to a density on a manifold, behind the same interface."""

from .kernel import ScaleMixtureKernel
from .local import LocalKernel
from .mixtures import DirectionalMixture, MixtureDensity

__all__ = ["DirectionalMixture", "LocalKernel", "MixtureDensity", "ScaleMixtureKernel"]
