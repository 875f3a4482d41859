"""Fit the candidates one after the other, within a budget of work."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
from jaxtyping import Float, PRNGKeyArray

from ...density import Dataset
from ...training import Callback, Record
from ...training.callbacks import find_reason_to_stop, find_result
from ...training.history import CUT_SHORT, INTERRUPTED
from ..base import AbstractEstimator, FitResult, UnsupportedManifoldError
from .budget import Budget
from .members import Member, score_held_out
from .policy import Candidate, Policy
from .selection import FAILURES


@dataclasses.dataclass
class Search:
    """The candidates that were fitted so far, and what the others may use.

    Args:
        data: All rows.
        kept: The rows that candidates are fitted to.
        held_out: The rows that score them, if there are any.
        split_here: Whether the held-out rows were taken from `data`.
        policy: The shares of the candidates.
        budget: The work of the whole run.
        record: Gets an event for each candidate.
        score_key: Chooses the noise of log densities.
    """

    data: Dataset
    kept: Dataset
    held_out: Dataset | None
    split_here: bool
    policy: Policy
    budget: Budget
    record: Record
    score_key: PRNGKeyArray
    members: list[Member] = dataclasses.field(default_factory=list)

    def run(
        self,
        candidates: Sequence[Candidate],
        keys: Sequence[PRNGKeyArray],
        callbacks: Sequence[Callback],
    ) -> None:
        """Try candidates until one is interrupted or the clock cuts the run short."""
        for candidate, key in zip(candidates, keys, strict=False):
            is_last = candidate is candidates[-1]
            work = self._work_for(candidate, leads=not self.members and not is_last)
            if not self.is_wanted(candidate, work, is_last=is_last):
                continue
            if self.members and (reason := find_reason_to_stop(callbacks)):
                self.record.stopped = reason
                self.record.events.append(f"{candidate.name}: not tried, {reason}.")
                continue
            self._try(candidate, work, key, callbacks)
            if self.record.stopped == INTERRUPTED:
                break

    def _work_for(self, candidate: Candidate, *, leads: bool) -> float:
        """Work units that a candidate may use; members keep some to be refitted."""
        n, manifold = len(self.data), self.data.manifold
        refits = (m.refit_work(n, manifold, split_here=self.split_here) for m in self.members)
        left, reserved = self.budget.left, sum(refits, 0.0)
        return self.policy.work_for(candidate.name, left, reserved, leads=leads)

    def is_wanted(self, candidate: Candidate, work: float, *, is_last: bool = False) -> bool:
        """Whether a candidate is worth its work; one kernel, or the last if none serves, is."""
        has_kernel = any(member.candidate.is_kernel for member in self.members)
        if (candidate.is_kernel and not has_kernel) or (is_last and not self.members):
            return True
        estimator, n = candidate.estimator, len(self.kept)
        if self.held_out is None or n < estimator.min_rows:
            return False
        needed = estimator.min_work(n, self.kept.manifold)
        if work < needed:
            self.record.events.append(
                f"{candidate.name}: not tried, it needs {needed:.0f} work units, and "
                f"{max(work, 0.0):.0f} of {self.budget.limit:.0f} were left for it."
            )
        return bool(work >= needed)

    def _try(
        self,
        candidate: Candidate,
        work: float,
        key: PRNGKeyArray,
        callbacks: Sequence[Callback],
    ) -> None:
        """Fit and score a candidate."""
        for callback in callbacks:
            callback.on_candidate(candidate.name)
        n, manifold = len(self.kept), self.kept.manifold
        estimator = candidate.estimator.within(work, n, manifold)
        modelled = estimator.fit_work(n, manifold)
        try:
            result, scores = self._fit(candidate.name, estimator, key, callbacks)
        except UnsupportedManifoldError:
            return
        except FAILURES as error:
            self.budget.spend(modelled)
            self.record.events.append(f"{candidate.name}: failed. {error}")
            return
        coarse = result.density.with_budget("coarse").evaluation_work
        self.budget.spend((result.record.work or modelled) + coarse * len(scores))
        each = coarse * len(self.data)
        fitted = candidate._replace(estimator=estimator)
        self.members.append(Member(fitted, result, scores, each))
        self._note(candidate.name, result.record)

    def _fit(
        self,
        name: str,
        estimator: AbstractEstimator,
        key: PRNGKeyArray,
        callbacks: Sequence[Callback],
    ) -> tuple[FitResult, Float[np.ndarray, " h"]]:
        """Fit and score a candidate, unless an earlier run has done so."""
        if (kept := find_result(callbacks, name)) is not None:
            return kept
        result = estimator.fit(
            self.kept,
            key=key,
            validation=self.held_out,
            callbacks=[callback.for_part(name) for callback in callbacks],
        )
        scores = score_held_out(result.density, self.held_out, self.score_key)
        for callback in callbacks:
            callback.keep_result(name, result, scores)
        return result, scores

    def _note(self, name: str, found: Record) -> None:
        """Add the record of a candidate to that of the run."""
        self.record.events += [f"{name}: {found.seconds:.1f} s", *found.events]
        self.record.history += found.history
        if found.stopped in (INTERRUPTED, CUT_SHORT):
            self.record.stopped = found.stopped
