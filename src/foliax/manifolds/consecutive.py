"""Blocks of consecutive rows, for rows that depend on their neighbours."""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Int


def consecutive_blocks(n: int, count: Any) -> Int[np.ndarray, " n"]:
    """Number the rows of `count` consecutive parts of equal size; 0 makes every row a part.

    Raises:
        ValueError: The number is not 0 and not between 2 and n - 1.
    """
    if isinstance(count, bool) or count != int(count) or not (count == 0 or 2 <= count < n):
        raise ValueError(
            f"The number of blocks is {count}: it must be at least 2 and below the number of rows, "
            f"{n}, because blocks of one row do nothing. 0 declares the rows independent."
        )
    return np.arange(n) * int(count or n) // n
