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
    drawn,
    estimate,
    log_densities,
    moments,
    partly_uniform,
    refuse_lost,
    relative_ess,
    samples,
    self_normalised,
    squared_distance,
    total_mass,
    uniform_rows,
)

__all__ = [
    "Comparison",
    "Estimate",
    "Moments",
    "bridged_mass",
    "compare",
    "controlled_mass",
    "divergence",
    "drawn",
    "estimate",
    "log_densities",
    "moments",
    "partly_uniform",
    "refuse_lost",
    "relative_ess",
    "samples",
    "self_normalised",
    "squared_distance",
    "total_mass",
    "uniform_rows",
]
