"""The error of this package, and hints for misspelled words."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

MAX_MESSAGE_CHARACTERS = 300
"""Characters of another library's message that are shown: some quote the whole file."""


class TableError(ValueError):
    """A table, a file or a schema cannot be used; the message says why and how to fix it."""


class SchemaTextError(TableError):
    """A schema's text is wrong; the lines of the message show the text and point at the place."""


def one_line(error: Exception) -> str:
    """Return the message of another library's error as one line without a full stop."""
    text = " ".join(str(error).split()) or type(error).__name__
    return shorten(text, MAX_MESSAGE_CHARACTERS).rstrip(".")


def describe_os_error(error: Exception) -> str:
    """Return the reason of the operating system, without the number and the file's name."""
    reason = getattr(error, "strerror", None) or one_line(error)
    return reason[:1].lower() + reason[1:]


def shorten(text: str, length: int) -> str:
    """Cut text that is longer than `length` characters, and mark the cut with "…"."""
    return text if len(text) <= length else f"{text[: length - 1]}…"


def suggest(word: str, known: Iterable[str]) -> str:
    """Return " Did you mean …?" if a known word is similar, otherwise an empty string."""
    known = list(known)
    lower = {k.lower(): k for k in reversed(known)}
    close = difflib.get_close_matches(word.lower(), lower, n=1)
    return f" Did you mean '{lower[close[0]]}'?" if close else ""
