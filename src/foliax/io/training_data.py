"""What a model file keeps of the table it was fitted to, so that a report needs nothing else."""

from __future__ import annotations

import dataclasses
import io
from typing import Any

import jax
import numpy as np
import pandas as pd
from jaxtyping import PRNGKeyArray

from ..estimators.base import LEAST_TO_HOLD_OUT, hold_out
from ..tables import Finding, Schema, audit

MOST_TRAIN, MOST_TEST = 5000, 2000


@dataclasses.dataclass(frozen=True)
class Rows:
    """Rows in the user's columns, and their weights; `of`: how many there were."""

    frame: pd.DataFrame
    weights: np.ndarray | None
    of: int

    def points(self, schema: Schema) -> np.ndarray:
        """The rows as points of the schema's manifold, moved there where they were."""
        return schema.prepare(self.frame, project=True).points

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        weights = None if self.weights is None else self.weights.tolist()
        return {"csv": self.frame.to_csv(index=False), "weights": weights, "of": self.of}

    @staticmethod
    def from_json(known: dict[str, Any]) -> Rows:
        """What `to_json` gave."""
        weights = None if known["weights"] is None else np.array(known["weights"], float)
        return Rows(pd.read_csv(io.StringIO(known["csv"])), weights, int(known["of"]))


@dataclasses.dataclass(frozen=True)
class Evidence:
    """The rows that were fitted and those held out, or a random part of many; and the audit."""

    train: Rows
    test: Rows
    findings: tuple[Finding, ...]

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        findings = [[f.severity, list(f.columns), f.message, f.consequence] for f in self.findings]
        return {"train": self.train.to_json(), "test": self.test.to_json(), "findings": findings}

    @staticmethod
    def from_json(known: dict[str, Any]) -> Evidence:
        """What `to_json` gave."""
        findings = tuple(Finding(a, tuple(b), c, d) for a, b, c, d in known["findings"])
        return Evidence(Rows.from_json(known["train"]), Rows.from_json(known["test"]), findings)


def split(n: int, share: float, key: PRNGKeyArray) -> tuple[np.ndarray, np.ndarray]:
    """Numbers of the rows to fit and of those to hold out, both in random order.

    None are held out of fewer than 200, where every row is needed; else 20 at the least.
    """
    if share == 0 or n < LEAST_TO_HOLD_OUT:
        return np.asarray(jax.random.permutation(key, n)), np.arange(0)
    share = max(share, 20 / n)
    train, _, test, _ = hold_out(np.arange(n), None, share, key)
    return train, test


def gather(
    frame: pd.DataFrame,
    weights: np.ndarray | None,
    schema: Schema,
    train: np.ndarray,
    test: np.ndarray,
) -> Evidence:
    """The evidence of a table's valid rows, split by number, in random order."""
    columns = schema.select_columns(frame)

    def rows(numbers: np.ndarray, most: int) -> Rows:
        kept = numbers[:most]
        return Rows(columns.iloc[kept], None if weights is None else weights[kept], len(numbers))

    return Evidence(rows(train, MOST_TRAIN), rows(test, MOST_TEST), tuple(audit(columns, schema)))
