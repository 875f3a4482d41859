"""A finding of an audit."""

from __future__ import annotations

from typing import Literal, NamedTuple

Severity = Literal["warning", "error"]


class Finding(NamedTuple):
    """One finding of an audit.

    Attributes:
        severity: "error" if a fit would be wrong, "warning" if it may be.
        columns: The columns; empty if the finding is about all of them.
        message: What was found.
        consequence: What it does to a density estimate, and what to do about it.
    """

    severity: Severity
    columns: tuple[str, ...]
    message: str
    consequence: str

    def __str__(self) -> str:
        where = f"{', '.join(self.columns)}: " if self.columns else ""
        return f"{self.severity}: {where}{self.message}. {self.consequence}"
