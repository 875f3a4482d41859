"""The default estimator: candidates, their order and their time."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import jax
from jaxtyping import PRNGKeyArray

from ...dequantizers import HeavyTailed
from ...flows import SplineCoupling
from ...manifolds import AbstractManifold
from ...manifolds.base import as_points
from ...registry import storable
from ...training import Block, ImportanceWeighted, Record, Training
from ...training.history import INTERRUPTED
from ..base import (
    LEAST_TO_HOLD_OUT,
    MOST_HELD_OUT,
    AbstractSpec,
    Fitted,
    UnsupportedManifoldError,
    hold_out,
)
from ..dequantized_flow import DequantizedFlow
from ..kernel import LocalKernel, ScaleMixtureKernel
from ..mixture import DirectionalMixture
from .budget import scored
from .members import Held, Member, Weighted
from .selection import FAILURES, renewed, shared, together

FLOW = DequantizedFlow(
    SplineCoupling(6, 64, 2, 12, 4.0, activation="silu"),
    HeavyTailed(32),
    ImportanceWeighted(4),
    Training(steps=6000, batch=256, rate=2e-3, warmup=200, patience=8),
)
MIXTURE = DirectionalMixture(choose="held-out", max_components=64)
SHARE = {"mixture": 0.4, "flow": 0.7}
"""Of the time that is left, what a candidate may use if not all: a flow is slow to score, too."""
FIRST_SHARE = {"mixture": 0.4, "flow": 0.55}
"""The same for the first that serves: others are to be tried beside it."""
LEAST_SHARE = {"kernel": 0.2, "local kernel": 0.4, "mixture": 0.05, "flow": 0.4}
"""Of all the time, what a candidate must have for itself, after `SHARE` was taken of what is left.

