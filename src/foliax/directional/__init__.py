"""Directional statistics: masses, moments and exact samplers of the classical families."""

from .bingham import Bingham, bingham, bingham_rates, envelopes, sample_bingham
from .fisher import (
    log_rotation_mass,
    log_vmf_mass,
    rejection,
    sample_drop,
    sample_rotation,
    sample_rotation_angle,
    sample_turn,
    sample_von_mises_fisher,
)

__all__ = [
    "Bingham",
    "bingham",
    "bingham_rates",
    "envelopes",
    "log_rotation_mass",
    "log_vmf_mass",
    "rejection",
    "sample_bingham",
    "sample_drop",
    "sample_rotation",
    "sample_rotation_angle",
    "sample_turn",
    "sample_von_mises_fisher",
]
