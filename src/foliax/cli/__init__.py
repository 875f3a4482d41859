"""The command line: `foliax check`, `fit`, `score`, `sample`, `report` and others.

Each command has its own module. JAX, pandas and scikit-learn are imported when a command runs, so
that `--help` is fast.
May import: everything.
"""

from __future__ import annotations

from .app import app


def main() -> None:
    """Run the command line."""
    app(prog_name="foliax")


__all__ = ["app", "main"]
