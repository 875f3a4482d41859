"""Densities on R^m: the flows that a dequantization marginalises.

A *spec* describes one (``RealNVP(layers=3, width=40)``), and
``spec.build(dim, shift=…, scale=…, key=…)`` gives an :class:`AbstractAmbient`.
"""

from foliax.ambient.adapter import Flowjax as Flowjax
from foliax.ambient.adapter import FromFlowjax as FromFlowjax
from foliax.ambient.autoregressive import AutoregressiveSpline as AutoregressiveSpline
from foliax.ambient.base import AbstractAmbient as AbstractAmbient
from foliax.ambient.base import AbstractAmbientSpec as AbstractAmbientSpec
from foliax.ambient.coupling import RealNVP as RealNVP
from foliax.ambient.coupling import SplineCoupling as SplineCoupling
from foliax.ambient.discrete_ode import DiscreteODE as DiscreteODE
from foliax.ambient.mixture import GaussianMixture as GaussianMixture
from foliax.ambient.neural_ode import NeuralODE as NeuralODE
from foliax.ambient.residual import Residual as Residual
from foliax.ambient.scaled import Scaled as Scaled
