"""Distributions in closed form: von Mises–Fisher, Bingham, matrix Fisher.

One normaliser and one sampler for each. Estimators and the paper's targets are built from them.
May import: `manifolds`.
"""

from .bingham import Bingham, bingham, bingham_rates, envelopes, sample_bingham
from .matrix_fisher import log_rotation_mass, sample_rotation, sample_rotation_angle
from .rejection import sample_by_rejection
from .von_mises_fisher import (
    concentration,
    log_vmf_normaliser,
    mean_drop,
    mean_resultant_length,
    sample_drop,
    sample_turn,
    sample_von_mises_fisher,
)

__all__ = [
    "Bingham",
    "bingham",
    "bingham_rates",
    "concentration",
    "envelopes",
    "log_rotation_mass",
    "log_vmf_normaliser",
    "mean_drop",
    "mean_resultant_length",
    "sample_bingham",
    "sample_by_rejection",
    "sample_drop",
    "sample_rotation",
    "sample_rotation_angle",
    "sample_turn",
    "sample_von_mises_fisher",
]
