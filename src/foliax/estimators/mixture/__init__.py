"""Mixtures of directional distributions, fitted by EM.

One family for spheres, one for tori and one for rotations. The number of components is chosen by
held-out likelihood or by BIC.
May import: `estimators.base` and everything below `estimators`.
"""

from .base import AbstractComponents, AbstractFamily, MixtureDensity
from .estimator import DirectionalMixture
from .lookup import find_family
from .rotations import MatrixFisherComponents, MatrixFisherFamily
from .sphere import VonMisesFisherComponents, VonMisesFisherFamily
from .torus import WrappedNormalComponents, WrappedNormalFamily

__all__ = [
    "AbstractComponents",
    "AbstractFamily",
    "DirectionalMixture",
    "MatrixFisherComponents",
    "MatrixFisherFamily",
    "MixtureDensity",
    "VonMisesFisherComponents",
    "VonMisesFisherFamily",
    "WrappedNormalComponents",
    "WrappedNormalFamily",
    "find_family",
]
