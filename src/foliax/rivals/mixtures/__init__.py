"""Mixtures of directional densities by EM, with a choice of how many."""

from .base import AbstractComponents, AbstractFamily, MixtureDensity
from .rotations import MatrixFisherComponents, MatrixFisherFamily
from .spec import DirectionalMixture, family
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
    "family",
]
