"""What commands share: output for people and programs, progress, errors and exit codes."""

from __future__ import annotations

import functools
import os
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import typer

from foliax.escaping import escape_control_characters

from .json_output import to_json
from .streams import BROKEN_PIPE, print_message, print_result

if TYPE_CHECKING:
    from foliax.training import Block, Callback

F = TypeVar("F", bound=Callable[..., Any])

CHECK_FAILED = 1
"""Exit code of a command that ran and whose check failed."""

BAD_INPUT = 2
"""Exit code of a command that could not run: wrong options, data or files."""

FIT_CUT_SHORT = 3
"""Exit code of a command whose fit the clock stopped, far over its time limit."""

MAX_ERROR_CHARACTERS = 1000
"""Characters of an error on a terminal; names of columns can have thousands."""

INTERRUPTED_MESSAGE = "Interrupted. No output was changed."
"""What a command says after an interrupt, where it has nothing else to say."""

_signals: list[int] = []
"""The signals that asked the running command to end."""


class Console(NamedTuple):
    """The output of a command: results on stdout, messages and progress on stderr.

    Attributes:
        json: Print the result as JSON, and no messages.
        quiet: Print errors only.
    """

    json: bool
    quiet: bool

    def log(self, text: str) -> None:
        """Print a message for people."""
        if not (self.quiet or self.json):
            print_message(escape_control_characters(text, keep="\t"))

    def warn(self, text: str) -> None:
        """Print a warning that must not be missed, whatever the options are."""
        print_message(f"Warning: {escape_control_characters(text)}")

    def result(self, found: dict[str, Any], text: str) -> None:
        """Print the result: `found` as JSON for programs, otherwise `text`."""
        if self.json:
            print_result(to_json(found))
        elif not self.quiet:
            print_result(escape_control_characters(text))

    @contextmanager
    def progress(self, title: str) -> Iterator[Stage]:
        """Show a line with the elapsed time while the block runs, on a terminal only."""
        from rich.console import Console as Rich
        from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        rich = Rich(stderr=True)
        if self.quiet or self.json or not rich.is_terminal:
            yield Stage(lambda text: None)
            return
        text_column = TextColumn("{task.description}", markup=False)
        columns = (SpinnerColumn(), text_column, TimeElapsedColumn())
        with Progress(*columns, console=rich, transient=True) as shown:
            task = shown.add_task(title)

            def show(text: str) -> None:
                line = escape_control_characters(f"{title}: {text}", keep="")
                shown.update(task, description=line)

            yield Stage(show)


class Stage(NamedTuple):
    """Shows the current stage of a long command, and ends the command after a signal."""

    show: Callable[[str], None]

    def callback(self) -> Callback:
        """Show the progress of a fit, and end it where a signal asks for that."""
        from foliax.training import Callback

        show = self.show

        class ShowProgress(Callback):
            def on_candidate(self, name: str) -> None:
                end_if_asked()
                show(name)

            def on_block(self, block: Block) -> None:
                end_if_asked()
                best = f"{block.best_validation:.4f}"
                show(f"flow, step {block.step} of {block.steps}, held out {best}")

        return ShowProgress()


def end_if_asked() -> None:
    """Raise `KeyboardInterrupt` where a signal has arrived that Python lost."""
    if _signals:
        raise KeyboardInterrupt


def handle_errors(command: F) -> F:
    """Turn errors of a command into one line and an exit code.

    Bad input exits with code 2, and so do outputs that cannot be written. FOLIAX_TRACEBACK=1 shows
    the traceback. Ctrl-C and SIGTERM exit with codes 130 and 143. A closed pipe, as in
    `foliax sample … | head`, exits silently with code 141.

    Args:
        command: The function of the command.

    Returns:
        The function with the same signature.
    """

    @functools.wraps(command)
    def run(*args: Any, **kwargs: Any) -> Any:
        try:
            with interruptible(), hide_warnings():
                enable_compilation_cache()
                return command(*args, **kwargs)
        except KeyboardInterrupt as interrupt:
            message = str(interrupt) or INTERRUPTED_MESSAGE
            print_message(escape_control_characters(message))
            raise typer.Exit(interrupt_exit_code()) from None
        except BrokenPipeError:
            raise typer.Exit(BROKEN_PIPE) from None
        except (ValueError, TypeError, OSError, ArithmeticError, MemoryError) as error:
            if os.environ.get("FOLIAX_TRACEBACK") or not _is_user_error(error):
                raise
            message = str(error) or type(error).__name__
            shown = _escape_error(error, message)
            print_error(message, shown, json_output=bool(kwargs.get("json_output")))
            raise typer.Exit(BAD_INPUT) from None

    return run  # type: ignore[return-value]


