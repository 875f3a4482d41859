"""A log density and its standard error."""

from __future__ import annotations

from typing import NamedTuple

from jaxtyping import Array, Float


class LogProb(NamedTuple):
    """A log density, and the standard error of the value (0 where it is exact)."""

    value: Float[Array, ...]
    error: Float[Array, ...]
