"""Blocks of consecutive rows, where these are much alike."""

from __future__ import annotations

from ..density import Dataset
from ..density.blocks import as_blocks
from ..manifolds.serial import serial_correlation

MIN_ROWS = 200
"""Rows below which a table is fitted as independent rows, if nobody says otherwise."""
MAX_RATIO = 0.1
"""Ratio of distances of consecutive rows to those of random pairs below which blocks are used.

Sorted tables and weak correlations do not reach it; time series with small steps do.
"""


def add_blocks(data: Dataset) -> tuple[Dataset, str]:
    """Add blocks of consecutive rows to data whose consecutive rows are much alike.

    Args:
        data: Rows in the order in which they were recorded.

    Returns:
        The data with blocks, and a sentence about them. Data that have blocks already, or need
        none, are returned as they are with an empty sentence.
    """
    if data.is_sampler or data.blocks is not None or len(data) < MIN_ROWS:
        return data, ""
    found = serial_correlation(data.manifold, data.rows)
    if found is None or found.ratio > MAX_RATIO:
        return data, ""
    which = "Consecutive rows" if found.lag == 1 else f"Rows {found.lag} apart"
    event = (
        f"{which} are much alike: their median distance is {found.ratio:.1%} of that of "
        f"random pairs. The rows are split by {found.blocks} blocks of consecutive rows. Pass "
        "blocks to choose others, or 0 blocks for independent rows."
    )
    return data.replace(blocks=as_blocks(found.blocks, len(data))), event
