"""The command line: `foliax fit | score | sample | check | schema | plot | …`.

Nothing of JAX, pandas or scikit-learn is imported before a command runs, so that help is instant.
"""

from __future__ import annotations

from .app import app


def main() -> None:
    """The entry point."""
    app(prog_name="foliax")


__all__ = ["app", "main"]
