"""Numbers in messages, with the digits that the user wrote."""

from __future__ import annotations

import numpy as np

MAX_PLAIN_DIGITS = 9
"""Digits that suffice for most numbers."""


def format_number(value: float | np.floating) -> str:
    """Write a number with 9 digits if these are exact, otherwise with as many as it has."""
    short = f"{value:.{MAX_PLAIN_DIGITS}g}"
    return short if float(short) == value else repr(float(value))
