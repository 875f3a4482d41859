"""The error of this package, and hints for misspelled words."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class TableError(ValueError):
    """A table, a file or a schema cannot be used; the message says why and how to fix it."""


def suggest(word: str, known: Iterable[str]) -> str:
    """Return " Did you mean …?" if a known word is similar, otherwise an empty string."""
    known = list(known)
    lower = {k.lower(): k for k in reversed(known)}
    close = difflib.get_close_matches(word.lower(), lower, n=1)
    return f" Did you mean '{lower[close[0]]}'?" if close else ""
