"""How commands explain a split that leaves too few blocks to fit."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

MORE_BLOCKS = "Make more blocks with --blocks"
"""What to do where one block is left to fit."""


@contextmanager
def explain_too_few_blocks(blocks: np.ndarray | None, test: np.ndarray) -> Iterator[None]:
    """Say that the held-out split took the other blocks, where a fit is left with one."""
    from foliax.density.blocks import TooFewBlocksError, describe_lack_of_blocks
    from foliax.tables import TableError

    try:
        yield
    except TooFewBlocksError as error:
        if blocks is None or not (text := describe_lack_of_blocks(blocks, test)):
            raise
        raise TableError(f"{text} {MORE_BLOCKS}, or fit all rows with --held-out 0.") from error
