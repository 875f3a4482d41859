"""Densities on R^m: coupling, autoregressive and residual flows, ODEs, mixtures.

Each is a description with `build`, which returns an `AbstractAmbient`. An adapter takes any
flowjax distribution. The subpackage `manifold` has the bijections of manifolds.
May import: `manifolds`.
"""

from foliax.flows.adapter import Flowjax as Flowjax
from foliax.flows.adapter import FromFlowjax as FromFlowjax
from foliax.flows.autoregressive import AutoregressiveSpline as AutoregressiveSpline
from foliax.flows.base import AbstractAmbient as AbstractAmbient
from foliax.flows.coupling import RealNVP as RealNVP
from foliax.flows.coupling import SplineCoupling as SplineCoupling
from foliax.flows.discrete_ode import DiscreteODE as DiscreteODE
from foliax.flows.mixture import GaussianMixture as GaussianMixture
from foliax.flows.neural_ode import NeuralODE as NeuralODE
from foliax.flows.residual import Residual as Residual
from foliax.flows.scaled import Scaled as Scaled
from foliax.flows.spec import AbstractAmbientSpec as AbstractAmbientSpec

from .in_ball import InBall as InBall
