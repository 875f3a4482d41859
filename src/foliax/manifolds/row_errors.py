"""Errors about a row, which name it as the user counts it, also after splits and shuffles."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Iterator

import numpy as np


def name_by_number(number: int) -> str:
    """Name a row of an array by its number, from 0."""
    return f"Row {number}"


@dataclasses.dataclass(frozen=True, eq=False)
class RowNames:
    """Names of rows: where each was in the user's array or table.

    Args:
        numbers: The number of each row in what the user passed, from 0.
        name: Names a row of this number; by default "Row 17". A table has lines too.
    """

    numbers: np.ndarray
    name: Callable[[int], str] = name_by_number

    def take(self, chosen: np.ndarray) -> RowNames:
        """Names of some of the rows, by their positions."""
        return RowNames(self.numbers[chosen], self.name)

    def __getitem__(self, position: int) -> str:
        return self.name(int(self.numbers[position]))


def name_as(what: str, n: int) -> RowNames:
    """Names of n rows that no user counted, such as "Sample 17", from 1."""
    return RowNames(np.arange(1, n + 1), lambda number: f"{what} {number}")


class RowError(FloatingPointError):
    """A row whose density cannot be computed.

    Args:
        row: The position of the row, from 0, in the array that was evaluated.
        reason: What is wrong with the row; it follows its name.
    """

    def __init__(self, row: int, reason: str):
        super().__init__(f"{name_by_number(row)} {reason}")
        self.row, self.reason = row, reason


class NamedRowError(FloatingPointError):
    """A `RowError` that names the row as the user counts it.

    Args:
        number: The number of the row in what the user passed, from 0.
        message: The name of the row, and what is wrong with it.
    """

    def __init__(self, number: int, message: str):
        super().__init__(message)
        self.number = number


@contextlib.contextmanager
def name_rows(names: RowNames | None) -> Iterator[None]:
    """Name the row of a `RowError` as the user counts it.

    The error becomes a `NamedRowError`, so that only the innermost context names it.

    Args:
        names: Names of the rows that are evaluated inside; None if their positions are the names.
    """
    try:
        yield
    except RowError as error:
        if names is None:
            raise
        number = int(names.numbers[error.row])
        raise NamedRowError(number, f"{names[error.row]} {error.reason}") from error
