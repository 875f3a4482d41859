"""The command line: `foliax check`, `fit`, `score`, `sample`, `report` and others.

Each command has its own module. JAX, pandas and scikit-learn are imported when a command runs, so
that `--help` is fast.
May import: everything.
"""

from __future__ import annotations

import sys

from .app import app
from .console import BAD_INPUT
from .streams import discard, prepare_streams, print_message


def main() -> None:
    """Run the command line."""
    prepare_streams()
    try:
        app(prog_name="foliax")
    except OSError as error:
        # Commands handle their own errors; here typer could not print a help text.
        discard(sys.stdout)
        print_message(f"Error: stdout cannot be written: {error.strerror or error}.")
        raise SystemExit(BAD_INPUT) from None


__all__ = ["app", "main"]
