"""Choose the members by held-out likelihood and weight them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from jaxtyping import Float, Int, PRNGKeyArray

from ...density import AbstractDensity, Dataset
from ...manifolds.row_errors import name_rows
from ...training import Callback, Record, TrainingDivergedError
from ...training.callbacks import find_reason_to_stop, find_result
from ...training.history import CUT_SHORT, INTERRUPTED
from ..base import FitError, FitResult
from ..broad import build_broad_stack, describe_broad
from ..weights import mixture_weights
from .budget import Budget
from .members import MIN_GAIN_NATS, Member
from .validation import AbstractValidation

Choose = Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, float]]
"""Finds the weights of members and their score from scores and weights of rows."""

FAILURES = (
    FitError,
    TrainingDivergedError,
    ArithmeticError,
    MemoryError,
    np.linalg.LinAlgError,
)
"""What a candidate may fail with because of the data; the others go on. A bug is not among them."""


def stacking_weights(
    members: list[Member],
    scored: Dataset | None,
    record: Record,
    folds: Int[np.ndarray, " h"] | None = None,
) -> Float[np.ndarray, " k"]:
    """Weight the members by held-out likelihood; one alone where the mixture is no better.

    Args:
        members: Those that were fitted.
        scored: The rows of their scores; a run that was stopped scores only the first.
        record: Gets events, and the score of the mixture.
        folds: The fold of each row, if members are scored by folds.
    """
    if scored is None:
        record.best_validation = members[0].result.record.best_validation
        return np.eye(len(members))[0]
    scored = scored.take(np.arange(len(members[0].scores)))
    weights = np.ones(len(scored)) if scored.weights is None else scored.weights
    scores = np.stack([m.scores for m in members], axis=1).astype(float)
    with name_rows(scored.names):
        pi, score = choose_weights(members, scores, weights)
    record.events += [
        f"held-out log density of the {m.name}: {np.average(m.scores, weights=weights):.4f}"
        for m in members
    ]
    record.events += [
        f"{m.name}: left out, because it gains less than {m.required_gain:.4f} nats and takes "
        f"about {m.evaluation_work:.0f} s to evaluate as many rows as were given."
        for p, m in zip(pi, members, strict=True)
        if p == 0 and m.required_gain > MIN_GAIN_NATS
    ]
    named = [f"{p:.3f} {m.name}" for p, m in zip(pi, members, strict=True) if p > 0]
    record.events.append(f"held-out log density of the stack ({', '.join(named)}): {score:.4f}")
    if folds is not None:
        choose = partial(choose_weights, members)
        score = score_by_other_blocks(scores, weights, folds[: len(scores)], choose)
        record.events.append(f"the same with members and weights from the other folds: {score:.4f}")
    elif scored.blocks is not None and len(np.unique(scored.blocks)) > 1:
        score = score_by_other_blocks(scores[:, pi > 0], weights, scored.blocks)
        record.events.append(f"the same with weights from the other blocks: {score:.4f}")
    record.best_validation = -score
    return pi


def choose_weights(
    members: list[Member], scores: Float[np.ndarray, "h k"], weights: Float[np.ndarray, " h"]
) -> tuple[Float[np.ndarray, " k"], float]:
    """Prune and weight members by their scores of some rows.

    Args:
        members: Those that were fitted.
        scores: Held-out log densities of each member.
        weights: Of the held-out rows.

    Returns:
        The weights, 0 for members left out, and the mean log density of the mixture.
    """
    work = [m.result.density.work for m in members]
    pi, score = prune_members(scores, weights, work, [m.required_gain for m in members])
    for number, member in enumerate(members):
        alone = float(np.average(scores[:, number], weights=weights))
        too_slow = pi[number] == 0 and member.required_gain > MIN_GAIN_NATS
        if alone >= score + (member.required_gain if too_slow else 0.0):
            pi, score = np.eye(len(members))[number], alone
    return pi, score


def score_by_other_blocks(
    scores: Float[np.ndarray, "h k"],
    weights: Float[np.ndarray, " h"],
    blocks: np.ndarray,
    choose: Choose | None = None,
) -> float:
    """Score each block by a mixture whose weights come from the other blocks.

    A few blocks are few independent rows: the score of the rows that weights are fitted to is then
    too good, by about one over the number of blocks for each weight.

    Args:
        scores: Held-out log densities of each member.
        weights: Of the held-out rows.
        blocks: The label of each row's block or fold.
        choose: Finds the weights of members from scores and weights of rows; by default by EM.

    Returns:
        The mean log density.
    """
    choose = choose or partial(mixture_weights, prior=1.0)
    found = np.empty(len(scores))
    for label in np.unique(blocks):
        here = blocks == label
        # All other blocks may have weight 0; the weights then come from this one.
        used = ~here if weights[~here].any() else here
        pi, _ = choose(scores[used], weights[used])
        with np.errstate(divide="ignore"):
            found[here] = np.logaddexp.reduce(scores[here] + np.log(pi), axis=1)
    return float(np.average(found, weights=weights))


def prune_members(
    scores: Float[np.ndarray, "h k"],
    weights: Float[np.ndarray, " h"],
    work: list[int],
    required_gain: list[float],
) -> tuple[Float[np.ndarray, " k"], float]:
    """Weight members by EM, leaving out those that gain less than they must.

    Args:
        scores: Held-out log densities of each member.
        weights: Of the held-out rows.
        work: Cost of evaluating each member; the most expensive are tried first.
        required_gain: Nats that each must gain.

    Returns:
        The weights, 0 for those left out, and the mean log density of the mixture.
    """
    use = np.ones(len(work), bool)

    def weight(use: np.ndarray) -> tuple[np.ndarray, float]:
        pi = np.zeros(len(use))
        pi[use], score = mixture_weights(scores[:, use], weights, prior=1.0)
        return pi, score

    for number in np.lexsort((work, required_gain))[::-1]:
        fewer = use & (np.arange(len(use)) != number)
        reaches_all = fewer.any() and np.isfinite(scores[:, fewer].max(1)).all()
        if reaches_all and weight(fewer)[1] > weight(use)[1] - required_gain[number]:
            use = fewer
    return weight(use)


def refit_on_all_rows(
    members: list[Member],
    data: Dataset,
    budget: Budget,
    *,
    validation: AbstractValidation,
    key: PRNGKeyArray,
    record: Record,
    callbacks: Sequence[Callback] = (),
) -> list[Member]:
    """Refit members on all rows after stacking.

    After folds all members are refitted. After one held-out set only kernels are, while work is
    left.

    Args:
        members: Those that were chosen.
        data: All rows.
        budget: The work of the run.
        validation: How they were scored.
        key: Chooses what is random in a fit.
        record: Gets an event for each refit.
        callbacks: Asked before each refit whether to stop.
    """
    found = []
    for member in members:
        work = validation.refit_work(member.candidate.estimator)
        is_wanted = validation.refits_all or 0 < work <= budget.left
        if is_wanted and (reason := record.stopped or find_reason_to_stop(callbacks)):
            record.stopped = reason
            record.events.append(f"{member.name}: not refitted on all rows, {reason}.")
        elif is_wanted:
            budget.spend(work)
            member = _replace_fit(member, data, key, record, callbacks)
        if validation.refits_all:
            add_details(record, member.result.record)
        found.append(member)
    return found


def _replace_fit(
    member: Member,
    data: Dataset,
    key: PRNGKeyArray,
    record: Record,
    callbacks: Sequence[Callback],
) -> Member:
    """Replace a member's fit by one to all rows; it stays as it is where that fails or stops."""
    try:
        result = _refit(member, data, key, callbacks)
    except FAILURES as error:
        record.events.append(f"{member.name}: not refitted on all rows. {error}")
        return member
    if result.record.stopped in (INTERRUPTED, CUT_SHORT):
        record.stopped = result.record.stopped
        record.events.append(f"{member.name}: not refitted on all rows, {record.stopped}.")
        return member
    seconds = result.record.seconds
    record.events.append(f"{member.name}: refitted on all {len(data)} rows, {seconds:.1f} s")
    return member._replace(result=result)


