"""How candidates are scored by rows that they are not fitted to: one held-out set, or folds."""

from __future__ import annotations

import abc
import dataclasses
from collections.abc import Sequence

import jax
import numpy as np
from jaxtyping import Float, Int, PRNGKeyArray

from ...density import Dataset
from ...density.blocks import MAX_BLOCK_FRACTION, assign_folds
from ...training import Callback
from ...training.callbacks import find_reason_to_stop, find_result
from ...training.history import CUT_SHORT, INTERRUPTED
from ..base import MIN_ROWS_TO_HOLD_OUT, AbstractEstimator, FitResult
from .members import score_held_out

FOLDS = 5
"""Folds of blocks. Each fit to the other folds uses four fifths of the blocks."""
MIN_BLOCKS = 10
"""Blocks from which on folds are used: a fold then has at least two blocks."""

Scored = tuple[FitResult, Float[np.ndarray, " h"]]
"""A fit, and log densities of the rows that score it."""


class AbstractValidation(abc.ABC):
    """A way to score candidates by rows that they are not fitted to."""

    scored: Dataset | None
    """The rows that score candidates; None where there are none."""
    n_rows: int
    """The most rows that a candidate is fitted to."""
    n_scoring_fits: int
    """Fits of a candidate that give its scores."""
    refits_all: bool
    """Whether every chosen member is refitted on all rows, even beyond the budget."""
    groups: np.ndarray | None
    """Scored rows of one group share a fold, so that their score needs weights of other groups."""

    @property
    def n_fits(self) -> int:
        """Fits of a candidate that its share of the work must pay for."""
        return self.n_scoring_fits + self.refits_all

    @abc.abstractmethod
    def fit(
        self,
        name: str,
        estimator: AbstractEstimator,
        key: PRNGKeyArray,
        callbacks: Sequence[Callback],
    ) -> Scored:
        """Fit and score a candidate. Parts that an earlier run has finished are not fitted again.

        Args:
            name: The candidate's.
            estimator: What to fit.
            key: Chooses what is random in the fits.
            callbacks: Told of the progress. They may also stop the fit.

        Returns:
            A fit, and the log densities of `scored`: only of the first ones, if it was stopped.
        """

    @abc.abstractmethod
    def refit_work(self, estimator: AbstractEstimator) -> float:
        """Work units of a refit on all rows; 0 where there is none."""


@dataclasses.dataclass(frozen=True)
class HeldOutSet(AbstractValidation):
    """One held-out set scores every candidate.

    Args:
        data: All rows.
        kept: The rows that candidates are fitted to.
        scored: The held-out rows, if there are any.
        split_here: Whether they were taken from `data`.
        score_key: Chooses the noise of log densities.
    """

    data: Dataset
    kept: Dataset
    scored: Dataset | None
    split_here: bool
    score_key: PRNGKeyArray
    n_scoring_fits = 1
    refits_all = False
    groups = None

    @property
    def n_rows(self) -> int:
        return len(self.kept)

    def fit(
        self,
        name: str,
        estimator: AbstractEstimator,
        key: PRNGKeyArray,
        callbacks: Sequence[Callback],
    ) -> Scored:
        return fit_and_score(
            name, estimator, self.kept, self.scored, (key, self.score_key), callbacks, self.scored
        )

    def refit_work(self, estimator: AbstractEstimator) -> float:
        n = len(self.data)
        refits = self.split_here and estimator.uses_all_rows(n)
        return estimator.fit_work(n, self.data.manifold) if refits else 0.0


