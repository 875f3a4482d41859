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
from ...training.history import CUT_SHORT
from ..base import (
    MAX_HELD_OUT_ROWS,
    AbstractEstimator,
    FitResult,
    named_estimator,
)
from ..dequantized_flow import FLOW, DequantizedFlow
from ..spline_flow import SplineFlow
from .budget import Budget, Deadline
from .members import credit_refits
from .policy import MAX_CANDIDATES, Policy
from .search import Search
from .selection import build_stack, refit_on_all_rows, stacking_weights
from .validation import choose_validation

POLICY = Policy()
SPLINE_FLOW = SplineFlow()
CUT_EVENT = (
    "The run was cut short after {:.0f} s, far over its time limit of {:.0f} s: this machine is "
    "much slower than the cost model expects, or busy. Another run may give another result. Use a "
    "shorter time limit, which tries less, or run it again when the machine is idle."
)


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

    All candidates that serve the manifold are fitted to the same part of the rows, in the order of
    their cost, until the budget is used up; one that fails on the data is noted in the record. One
    kernel is always fitted, even beyond the budget, so that the result is never worse than it.

    What is tried, with how many rows, components and steps, follows from the rows, the manifold and
    the time limit by a cost model: equal keys give equal results, on a busy machine too. The clock
    only stops a run that takes longer than three times its limit and a minute; its
    `Record.stopped` is then `"cut short"`.

    Weights come from EM on the held-out rows. A member must gain 0.001 nats there, and as much
    for every half minute that it takes to evaluate as many rows as were given; a gain of 0.1 nats
    always keeps a member. Kernels that use all rows are then refitted on all of them, if work is
    left. Rows that the caller gives for validation are not among them.

    The result keeps a broad component: the uniform density, or the broadest kernel where the volume
    is infinite, with a weight of at least 0.01.

    Below 200 rows nothing is held out, and the local kernel, weighted by cross-validation, is the
    result. Flows are tried from 500 rows on, and where nothing else serves the manifold: a spline
    flow, whose densities are exact, or a dequantized flow where no spline flow serves, from 2,000
    rows on. Beyond 20,000 rows the mixture comes first, or the spline flow where no mixture serves.

    Rows of one block are held out together. With at least 10 blocks, candidates are scored by five
    random folds of whole blocks: each fold scores fits to the other four. So all blocks choose the
    members and their weights, and the claimed score uses members and weights of the other folds.
    Every chosen member is then fitted to all rows; a kernel's claim is then that of its own
    cross-validation, which leaves out fewer blocks at a time. These fits share the time limit. If
    consecutive rows are much alike, as in a time series, and no blocks are given, blocks of
    consecutive rows are; an event says so.

    Args:
        time_limit: Seconds for everything, on a machine like the calibrated one.
        validation_fraction: Share of the rows held out, where no held-out rows are given and folds
            are not used.
        max_held_out: The most rows held out, in all folds together.
        flow: The flow to try where no spline flow serves.
        spline_flow: The spline flow to try; with its default numbers it takes twice as many steps
            for 30,000 rows or more.
    """

    falls_back_on_blocks: ClassVar[bool] = True

    time_limit: float = 120.0
    validation_fraction: float = 0.1
    max_held_out: int = MAX_HELD_OUT_ROWS
    flow: DequantizedFlow = FLOW
    spline_flow: SplineFlow = SPLINE_FLOW

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
        deadline = Deadline(POLICY.cut_factor * self.time_limit + POLICY.cut_seconds)
        split_key, score_key, *keys = jax.random.split(key, 2 + MAX_CANDIDATES)
        how = choose_validation(
            data,
            validation,
            fraction=self.validation_fraction,
            max_held_out=self.max_held_out,
            key=split_key,
            score_key=score_key,
        )
        record, budget = Record(0), Budget.from_seconds(self.time_limit)
        search = Search(data, how, POLICY, budget, record)
        candidates = POLICY.candidates(how.n_rows, data.manifold, self.flow, self.spline_flow)
        callbacks = [*callbacks, deadline]
        search.run(candidates, keys, callbacks)
        if not search.members:
            raise ValueError(" ".join(record.events) or f"Nothing serves {data.manifold}.")
        weights = stacking_weights(search.members, how.scored, record, how.groups)
        chosen = [m for m, weight in zip(search.members, weights, strict=True) if weight > 0]
        if how.refits_all or not record.stopped:
            shared = {"validation": how, "record": record, "callbacks": callbacks}
            refitted = refit_on_all_rows(chosen, data, budget, key=keys[0], **shared)
            if how.refits_all and how.scored is not None:
                kept = weights[weights > 0]
                credit_refits(chosen, refitted, kept, how.scored, record)
            chosen = refitted
            record.stopped = record.stopped or "done"
        if record.stopped == CUT_SHORT:
            record.events.append(CUT_EVENT.format(deadline.seconds, self.time_limit))
        record.warnings += [text for m in chosen for text in m.result.record.warnings]
        record.parameters = sum(m.result.record.parameters for m in chosen)
        record.seconds, record.work = time.monotonic() - began, budget.spent
        density = build_stack(chosen, weights[weights > 0], search.members, record)
        return FitResult(density, record)
