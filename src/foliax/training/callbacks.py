"""What a fit tells its caller, and what the caller may do about it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .history import Block, Record


class Callback:
    """Follows a fit; every method may be overridden, and does nothing here.

    Any of them may raise `KeyboardInterrupt` to end the fit with what it has reached.
    """

    keeps_state = False
    """Whether `restore` and `save` do anything: only then is a training's fingerprint computed."""

    def on_candidate(self, name: str) -> None:
        """A candidate is about to be fitted."""

    def on_block(self, block: Block) -> None:
        """A block of training steps is done."""

    def reason_to_stop(self) -> str:
        """Why the fit must end with what it has reached, as `Record.stopped`; "" to go on."""
        return ""

    def restore(self, state: Any, record: Record, fingerprint: str) -> tuple[Any, Record]:
        """The state and record from which a training starts."""
        return state, record

    def save(self, state: Any, record: Record, fingerprint: str) -> None:
        """The state and record after a block of steps."""

    def for_part(self, name: str) -> Callback:
        """The callback of one of several trainings that belong to a fit."""
        return self


def find_reason_to_stop(callbacks: Sequence[Callback]) -> str:
    """Return the first reason of a callback to stop; "" where there is none."""
    return next((why for callback in callbacks if (why := callback.reason_to_stop())), "")


class OnBlock(Callback):
    """Calls a function after every block of steps."""

    def __init__(self, function: Callable[[Block], None]):
        self.function = function

    def on_block(self, block: Block) -> None:
        self.function(block)