@dataclasses.dataclass(frozen=True)
class BlockFolds(AbstractValidation):
    """Every fold of blocks scores the candidates that are fitted to the other folds.

    So all blocks choose the members and their weights. A few held-out blocks may be unlike the
    others, and their score is then far from that of new blocks.

    Args:
        data: All rows.
        fold: The number of each row's fold.
        order: The numbers of the rows that score candidates, those of each fold together.
        score_key: Chooses the noise of log densities.
    """

    data: Dataset
    fold: Int[np.ndarray, " n"]
    order: Int[np.ndarray, " h"]
    score_key: PRNGKeyArray
    refits_all = True

    @staticmethod
    def of_blocks(
        data: Dataset, max_scored: int, key: PRNGKeyArray, score_key: PRNGKeyArray
    ) -> BlockFolds:
        """Assign blocks to folds at random.

        Args:
            data: Rows in blocks.
            max_scored: The most rows that score candidates, of all folds together.
            key: Chooses the folds, and these rows.
            score_key: Chooses the noise of log densities.
        """
        fold_key, row_key = jax.random.split(key)
        fold = assign_folds(data.blocks, FOLDS, key=fold_key)
        rows = np.asarray(jax.random.permutation(row_key, len(data)))[:max_scored]
        return BlockFolds(data, fold, rows[np.argsort(fold[rows], kind="stable")], score_key)

    @property
    def scored(self) -> Dataset:
        return self.data.take(self.order)

    @property
    def n_rows(self) -> int:
        return len(self.data)

    @property
    def n_scoring_fits(self) -> int:
        return int(self.fold.max()) + 1

    @property
    def groups(self) -> np.ndarray:
        return self.fold[self.order]

    def fit(
        self,
        name: str,
        estimator: AbstractEstimator,
        key: PRNGKeyArray,
        callbacks: Sequence[Callback],
    ) -> Scored:
        found: list[Scored] = []
        reason = ""
        for number, fold_key in enumerate(jax.random.split(key, self.n_scoring_fits)):
            if found and (reason := find_reason_to_stop(callbacks)):
                break
            others = self.data.take(np.flatnonzero(self.fold != number))
            own = self.data.take(self.order[self.groups == number])
            part = f"{name}, fold {number + 1}"
            keys = fold_key, self.score_key
            found.append(fit_and_score(part, estimator, others, own, keys, callbacks))
            reason = found[-1][0].record.stopped
            if reason in (INTERRUPTED, CUT_SHORT):
                break
        first, work = found[0][0], estimator.fit_work(self.n_rows, self.data.manifold)
        record = dataclasses.replace(
            first.record,
            stopped=reason,
            seconds=sum(result.record.seconds for result, _ in found),
            work=sum(result.record.work or work for result, _ in found),
        )
        scores = np.concatenate([scores for _, scores in found])
        return dataclasses.replace(first, record=record), scores

    def refit_work(self, estimator: AbstractEstimator) -> float:
        return estimator.fit_work(len(self.data), self.data.manifold)


def choose_validation(
    data: Dataset,
    validation: Dataset | None,
    *,
    fraction: float,
    max_held_out: int,
    key: PRNGKeyArray,
    score_key: PRNGKeyArray,
) -> AbstractValidation:
    """Choose folds where rows are in enough blocks, and one held-out set otherwise.

    Args:
        data: All rows.
        validation: The held-out rows that the caller gives, if there are any.
        fraction: Share of the rows to hold out.
        max_held_out: The most rows that score candidates.
        key: Chooses the held-out rows or the folds.
        score_key: Chooses the noise of log densities.
    """
    if validation is not None or len(data) < MIN_ROWS_TO_HOLD_OUT:
        return HeldOutSet(data, data, validation, False, score_key)
    if has_enough_blocks(data):
        return BlockFolds.of_blocks(data, max_held_out, key, score_key)
    kept, held_out = data.split(fraction, key=key, max_held_out=max_held_out)
    return HeldOutSet(data, kept, held_out, True, score_key)


def has_enough_blocks(data: Dataset) -> bool:
    """Whether folds of blocks serve; blocks of one row each are independent rows."""
    if data.blocks is None:
        return False
    sizes = np.unique(data.blocks, return_counts=True)[1]
    largest = int(sizes.max())
    return len(sizes) >= MIN_BLOCKS and 1 < largest <= MAX_BLOCK_FRACTION * len(data)


def fit_and_score(
    name: str,
    estimator: AbstractEstimator,
    data: Dataset,
    scored: Dataset | None,
    keys: tuple[PRNGKeyArray, PRNGKeyArray],
    callbacks: Sequence[Callback],
    validation: Dataset | None = None,
) -> Scored:
    """Fit rows and score others, unless an earlier run has done so.

    Args:
        name: Under which callbacks keep the result.
        estimator: What to fit.
        data: The rows to fit.
        scored: The rows to score, if there are any.
        keys: Choose what is random in the fit and in the scores.
        callbacks: Told of the progress.
        validation: Held-out rows for choices of the estimator, if it is given any.
    """
    for callback in callbacks:
        callback.on_candidate(name)
    if (kept := find_result(callbacks, name)) is not None:
        return kept
    key, score_key = keys
    parts = [callback.for_part(name) for callback in callbacks]
    result = estimator.fit(data, key=key, validation=validation, callbacks=parts)
    scores = score_held_out(result.density, scored, score_key)
    for callback in callbacks:
        callback.keep_result(name, result, scores)
    return result, scores
