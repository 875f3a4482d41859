"""A progress bar for trainings, silent where the output is not a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from .callbacks import Callback, OnBlock
from .history import Block


@contextmanager
def training_bar(console: Console | None = None) -> Iterator[Callback]:
    """Show a bar: `with training_bar() as bar: estimator.fit(data, key=key, callbacks=[bar])`."""
    console = console or Console(stderr=True)
    if not console.is_terminal:
        yield Callback()
        return
    columns = (
        TextColumn("{task.completed:.0f}/{task.total:.0f} steps"),
        BarColumn(),
        TextColumn("loss {task.fields[loss]:.4f}, held out {task.fields[best]:.4f}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("", total=1, loss=float("nan"), best=float("nan"))

        def update(block: Block) -> None:
            progress.update(
                task,
                completed=block.step,
                total=block.steps,
                loss=block.loss,
                best=block.best_validation,
            )

        yield OnBlock(update)
