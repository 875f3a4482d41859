"""Options of column kinds: fields of the class, each with a function that reads its value."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

Reader = Callable[[Any], Any]
"""Converts what the user wrote to the option's value, or raises a ValueError that says why not."""


def option(read: Reader, **default: Any) -> Any:
    """Declare a dataclass field that is an option of the kind.

    Args:
        read: Converts what the user wrote; see `Reader`.
        **default: `default=…` as for `dataclasses.field`. Without it the option is required.

    Returns:
        The field.
    """
    return dataclasses.field(metadata={"read": read}, **default)


def option_fields(kind: type) -> list[dataclasses.Field]:
    """Return the fields of a kind that are options."""
    return [field for field in dataclasses.fields(kind) if "read" in field.metadata]


def number(raw: Any) -> float:
    """Read a finite number."""
    try:
        value = float(raw)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"must be a number, not '{raw}'.") from None
    if not np.isfinite(value) or isinstance(raw, bool):
        raise ValueError(f"must be a finite number, not '{raw}'.")
    return value


def positive_number(raw: Any) -> float:
    """Read a finite number above 0."""
    value = number(raw)
    if value <= 0:
        raise ValueError(f"must be above 0, not '{raw}'.")
    return value


def positive_integer(raw: Any) -> int:
    """Read a whole number above 0."""
    value = positive_number(raw)
    if value != int(value):
        raise ValueError(f"must be a whole number, not '{raw}'.")
    return int(value)


def boolean(raw: Any) -> bool:
    """Read true or false."""
    known = {"true": True, "false": False}
    if str(raw).lower() not in known:
        raise ValueError(f"must be true or false, not '{raw}'.")
    return known[str(raw).lower()]


def word(raw: Any) -> str:
    """Read any word."""
    if not isinstance(raw, str | int) or isinstance(raw, bool) or not str(raw):
        raise ValueError(f"must be a word, not '{raw}'.")
    return str(raw)


def one_of(*choices: str) -> Reader:
    """Return a reader that accepts these words only."""

    def read(raw: Any) -> str:
        if raw not in choices:
            raise ValueError(f"must be one of {', '.join(choices)}, not '{raw}'.")
        return raw

    return read
