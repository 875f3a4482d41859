"""Choose the members by held-out likelihood and weight them."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from jaxtyping import Float, PRNGKeyArray

from ...density import AbstractDensity, Dataset
from ...manifolds.row_errors import name_rows
from ...training import Callback, Record, TrainingDivergedError
from ...training.callbacks import find_reason_to_stop, find_result
from ..base import FitError, FitResult
from ..broad import build_broad_stack, describe_broad
from ..weights import mixture_weights
from .budget import Budget
from .members import MIN_GAIN_NATS, Member

FAILURES = (
    FitError,
    TrainingDivergedError,
    ArithmeticError,
    MemoryError,
    np.linalg.LinAlgError,
)
"""What a candidate may fail with because of the data; the others go on. A bug is not among them."""


def stacking_weights(
    members: list[Member], held_out: Dataset | None, record: Record
) -> Float[np.ndarray, " k"]:
    """Weight the members by held-out likelihood; one alone where the mixture is no better."""
    if held_out is None:
        record.best_validation = members[0].result.record.best_validation
        return np.eye(len(members))[0]
    weights = np.ones(len(held_out)) if held_out.weights is None else held_out.weights
    scores = np.stack([m.scores for m in members], axis=1).astype(float)
    work = [m.result.density.work for m in members]
    with name_rows(held_out.names):
        pi, score = prune_members(scores, weights, work, [m.required_gain for m in members])
    for number, member in enumerate(members):
        alone = float(np.average(member.scores, weights=weights))
        record.events.append(f"held-out log density of the {member.name}: {alone:.4f}")
        too_slow = pi[number] == 0 and member.required_gain > MIN_GAIN_NATS
        if alone >= score + (member.required_gain if too_slow else 0.0):
            pi, score = np.eye(len(members))[number], alone
    record.events += [
        f"{m.name}: left out, because it gains less than {m.required_gain:.4f} nats and takes "
        f"about {m.evaluation_work:.0f} s to evaluate as many rows as were given."
        for p, m in zip(pi, members, strict=True)
        if p == 0 and m.required_gain > MIN_GAIN_NATS
    ]
    named = [f"{p:.3f} {m.name}" for p, m in zip(pi, members, strict=True) if p > 0]
    record.events.append(f"held-out log density of the stack ({', '.join(named)}): {score:.4f}")
    if held_out.blocks is not None and len(np.unique(held_out.blocks)) > 1:
        score = score_by_other_blocks(scores[:, pi > 0], weights, held_out.blocks)
        record.events.append(f"the same with weights from the other blocks: {score:.4f}")
    record.best_validation = -score
    return pi


def score_by_other_blocks(
    scores: Float[np.ndarray, "h k"], weights: Float[np.ndarray, " h"], blocks: np.ndarray
) -> float:
    """Score each block by a mixture whose weights come from the other blocks.

    A few blocks are few independent rows: the score of the rows that weights are fitted to is then
    too good, by about one over the number of blocks for each weight.

    Args:
        scores: Held-out log densities of each member.
        weights: Of the held-out rows.
        blocks: The label of each row's block.

    Returns:
        The mean log density.
    """
    found = np.empty(len(scores))
    for label in np.unique(blocks):
        here = blocks == label
        # All other blocks may have weight 0; the weights then come from this one.
        used = ~here if weights[~here].any() else here
        pi, _ = mixture_weights(scores[used], weights[used], prior=1.0)
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
    split_here: bool,
    key: PRNGKeyArray,
    record: Record,
    callbacks: Sequence[Callback] = (),
) -> list[Member]:
    """Refit the kernels on all rows after stacking, while work is left.

    Args:
        members: Those that were chosen.
        data: All rows.
        budget: The work of the run.
        split_here: Whether the held-out rows were taken from `data`.
        key: Chooses what is random in a fit.
        record: Gets an event for each refit.
        callbacks: Asked before each refit whether to stop.
    """
    found = []
    for member in members:
        work = member.refit_work(len(data), data.manifold, split_here=split_here)
        if 0 < work <= budget.left and (reason := find_reason_to_stop(callbacks)):
            record.stopped = reason
            record.events.append(f"{member.name}: not refitted on all rows, {reason}.")
        elif 0 < work <= budget.left:
            budget.spend(work)
            try:
                result = _refit(member, data, key, callbacks)
                member = member._replace(result=result)
                event = f"refitted on all {len(data)} rows, {result.record.seconds:.1f} s"
            except FAILURES as error:
                event = f"not refitted on all rows. {error}"
            record.events.append(f"{member.name}: {event}")
        found.append(member)
    return found


def _refit(
    member: Member, data: Dataset, key: PRNGKeyArray, callbacks: Sequence[Callback]
) -> FitResult:
    """Refit a member on all rows, unless an earlier run has done so."""
    name = f"{member.name} on all rows"
    if (kept := find_result(callbacks, name)) is not None:
        return kept[0]
    result = member.candidate.estimator.fit(data, key=key)
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
