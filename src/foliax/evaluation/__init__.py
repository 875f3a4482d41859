"""Measure how good a density is.

`metrics` has samples, masses and divergences with error bars. `comparison` ranks estimators on
held-out rows beside baselines.
May import: `estimators`, `tables` and everything below them.
"""

from .metrics import (
    Comparison,
    Estimate,
    Moments,
    bridged_mass,
    compare,
    controlled_mass,
    divergence,
    log_prob_once,
    mean_and_error,
    moments,
    partly_uniform,
    relative_ess,
    sample_and_evaluate,
    sample_uniform,
    self_normalised,
    squared_distance,
    total_mass,
)

__all__ = [
    "Comparison",
    "Estimate",
    "Moments",
    "bridged_mass",
    "compare",
    "controlled_mass",
    "divergence",
    "log_prob_once",
    "mean_and_error",
    "moments",
    "partly_uniform",
    "relative_ess",
    "sample_and_evaluate",
    "sample_uniform",
    "self_normalised",
    "squared_distance",
    "total_mass",
]
