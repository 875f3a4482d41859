"""Densities on manifolds: the interface and its implementations.

`base` has the interface, `dequantized`, `mixture` and `pushforward` implement it. `integrate` has
the integrals over z, `evaluate` refines them until their errors are within a tolerance. `dataset`
has the rows that estimators are fitted to, `blocks` splits them.
May import: `dequantizers`, `flows` and `manifolds`.
"""

from .base import AbstractDensity
from .dataset import Dataset, Sampler
from .dequantized import DequantizedDensity
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
from .localized import LocalizedDensity
from .log_prob import LogProb
from .members import Members
from .mixture import Stacked
from .pushforward import PushForward
from .target import AbstractTarget

__all__ = [
    "RQMC",
    "AbstractDensity",
    "AbstractIntegrator",
    "AbstractTarget",
    "Dataset",
    "DequantizedDensity",
    "Evaluation",
    "Exact",
    "Integrand",
    "LocalizedDensity",
    "LogProb",
    "Members",
    "MonteCarlo",
    "Own",
    "PushForward",
    "Quadrature",
    "Sampler",
    "Stacked",
    "default_integrator",
    "evaluate",
]
