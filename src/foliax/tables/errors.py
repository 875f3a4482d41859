"""The one error of this package."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class TableError(ValueError):
    """A table, a file or a schema that cannot be used: what, where, and how to mend it."""


def nearest(word: str, known: Iterable[str]) -> str:
    """A hint " Did you mean …?" where a known word is close, otherwise nothing."""
    known = list(known)
    lower = {k.lower(): k for k in reversed(known)}
    close = difflib.get_close_matches(word.lower(), lower, n=1)
    return f" Did you mean '{lower[close[0]]}'?" if close else ""
