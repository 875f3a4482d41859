"""Numbers in messages, with the digits that the user wrote."""

from __future__ import annotations

import numpy as np

MAX_PLAIN_DIGITS = 9
"""Digits that suffice for most numbers."""


def format_number(value: int | float | np.number) -> str:
    """Write a number with 9 digits if these are exact, otherwise with as many as it has."""
    short = f"{value:.{MAX_PLAIN_DIGITS}g}"
    if float(short) == value:
        return short
    return repr(value.item() if isinstance(value, np.number) else value)
