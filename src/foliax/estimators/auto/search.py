"""Fit the candidates one after the other, within a budget of work."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from jaxtyping import PRNGKeyArray

from ...density import Dataset
from ...training import Callback, Record
from ...training.callbacks import find_reason_to_stop
from ...training.history import CUT_SHORT, INTERRUPTED
from ..base import UnsupportedManifoldError
from .budget import Budget
from .members import Member
from .policy import Candidate, Policy
from .selection import FAILURES, add_details
from .validation import AbstractValidation


@dataclasses.dataclass
class Search:
    """The candidates that were fitted so far, and what the others may use.

    Args:
        data: All rows.
        validation: How candidates are scored.
        policy: The shares of the candidates.
        budget: The work of the whole run.
        record: Gets an event for each candidate.
    """

    data: Dataset
    validation: AbstractValidation
    policy: Policy
    budget: Budget
    record: Record
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
        refits = (self.validation.refit_work(m.candidate.estimator) for m in self.members)
        left, reserved = self.budget.left, sum(refits, 0.0)
        return self.policy.work_for(candidate.name, left, reserved, leads=leads)

    def is_wanted(self, candidate: Candidate, work: float, *, is_last: bool = False) -> bool:
        """Whether a candidate is worth its work; one kernel, or the last if none serves, is."""
        has_kernel = any(member.candidate.is_kernel for member in self.members)
        if (candidate.is_kernel and not has_kernel) or (is_last and not self.members):
            return True
        estimator, n = candidate.estimator, self.validation.n_rows
        if self.validation.scored is None or n < estimator.min_rows:
            return False
        needed = self.validation.n_fits * estimator.min_work(n, self.data.manifold)
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
        n, manifold = self.validation.n_rows, self.data.manifold
        estimator = candidate.estimator.within(work / self.validation.n_fits, n, manifold)
        modelled = self.validation.n_scoring_fits * estimator.fit_work(n, manifold)
        try:
            result, scores = self.validation.fit(candidate.name, estimator, key, callbacks)
        except UnsupportedManifoldError:
            return
        except FAILURES as error:
            self.budget.spend(modelled)
            self.record.events.append(f"{candidate.name}: failed. {error}")
            return
        coarse = result.density.with_budget("coarse").evaluation_work
        self.budget.spend((result.record.work or modelled) + coarse * len(scores))
        self._note(candidate.name, result.record)
        if self.members and len(scores) < len(self.members[0].scores):
            self.record.events.append(f"{candidate.name}: left out, not all folds were fitted.")
            return
        each = coarse * len(self.data)
        fitted = candidate._replace(estimator=estimator)
        self.members.append(Member(fitted, result, scores, each))

    def _note(self, name: str, found: Record) -> None:
        """Add the record of a candidate to that of the run."""
        self.record.events.append(f"{name}: {found.seconds:.1f} s")
        if not self.validation.refits_all:
            add_details(self.record, found)
        if found.stopped in (INTERRUPTED, CUT_SHORT):
            self.record.stopped = found.stopped
