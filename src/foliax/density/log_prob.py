"""A log density and its standard error."""

from __future__ import annotations

from typing import Any, NamedTuple


class LogProb(NamedTuple):
    """Log densities, and the standard error of each (0 where it is exact)."""

    value: Any
    error: Any