def add_details(record: Record, found: Record) -> None:
    """Add the events and the history of a member to the record of the run."""
    record.events += found.events
    record.history += found.history


def _refit(
    member: Member, data: Dataset, key: PRNGKeyArray, callbacks: Sequence[Callback]
) -> FitResult:
    """Refit a member on all rows, unless an earlier run has done so."""
    name = f"{member.name} on all rows"
    if (kept := find_result(callbacks, name)) is not None:
        return kept[0]
    parts = [callback.for_part(name) for callback in callbacks]
    result = member.candidate.estimator.fit(data, key=key, callbacks=parts)
    for callback in callbacks:
        callback.keep_result(name, result, np.zeros(0))
    return result


def build_stack(
    members: list[Member],
    weights: Float[np.ndarray, " k"],
    fitted: list[Member],
    record: Record,
) -> AbstractDensity:
    """Mix the members and a broad density; one that has a broad component is returned as it is.

    Args:
        members: Those that were chosen.
        weights: Their weights.
        fitted: All that were fitted: their kernels may serve as the broad density.
        record: Gets an event, and the score of the mixture.
    """
    density, added = build_broad_stack(
        [m.result.density for m in members], weights, [m.result.density for m in fitted]
    )
    if added:
        record.events.append(describe_broad(added))
        record.best_validation -= math.log1p(-added)  # at most: it costs no row more
    return density
