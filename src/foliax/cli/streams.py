"""Standard streams that are closed, that nobody reads, or whose disk is full."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import signal
import sys
from typing import TextIO

import typer

BROKEN_PIPE = 128 + signal.SIGPIPE if hasattr(signal, "SIGPIPE") else 141
"""Exit code if the reader of stdout ends early, as in `foliax sample … | head`: as in shells."""


def prepare_streams() -> None:
    """Make the standard streams safe to use; call it once, before anything is printed.

    A closed stream is opened on the null device. Otherwise the next file that is opened, such as a
    model file, would get its number, and would receive what libraries print. Characters that a
    stream cannot encode are printed as escapes. Stdout gets a buffer, because without one
    (PYTHONUNBUFFERED) Python ignores that a full disk takes a part of a text only.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            # The system gives out the lowest free number, which is this one.
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)
    if sys.stderr is not None:
        sys.stderr.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    if sys.stdout is not None:
        buffered = os.fdopen(sys.stdout.fileno(), "wb", closefd=False)
        how = {"encoding": sys.stdout.encoding, "errors": "backslashreplace"}
        sys.stdout = io.TextIOWrapper(buffered, **how)


def print_result(text: str, *, nl: bool = True) -> None:
    """Print to stdout.

    Args:
        text: What to print.
        nl: Whether to end the line.

    Raises:
        BrokenPipeError: Nobody reads stdout any more.
        OSError: Stdout is closed, or its disk is full.
    """
    try:
        if sys.stdout is None:
            raise OSError(errno.EBADF, "it is closed")
        typer.echo(text, nl=nl, color=True)  # Otherwise it removes escape sequences from data.
    except BrokenPipeError:
        discard(sys.stdout)
        raise
    except OSError as error:
        discard(sys.stdout)
        raise OSError(f"stdout cannot be written: {error.strerror or error}.") from error


def print_message(text: str) -> None:
    """Print to stderr. Nothing is lost if that fails: a message is not worth the work of hours."""
    try:
        typer.echo(text, err=True)
    except OSError:
        discard(sys.stderr)


def discard(stream: TextIO | None) -> None:
    """Send what is left in a stream to the null device, so that the exit does not fail again."""
    # A stream without a number, as in tests, has nothing to discard.
    with contextlib.suppress(OSError, ValueError, AttributeError):
        number = stream.fileno()  # type: ignore[union-attr]
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, number)
        os.close(null)


def can_ask() -> bool:
    """Return whether the user can answer a question: stdin is open and a terminal."""
    return sys.stdin is not None and not sys.stdin.closed and sys.stdin.isatty()


def is_terminal() -> bool:
    """Return whether stdout is a terminal, which obeys control characters."""
    return sys.stdout is not None and sys.stdout.isatty()
