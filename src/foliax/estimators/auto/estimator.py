"""The default estimator: fit candidates within a time limit and stack them."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Sequence
from typing import Any, ClassVar

import jax
from jaxtyping import PRNGKeyArray

from ...density import Dataset
from ...registry import storable
from ...training import Callback, Record
from ...training.history import INTERRUPTED
from ..base import (
    MAX_HELD_OUT_ROWS,
    MIN_ROWS_TO_HOLD_OUT,
    AbstractEstimator,
    FitResult,
    UnsupportedManifoldError,
    named_estimator,
)
from ..dequantized_flow import FLOW, DequantizedFlow
from .budget import score_candidate
from .members import Member
from .policy import Candidate, Policy
from .selection import FAILURES, build_stack, refit_on_all_rows, stacking_weights

POLICY = Policy()


def _upgrade(fields: dict[str, Any]) -> dict[str, Any]:
    """Fields of older files, which gave the time limit in minutes."""
    if "minutes" not in fields:
        return fields
    minutes = fields["minutes"]
    return {k: v for k, v in fields.items() if k != "minutes"} | {"time_limit": 60 * minutes}


@named_estimator("auto")
@storable(
    "fit.Auto",
    renamed_fields={"validation": "validation_fraction", "most_held_out": "max_held_out"},
    upgrade=_upgrade,
)
@dataclasses.dataclass(frozen=True)
class Auto(AbstractEstimator):
    """Kernels, a mixture and, given enough rows and time, a flow, stacked by held-out likelihood.

    All candidates are fitted to the same part of the rows, in the order of their cost, until the
    time is used up. Candidates that do not serve the manifold are skipped; one that fails on the
    data is noted in the record. One kernel is always fitted, even beyond the time limit, so that
    the result is never worse than it. A flow ends in time with its best parameters.

    Weights come from EM on the held-out rows. A member must gain 0.001 nats there, and as much
    for every half minute that it takes to evaluate as many rows as were given; a gain of 0.1 nats
    always keeps a member. Kernels that use all rows are then refitted on all of them, if time is
    left. Rows that the caller gives for validation are not among them.

    Below 200 rows nothing is held out, and the local kernel, weighted by cross-validation, is the
    result. A flow is tried from 2,000 rows on, and where nothing else serves the manifold. Beyond
    20,000 rows the mixture comes first, or the flow where no mixture serves.

    Rows of one block are held out together. If consecutive rows are much alike, as in a time
    series, and no blocks are given, blocks of consecutive rows are; an event says so.

    Args:
        time_limit: Seconds for everything; only one kernel may exceed it.
        validation_fraction: Share of the rows held out, where no held-out rows are given.
        max_held_out: The most rows held out.
        flow: The flow to try.
    """

    falls_back_on_blocks: ClassVar[bool] = True

    time_limit: float = 120.0
    validation_fraction: float = 0.1
    max_held_out: int = MAX_HELD_OUT_ROWS
    flow: DequantizedFlow = FLOW

    def __post_init__(self):
        if not (self.time_limit > 0 and 0 < self.validation_fraction < 1 and self.max_held_out > 0):
            raise ValueError(
                "Auto needs time_limit > 0, 0 < validation_fraction < 1 and max_held_out > 0."
            )

    @property
    def keeps_broad_component(self) -> bool:
        return True

    def _fit(
        self,
        data: Dataset,
        *,
        key: PRNGKeyArray,
        validation: Dataset | None = None,
        callbacks: Sequence[Callback] = (),
    ) -> FitResult:
        began = time.monotonic()
        split_key, score_key, *keys = jax.random.split(key, 2 + 4)
        kept, held_out = data, validation
        split_here = validation is None and len(data) >= MIN_ROWS_TO_HOLD_OUT
        if split_here:
            kept, held_out = data.split(
                self.validation_fraction, key=split_key, max_held_out=self.max_held_out
            )
        members: list[Member] = []
        record = Record(0)
        seconds = self.time_limit
        candidates = POLICY.candidates(len(kept), seconds, self.flow, members)
        for candidate, k in zip(candidates, keys, strict=False):
            left = began + seconds - time.monotonic()
            reserved = sum((m.refit_seconds(len(data), split_here) for m in members), 0.0)
            given = POLICY.seconds_for(candidate.name, left, reserved, not members)
            if not self._is_wanted(candidate, members, len(kept), held_out, given, record):
                continue
            for callback in callbacks:
                callback.on_candidate(candidate.name)
            try:
                result = candidate.estimator.with_time_limit(given).fit(
                    kept,
                    key=k,
                    validation=held_out,
                    callbacks=[callback.for_part(candidate.name) for callback in callbacks],
                )
                members.append(score_candidate(candidate, result, held_out, len(data), score_key))
            except UnsupportedManifoldError:
                continue
            except FAILURES as error:
                record.events.append(f"{candidate.name}: failed. {error}")
                continue
            record.events.append(f"{candidate.name}: {result.record.seconds:.1f} s")
            record.events += result.record.events
            record.history += result.record.history
            if result.record.stopped == INTERRUPTED:
                record.stopped = INTERRUPTED
                break
        if not members:
            raise ValueError(" ".join(record.events) or f"Nothing serves {data.manifold}.")
        weights = stacking_weights(members, held_out, record)
        chosen = [m for m, weight in zip(members, weights, strict=True) if weight > 0]
        if record.stopped != INTERRUPTED:
            left = began + seconds - time.monotonic()
            chosen = refit_on_all_rows(
                chosen, data, left, split_here=split_here, key=keys[0], record=record
            )
            record.stopped = "done"
        record.parameters = sum(m.result.record.parameters for m in chosen)
        record.seconds = time.monotonic() - began
        return FitResult(build_stack(chosen, weights[weights > 0]), record)

    def _is_wanted(
        self,
        candidate: Candidate,
        members: list[Member],
        n: int,
        held_out: Dataset | None,
        seconds: float,
        record: Record,
    ) -> bool:
        """Whether a candidate is worth its time; the first, and one kernel, always are."""
        has_kernel = any("kernel" in member.name for member in members)
        if not members or (candidate.is_kernel and not has_kernel):
            return True
        if held_out is None or (candidate.name == "flow" and n < POLICY.min_flow_rows):
            return False
        limit = self.time_limit
        if seconds < POLICY.min_seconds(candidate.name, limit):
            record.events.append(
                f"{candidate.name}: not tried, {max(seconds, 0.0):.0f} s of {limit:.0f} s were "
                "left for it."
            )
            return False
        return True
