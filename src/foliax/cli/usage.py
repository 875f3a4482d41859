"""Usage errors, such as unknown options, in the form of all other errors."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import typer
from typer.core import TyperGroup

from .console import print_error

UsageError: type[Exception] = typer.BadParameter.__mro__[1]
"""The base class of all usage errors, which typer has under changing names."""


class Commands(TyperGroup):
    """The group of all commands. A usage error is one line, and under --json a JSON object."""

    def main(
        self, args: Sequence[str] | None = None, *others: Any, standalone_mode: bool = True, **how
    ) -> Any:
        """Run a command, and exit the process if `standalone_mode`."""
        words = sys.argv[1:] if args is None else list(args)
        if not standalone_mode or not words:  # without words, typer prints the help
            return super().main(args, *others, standalone_mode=standalone_mode, **how)
        try:
            code = super().main(args, *others, standalone_mode=False, **how)
        except UsageError as error:
            print_error(_describe(error), json_output="--json" in words)
            sys.exit(error.exit_code)  # type: ignore[attr-defined]
        except typer.Abort:
            print_error("Aborted.", json_output="--json" in words)
            sys.exit(1)
        sys.exit(code or 0)


def _describe(error: Any) -> str:
    """What is wrong, and the command whose help says how to write it."""
    message = " ".join(error.format_message().split()).rstrip(".")
    command = "foliax" if error.ctx is None else error.ctx.command_path
    stop = "" if message.endswith("?") else "."
    return f"{message}{stop} See: {command} --help"
