"""The rows of the table that a model file keeps, so that a report needs no other file."""

from __future__ import annotations

import csv
import dataclasses
import io
from typing import Any

import jax
import numpy as np
import pandas as pd
from jaxtyping import PRNGKeyArray

from ..density.dataset import split_numbers
from ..estimators.base import MIN_ROWS_TO_HOLD_OUT
from ..tables import Finding, Schema, audit

MAX_TRAIN_ROWS = 5000
"""Fitted rows that a file keeps; the limit keeps the file small."""

MAX_TEST_ROWS = 2000
"""Held-out rows that a file keeps; the limit keeps the file small and a report fast."""

MIN_TEST_ROWS = 20
"""Held-out rows, if any are held out; fewer give an unreliable standard error."""


@dataclasses.dataclass(frozen=True)
class Rows:
    """Rows in the user's columns.

    Attributes:
        frame: The rows that are kept.
        weights: Their weights, or None.
        total: The number of rows in the table; `frame` may be a random subsample.
        blocks: The number of each row's block, or None.
    """

    frame: pd.DataFrame
    weights: np.ndarray | None
    total: int
    blocks: np.ndarray | None = None

    def points(self, schema: Schema) -> np.ndarray:
        """Return the rows as points of the schema's manifold, projected as in the fit."""
        return schema.prepare(self.frame, project=True).points

    def to_json(self) -> dict[str, Any]:
        """Return the rows as plain values."""
        weights = None if self.weights is None else self.weights.tolist()
        blocks = {} if self.blocks is None else {"blocks": self.blocks.tolist()}
        csv = self.frame.to_csv(index=False)
        return {"csv": csv, "weights": weights, "of": self.total, **blocks}

    @staticmethod
    def from_json(values: dict[str, Any]) -> Rows:
        """Return the rows that `to_json` stored.

        Raises:
            ValueError: The rows are shorter than the header, or have another number of weights.
        """
        text = values["csv"]
        header = next(csv.reader(io.StringIO(text, newline=None)), [])
        # Every cell takes a separator. Without this check, pandas would fill short rows with
        # blanks: a few kilobytes of header and of rows would take gigabytes.
        if len(header) * (text.count("\n") + text.count("\r")) > len(text):
            raise ValueError("rows are shorter than the header.")
        frame = pd.read_csv(io.StringIO(text))
        weights = None if values["weights"] is None else np.array(values["weights"], float)
        if weights is not None and weights.shape != (len(frame),):
            raise ValueError(f"there are {weights.shape} weights for {len(frame)} rows.")
        blocks = np.array(values["blocks"], int) if "blocks" in values else None
        if blocks is not None and blocks.shape != (len(frame),):
            raise ValueError(f"there are {blocks.shape} block labels for {len(frame)} rows.")
        return Rows(frame, weights, int(values["of"]), blocks)


@dataclasses.dataclass(frozen=True)
class TrainingData:
    """Fitted rows, held-out rows, and the findings of the audit."""

    train: Rows
    test: Rows
    findings: tuple[Finding, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the data as plain values."""
        findings = [[f.severity, list(f.columns), f.message, f.consequence] for f in self.findings]
        return {"train": self.train.to_json(), "test": self.test.to_json(), "findings": findings}

    @staticmethod
    def from_json(values: dict[str, Any]) -> TrainingData:
        """Return the data that `to_json` stored."""
        findings = tuple(Finding(a, tuple(b), c, d) for a, b, c, d in values["findings"])
        train, test = Rows.from_json(values["train"]), Rows.from_json(values["test"])
        return TrainingData(train, test, findings)


def split_rows(
    n: int, fraction: float, key: PRNGKeyArray, blocks: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Split row numbers at random into rows to fit and rows to hold out.

    Args:
        n: The number of rows.
        fraction: The fraction to hold out. At least `MIN_TEST_ROWS` are held out, and none if the
            fraction is 0 or if there are fewer than 200 rows, because the fit needs all of those.
        key: A random key.
        blocks: The label of each row's block, for a split by whole blocks.

    Returns:
        (rows to fit, rows to hold out), both in random order.
    """
    if fraction == 0 or n < MIN_ROWS_TO_HOLD_OUT:
        return np.asarray(jax.random.permutation(key, n)), np.arange(0)
    return split_numbers(n, max(fraction, MIN_TEST_ROWS / n), key, blocks=blocks)


def collect_training_data(
    frame: pd.DataFrame,
    weights: np.ndarray | None,
    schema: Schema,
    train: np.ndarray,
    test: np.ndarray,
    blocks: np.ndarray | None = None,
) -> TrainingData:
    """Collect what a model file keeps of a table.

    Args:
        frame: The valid rows of the table.
        weights: Their weights, or None.
        schema: The schema of the table. Other columns are left out.
        train: The numbers of the fitted rows, in random order.
        test: The numbers of the held-out rows, in random order.
        blocks: The number of each row's block, or None.

    Returns:
        Random subsamples of both, and the audit of all rows.
    """
    columns = schema.select_columns(frame)

    def subsample(numbers: np.ndarray, max_rows: int) -> Rows:
        kept = numbers[:max_rows]
        own = [None if each is None else each[kept] for each in (weights, blocks)]
        return Rows(columns.iloc[kept], own[0], len(numbers), own[1])

    findings = tuple(audit(columns, schema, blocks))
    return TrainingData(subsample(train, MAX_TRAIN_ROWS), subsample(test, MAX_TEST_ROWS), findings)
