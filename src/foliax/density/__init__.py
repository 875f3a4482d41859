"""Densities on manifolds: the interface and its implementations.

`base` has the interface, `dequantized`, `mixture` and `pushforward` implement it. `integrate` has
the integrals over z, `evaluate` refines them until their errors are within a tolerance.
May import: `dequantizers`, `flows` and `manifolds`.
"""

from .base import AbstractDensity
from .dequantized import DequantizedDensity, coarse, thorough
from .evaluate import Evaluation, evaluate
from .integrate import (
    RQMC,
    AbstractIntegrator,
    Exact,
    Integrand,
    MonteCarlo,
    Own,
    Quadrature,
    default_integrator,
)
from .log_prob import LogProb
from .mixture import Stacked
from .pushforward import PushForward
from .target import AbstractTarget

__all__ = [
    "RQMC",
    "AbstractDensity",
    "AbstractIntegrator",
    "AbstractTarget",
    "DequantizedDensity",
    "Evaluation",
    "Exact",
    "Integrand",
    "LogProb",
    "MonteCarlo",
    "Own",
    "PushForward",
    "Quadrature",
    "Stacked",
    "coarse",
    "default_integrator",
    "evaluate",
    "thorough",
]
