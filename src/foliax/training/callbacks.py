"""What a fit tells its caller, and what the caller may do about it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from .history import Block, Record

if TYPE_CHECKING:
    import numpy as np

    from ..estimators import FitResult


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

    def find_result(self, name: str) -> tuple[FitResult, np.ndarray] | None:
        """The result of a part that an earlier run finished, and its held-out scores."""
        return None

    def keep_result(self, name: str, result: FitResult, scores: np.ndarray) -> None:
        """A part of the fit, such as a candidate, is finished; scores are of held-out rows."""

    def for_part(self, name: str) -> Callback:
        """The callback of one of several trainings that belong to a fit."""
        return self


def find_reason_to_stop(callbacks: Sequence[Callback]) -> str:
    """Return the first reason of a callback to stop; "" where there is none."""
    return next((why for callback in callbacks if (why := callback.reason_to_stop())), "")


def find_result(callbacks: Sequence[Callback], name: str) -> tuple[FitResult, np.ndarray] | None:
    """Return the kept result of a part of a fit, with its scores; None where there is none."""
    found = (callback.find_result(name) for callback in callbacks)
    return next((result for result in found if result is not None), None)


class OnBlock(Callback):
    """Calls a function after every block of steps."""

    def __init__(self, function: Callable[[Block], None]):
        self.function = function

    def on_block(self, block: Block) -> None:
        self.function(block)