def print_error(message: str, shown: str | None = None, *, json_output: bool) -> None:
    """Print an error for people, and before it a JSON object for programs if they asked for one.

    Args:
        message: What is wrong, and how to fix it.
        shown: The line for people; by default the message on one line.
        json_output: Whether --json was given.
    """
    if json_output:
        with suppress(OSError):
            print_result(to_json({"error": message}))
    line = _cut_middle(escape_control_characters(message, keep="")) if shown is None else shown
    print_message(f"Error: {line}")


def _escape_error(error: Exception, message: str) -> str:
    """Put a message on one line; only errors that point into a schema's text have several."""
    from foliax.tables.errors import SchemaTextError

    if isinstance(error, SchemaTextError):
        first, *lines = message.split("\n")
        shown = [_cut_middle(escape_control_characters(first)), *lines]
        return escape_control_characters("\n".join(shown))
    return _cut_middle(escape_control_characters(message, keep=""))


def _cut_middle(text: str) -> str:
    """Cut what is too long; what is wrong stands at the start, and how to fix it at the end."""
    if len(text) <= MAX_ERROR_CHARACTERS:
        return text
    half = MAX_ERROR_CHARACTERS // 2
    return f"{text[:half]} … {text[-half:]}"


@contextmanager
def hide_warnings() -> Iterator[None]:
    """Hide the warnings of libraries, which speak of code and not of the user's table.

    FOLIAX_TRACEBACK=1 shows them. Filters that turn warnings into errors, as in tests, stay.
    """
    with warnings.catch_warnings():
        raises = any(action == "error" for action, *_ in warnings.filters)
        if not raises and not os.environ.get("FOLIAX_TRACEBACK"):
            warnings.simplefilter("ignore")
        yield


@contextmanager
def interruptible() -> Iterator[None]:
    """Raise KeyboardInterrupt on SIGTERM and SIGINT (Ctrl-C), so that a command can clean up.

    Python drops an exception that a handler raises inside a callback of the garbage collector.
    Therefore the signal is also recorded, and `end_if_asked` raises again. Python's message about
    the dropped exception is hidden.
    """

    def interrupt(number: int, frame: Any) -> None:
        _signals.append(number)
        raise KeyboardInterrupt

    def hide_interrupt(dropped: Any) -> None:
        if not issubclass(dropped.exc_type, KeyboardInterrupt):
            shown(dropped)

    _signals.clear()
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread may set a handler
        return
    handled = (signal.SIGTERM, signal.SIGINT)
    previous = [signal.signal(number, interrupt) for number in handled]
    shown, sys.unraisablehook = sys.unraisablehook, hide_interrupt
    try:
        yield
    finally:
        sys.unraisablehook = shown
        for number, handler in zip(handled, previous, strict=True):
            signal.signal(number, handler)


def interrupt_exit_code() -> int:
    """Return the exit code after an interrupt: 128 plus the signal's number, as in shells."""
    return 128 + (_signals[0] if _signals else signal.SIGINT)


def _is_user_error(error: Exception) -> bool:
    """Whether the message helps the user; a TypeError is usually a bug."""
    if not isinstance(error, TypeError):
        return True
    from foliax.estimators import UnsupportedManifoldError

    return isinstance(error, UnsupportedManifoldError)


def enable_compilation_cache() -> None:
    """Keep compiled programs between runs, in the user's cache folder or FOLIAX_CACHE.

    FOLIAX_CACHE=off disables the cache.
    """
    folder = os.environ.get("FOLIAX_CACHE")
    if folder == "off":
        return
    import jax
    import platformdirs

    folder = folder or platformdirs.user_cache_dir("foliax")
    jax.config.update("jax_compilation_cache_dir", os.path.join(folder, "jax"))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
