"""The command line: `foliax check`, `fit`, `score`, `sample`, `report` and others.

One module for each command. JAX, pandas and scikit-learn are imported when a command runs, so that
`--help` is instant.
May import: everything.
"""

from __future__ import annotations

from .app import app


def main() -> None:
    """The entry point."""
    app(prog_name="foliax")


__all__ = ["app", "main"]
