"""Compare estimators of one table on the same held-out rows."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import PRNGKeyArray

from ..density import Dataset
from ..density.blocks import TooFewBlocksError
from ..estimators import AbstractEstimator, FitError, UnsupportedManifoldError
from ..estimators.base import get_estimator
from ..manifolds.row_errors import name_rows
from ..tables import Schema
from ..tables.kinds import Kind
from ..training import TrainingDivergedError
from .estimate import Estimate, mean_and_error

INDEPENDENT, UNIFORM = "independent columns", "uniform"
FAILURES = (
    *(UnsupportedManifoldError, FitError, TooFewBlocksError),
    *(TrainingDivergedError, ArithmeticError),
)
"""What an entry may fail with because of the table; the others go on."""


@dataclasses.dataclass(frozen=True)
class Settings:
    """Settings of the estimators that are compared.

    Args:
        columns: The estimator of each of the independent columns.
        time_limit: Seconds for "auto".
        steps: Training steps of a flow; by default its own.
    """

    columns: str = "auto"
    time_limit: float = 120.0
    steps: int | None = None


DEFAULT_SETTINGS = Settings()
"""Settings with which `foliax compare` fits by default."""


class Entry(NamedTuple):
    """An estimator's held-out log densities in the schema's measure, or why there are none."""

    name: str
    scores: np.ndarray | None
    weights: np.ndarray | None = None
    why: str = ""
    blocks: np.ndarray | None = None
    """The label of each row's block, for standard errors."""
    lacks_blocks: bool = False
    """Whether the estimator failed because fewer than two blocks were left to fit."""

    @property
    def mean(self) -> Estimate:
        """The mean held-out log density."""
        assert self.scores is not None
        return mean_and_error(self.scores, self.weights, self.blocks)


def compare_estimators(
    schema: Schema,
    train: Dataset,
    test: Dataset,
    names: Sequence[str],
    settings: Settings = DEFAULT_SETTINGS,
    *,
    key: PRNGKeyArray,
    show: Callable[[str], None],
) -> list[Entry]:
    """Fit every estimator to the same rows and score it on the others.

    Args:
        schema: Of the table, for its measure and its columns.
        train: Rows to fit.
        test: Rows to score.
        names: Estimators, "independent columns" and "uniform".
        settings: Settings of the estimators.
        key: Chooses everything that is random.
        show: Told the name of each entry before it is fitted.
    """
    log_unit = schema.measure().log_unit
    entries = []
    for name in names:
        show(name)
        model = settings.columns if name in BASELINES else name
        estimator = get_estimator(model, time_limit=settings.time_limit, steps=settings.steps)
        try:
            scores = BASELINES.get(name, score_joint)(schema, estimator, train, test, key)
            entries.append(Entry(name, log_unit + scores, test.weights, blocks=test.blocks))
        except FAILURES as error:
            lacks_blocks = isinstance(error, TooFewBlocksError)
            entries.append(Entry(name, None, why=str(error), lacks_blocks=lacks_blocks))
    return entries


def score_joint(
    schema: Schema, estimator: AbstractEstimator, train: Dataset, test: Dataset, key: PRNGKeyArray
) -> np.ndarray:
    """Log densities of whole rows."""
    density = estimator.fit(train, key=key).density
    with name_rows(test.names):
        return density.evaluate(test.rows, key=key).value.astype(float)


def score_independent(
    schema: Schema, estimator: AbstractEstimator, train: Dataset, test: Dataset, key: PRNGKeyArray
) -> np.ndarray:
    """Log densities of the product of separately fitted columns."""
    kinds = [kind for factor in schema.factors for kind in split_columns(factor.kind)]
    if len(kinds) == 1:
        raise UnsupportedManifoldError("There is only one column, or they belong together.")
    ends = np.cumsum([kind.manifold().size for kind in kinds])[:-1]
    parts = zip(
        kinds, np.split(train.rows, ends, axis=1), np.split(test.rows, ends, axis=1), strict=True
    )
    each = []
    for kind, fitted, scored in parts:
        manifold = kind.manifold()
        column = train.replace(rows=fitted, manifold=manifold)
        others = test.replace(rows=scored, manifold=manifold)
        each.append(score_joint(schema, estimator, column, others, key))
    return np.sum(each, axis=0)


def score_uniform(
    schema: Schema, estimator: AbstractEstimator, train: Dataset, test: Dataset, key: PRNGKeyArray
) -> np.ndarray:
    """Log density of the uniform density, where there is one."""
    volume = schema.manifold().log_total_volume()
    if not np.isfinite(volume):
        raise UnsupportedManifoldError("The volume is infinite: there is no uniform density.")
    return np.full(len(test), -volume)


BASELINES = {INDEPENDENT: score_independent, UNIFORM: score_uniform}


def split_columns(kind: Kind) -> list[Kind]:
    """A kind as single columns, where they are not tied to each other."""
    if kind.roles or kind.constrained or kind.width == 1:
        return [kind]
    return [dataclasses.replace(kind, width=1)] * kind.width


def paired_difference(first: Entry, other: Entry) -> Estimate:
    """Mean difference of log densities, row by row, with its standard error over blocks."""
    assert first.scores is not None
    assert other.scores is not None
    return mean_and_error(first.scores - other.scores, first.weights, first.blocks)