A flow that is soon cut short is of no use.
"""
ENOUGH = 48.0
"""Seconds that are enough for any candidate to be begun."""
LEAST_FOR_A_FLOW = 2000
SHAPED_A_MINUTE = 6000
"""Rows of which the slow local kernel is made, for each minute there is."""
WEIGHED_A_MINUTE = 3000
"""`max_rows` of a kernel of very many rows, of which so many weigh the others, and a quarter as
many are to be near a row."""
CLIMBED_A_MINUTE = 5000
"""Rows that a mixture climbs: with more it would get no further than a few components in time."""
LEAST_ROWS = 1000
"""Of each, however short the time is."""

OnCandidate = Callable[[str], None]
OnBlock = Callable[[Block], None]


@storable("fit.Auto")
@dataclasses.dataclass(frozen=True)
class Auto(AbstractSpec):
    """Kernels, a mixture and, given rows and time enough, a flow; mixed by held-out likelihood.

    Candidates that cannot serve the manifold are passed over, and one that fails is noted in the
    record. All are fitted on the same part of the rows, in order of cost, until `minutes` are used
    up; the first is never given up, and a flow ends in time with its best parameters. Weights are
    found by EM on the held-out part, a share `validation` of the rows and at most `most_held_out`;
    the whole is never worse there than its best member, but for one that is too slow: a member must
    gain 0.001 nats, and as much for every half minute that it would take to evaluate as many rows
    as there are, but no more than 0.1; the record tells which one was left out for that. After
    that, kernels that were not thinned are made anew of all rows where there is time; they need no
    held-out rows for themselves. Rows that the caller has given for validation are not among them.
    Below 200 rows nothing is held out: the local kernel, weighted by rows set aside in turn, is the
    answer. `flow` is tried from 2,000 rows on, and where nothing else serves the manifold. Beyond
    20,000 rows the mixture comes first, or the flow where no mixture serves, since their cost does
    not grow; one kernel is tried in any case, even beyond the time.
    """

    minutes: float = 2.0
    validation: float = 0.1
    most_held_out: int = MOST_HELD_OUT
    flow: DequantizedFlow = FLOW

    def __post_init__(self):
        if not (self.minutes > 0 and 0 < self.validation < 1 and self.most_held_out > 0):
            raise ValueError("Auto needs minutes > 0, 0 < validation < 1 and most_held_out > 0.")

    def _fit(
        self,
        where: AbstractManifold,
        rows: Any,
        *,
        key: PRNGKeyArray,
        weights: Any = None,
        validation: Any = None,
        on_candidate: OnCandidate | None = None,
        on_block: OnBlock | None = None,
    ) -> Fitted:
        began = time.monotonic()
        everything = Weighted(as_points(where, rows), weights)
        split_key, score_key, *keys = jax.random.split(key, 2 + 4)
        kept = everything
        held = Held(None if validation is None else as_points(where, validation), None)
        if validation is None and len(everything.rows) >= LEAST_TO_HOLD_OUT:
            kept, held = self._split(everything, split_key)
        members: list[Member] = []
        record = Record(0)
        for (name, spec), k in zip(self._candidates(len(kept.rows), members), keys, strict=False):
            left = began + 60 * self.minutes - time.monotonic()
            later = sum(m.again(len(everything.rows), held) for m in members)
            # Time to make kernels anew is kept where that leaves enough for the candidate.
            share = SHARE.get(name, 1.0) if members else FIRST_SHARE.get(name, 1.0)
            seconds = share * (left - later if later < left / 2 else left)
            # One kernel is tried however late it is: nothing worse than it is to be the answer.
            late = any("kernel" in m.name for m in members) or "kernel" not in name
            if members and late and not self._wanted(name, len(kept.rows), held, seconds, record):
                continue
            if on_candidate is not None:
                on_candidate(name)
            try:
                fitted = fit_watched(
                    spec.within(seconds),
                    where,
                    kept.rows,
                    key=k,
                    weights=kept.weights,
                    validation=held.rows,
                    on_block=on_block,
                )
                members.append(scored(name, spec, fitted, held, len(everything.rows), score_key))
            except UnsupportedManifoldError:
                continue
            except FAILURES as error:
                record.events.append(f"{name}: failed. {error}")
                continue
            record.events += [f"{name}: {fitted.record.seconds:.1f} s", *fitted.record.events]
            record.history += fitted.record.history
            if fitted.record.stopped == INTERRUPTED:
                record.stopped = INTERRUPTED
                break
        if not members:
            raise ValueError(" ".join(record.events) or f"Nothing serves {where}.")
        shares = shared(members, held, record)
        chosen = [m for m, share in zip(members, shares, strict=True) if share > 0]
        if record.stopped != INTERRUPTED:
            left = began + 60 * self.minutes - time.monotonic()
            chosen = renewed(chosen, where, everything, held, left, keys[0], record)
            record.stopped = "done"
        record.parameters = sum(m.fitted.record.parameters for m in chosen)
        record.seconds = time.monotonic() - began
        return Fitted(together(chosen, shares[shares > 0]), record)

    def _split(self, everything: Weighted, key: PRNGKeyArray) -> tuple[Weighted, Held]:
        rows, weights, *out = hold_out(*everything, self.validation, key, self.most_held_out)
        return Weighted(rows, weights), Held(*out, own=True)

    def _candidates(
        self, n: int, members: Sequence[Member] = ()
    ) -> Iterator[tuple[str, AbstractSpec]]:
        """In the order in which they are tried; `members`: those that have served by then."""
        scales = ScaleMixtureKernel()
        shaped, climbed, weighed = (
            max(LEAST_ROWS, int(each * self.minutes))
            for each in (SHAPED_A_MINUTE, CLIMBED_A_MINUTE, WEIGHED_A_MINUTE)
        )
        most = min(scales.max_rows, shaped)
        kernel = "kernel", scales
        local = "local kernel", LocalKernel(scales=dataclasses.replace(scales, max_rows=most))
        climber = dataclasses.replace(MIXTURE, max_rows=min(MIXTURE.max_rows, climbed))
        mixture, flow = ("mixture", climber), ("flow", self.flow)
        if n < LEAST_TO_HOLD_OUT:
            yield from (local, kernel, mixture, flow)
        elif n <= scales.max_rows:
            yield from (kernel, local, mixture, flow)
        else:
            # A mixture climbs so many rows and no more, as does a flow; a kernel is made of all.
            kernel = "kernel", dataclasses.replace(scales, max_rows=min(scales.max_rows, weighed))
            yield mixture
            # On products a local kernel of some rows is better and quicker than one of all; half as
            # many are shaped, since each takes longer.
            fewer = dataclasses.replace(scales, max_rows=max(LEAST_ROWS, most // 2))
            other = "local kernel", LocalKernel(scales=fewer)
            yield from (kernel, local, flow) if members else (flow, other, kernel)

    def _wanted(self, name: str, n: int, held: Held, seconds: float, record: Record) -> bool:
        """Whether a candidate is worth its time, once there is one that works."""
        if held.rows is None or (name == "flow" and n < LEAST_FOR_A_FLOW):
            return False
        if seconds < min(ENOUGH, LEAST_SHARE[name] * 60 * self.minutes):
            record.events.append(
                f"{name}: not tried, {max(seconds, 0.0):.0f} s of {60 * self.minutes:.0f} s were "
                "left for it."
            )
            return False
        return True


def spec_of(model: str | AbstractSpec, *, minutes: float = 2.0, steps: int | None = None):
    """The spec that a name stands for: auto, kernel, local kernel, mixture, flow; a spec is itself.

    `minutes`: the budget of auto. `steps`: of a flow's training, where it is not to have the usual.
    """
    if isinstance(model, AbstractSpec):
        return model
    training = FLOW.training if steps is None else dataclasses.replace(FLOW.training, steps=steps)
    flow = dataclasses.replace(FLOW, training=training)
    known: dict[str, AbstractSpec] = {
        "auto": Auto(minutes=minutes, flow=flow),
        "kernel": ScaleMixtureKernel(),
        "local kernel": LocalKernel(),
        "mixture": MIXTURE,
        "flow": flow,
    }
    if not isinstance(model, str) or model.replace("-", " ") not in known:
        raise ValueError(f"model is one of {', '.join(known)}, or a spec; not {model!r}.")
    return known[model.replace("-", " ")]


def fit_watched(
    spec: AbstractSpec,
    where: AbstractManifold,
    rows: Any,
    *,
    key: PRNGKeyArray,
    weights: Any = None,
    validation: Any = None,
    on_candidate: OnCandidate | None = None,
    on_block: OnBlock | None = None,
) -> Fitted:
    """`spec.fit`, telling of candidates and blocks where the spec has any."""
    watch: dict[str, Any] = {}
    if isinstance(spec, Auto):
        watch = {"on_candidate": on_candidate, "on_block": on_block}
    elif isinstance(spec, DequantizedFlow):
        watch = {"on_block": on_block}
    return spec.fit(where, rows, key=key, weights=weights, validation=validation, **watch)
