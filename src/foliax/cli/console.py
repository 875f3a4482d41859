"""What commands share: output for people and machines, progress, errors and exit codes."""

from __future__ import annotations

import functools
import json
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import typer

if TYPE_CHECKING:
    from foliax.training import Block, Callback

F = TypeVar("F", bound=Callable[..., Any])
NO, BAD_INPUT = 1, 2

_signals: list[int] = []
"""The signals that have asked the running command to end."""


class Console(NamedTuple):
    """Where a command speaks: results to stdout, remarks and progress to stderr."""

    json: bool
    quiet: bool

    def say(self, text: str) -> None:
        """A remark for people."""
        if not (self.quiet or self.json):
            typer.echo(text, err=True)

    def result(self, found: dict[str, Any], text: str) -> None:
        """The result: JSON for machines, otherwise text."""
        if self.json:
            typer.echo(json.dumps(found, ensure_ascii=False, allow_nan=False))
        elif not self.quiet:
            typer.echo(text)

    @contextmanager
    def progress(self, what: str) -> Iterator[Stage]:
        """A line with the time taken, on a terminal only, gone at the end."""
        from rich.console import Console as Rich
        from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        rich = Rich(stderr=True)
        if self.quiet or self.json or not rich.is_terminal:
            yield Stage(lambda text: None)
            return
        columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
        with Progress(*columns, console=rich, transient=True) as shown:
            task = shown.add_task(what)
            yield Stage(lambda text: shown.update(task, description=f"{what}: {text}"))


class Stage(NamedTuple):
    """What a long job is at."""

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


def guarded(command: F) -> F:
    """Bad input becomes one clear line and exit code 2; FOLIAX_TRACEBACK=1 shows where.

    Ctrl-C and SIGTERM end a command with exit codes 130 and 143.
    """

    @functools.wraps(command)
    def run(*args: Any, **kwargs: Any) -> Any:
        try:
            with interruptible():
                warm_up()
                return command(*args, **kwargs)
        except KeyboardInterrupt as interrupt:
            said = str(interrupt) or "Interrupted. No output was changed."
            typer.echo(said, err=True)
            raise typer.Exit(interrupt_code()) from None
        except (ValueError, TypeError, OSError, ArithmeticError, MemoryError) as error:
            if os.environ.get("FOLIAX_TRACEBACK") or not _foreseen(error):
                raise
            said = str(error) or type(error).__name__
            if kwargs.get("json_output"):
                typer.echo(json.dumps({"error": said}, ensure_ascii=False))
            typer.echo(f"Error: {said}", err=True)
            raise typer.Exit(BAD_INPUT) from None

    return run  # type: ignore[return-value]


@contextmanager
def interruptible() -> Iterator[None]:
    """Let SIGTERM and SIGINT (Ctrl-C) raise KeyboardInterrupt, so that a command can clean up.

    Python loses an exception that is raised within a callback of its garbage collector, so the
    signal is remembered too, and `Stage` raises again.
    """

    def interrupt(number: int, frame: Any) -> None:
        _signals.append(number)
        raise KeyboardInterrupt

    _signals.clear()
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread may set a handler
        return
    wanted = (signal.SIGTERM, signal.SIGINT)
    before = [signal.signal(number, interrupt) for number in wanted]
    try:
        yield
    finally:
        for number, handler in zip(wanted, before, strict=True):
            signal.signal(number, handler)


def interrupt_code() -> int:
    """The exit code after an interrupt: 128 plus the signal's number, as shells have it."""
    return 128 + (_signals[0] if _signals else signal.SIGINT)


def _foreseen(error: Exception) -> bool:
    """Whether an error is one that tells the user something; a TypeError is most often a bug."""
    from foliax.estimators import UnsupportedManifoldError

    return not isinstance(error, TypeError) or isinstance(error, UnsupportedManifoldError)


def warm_up() -> None:
    """Compiled programs are kept between runs, in the user's cache folder or FOLIAX_CACHE."""
    import jax
    import platformdirs

    folder = os.environ.get("FOLIAX_CACHE") or platformdirs.user_cache_dir("foliax")
    if folder == "off":
        return
    jax.config.update("jax_compilation_cache_dir", os.path.join(folder, "jax"))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
