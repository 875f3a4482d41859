"""The numbers and the order by which `Auto` decides what to try."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import NamedTuple

from ...manifolds import AbstractManifold
from ..base import MIN_ROWS_TO_HOLD_OUT, AbstractEstimator, name_estimator
from ..dequantized_flow import DequantizedFlow
from ..kernel import LocalKernel, ScaleMixtureKernel
from ..mixture import DirectionalMixture
from ..spline_flow import MANY_ROWS, SplineFlow

MIXTURE = DirectionalMixture(choose="held-out", max_components=64)
"""The mixture that users get by name."""
name_estimator("mixture", lambda: MIXTURE)


MAX_CANDIDATES = 5
"""The most candidates of one run."""


class Candidate(NamedTuple):
    """An estimator under the name that events give it."""

    name: str
    estimator: AbstractEstimator
    is_kernel: bool = False
    """Whether it is a kernel. One kernel is always fitted."""


@dataclasses.dataclass(frozen=True)
class Policy:
    """The order of the candidates, and shares of the work that each may use.

    The shares are fractions of the work that is left. What one candidate leaves, others use.

    Args:
        work_share: The most for each candidate; all of it by default. A kernel leaves enough for
            a flow or the local kernel, which are often better. A mixture of more components rarely
            gains. A flow is slow to score.
        many_rows_factor: Steps of a spline flow for many rows, over its default number.
        first_work_share: The same for the first of several candidates, where it is lower: a flow
            leaves work for a kernel beside it.
        cut_factor: Times the time limit after which the clock stops a run. Machines are up to three
            times slower than the calibrated one.
        cut_seconds: Seconds after which the clock stops a run, besides: compiling may take so long.
    """

    work_share: Mapping[str, float] = dataclasses.field(
        default_factory=lambda: {
            "kernel": 0.75,
            "local kernel": 0.9,
            "mixture": 0.4,
            "spline flow": 0.8,
            "flow": 0.7,
        }
    )
    first_work_share: Mapping[str, float] = dataclasses.field(
        default_factory=lambda: {"flow": 0.55, "spline flow": 0.6}
    )
    many_rows_factor: int = 2
    cut_factor: float = 3.0
    cut_seconds: float = 60.0

    def candidates(
        self,
        n: int,
        manifold: AbstractManifold,
        flow: DequantizedFlow,
        spline_flow: SplineFlow,
    ) -> list[Candidate]:
        """List the candidates that serve a manifold, in the order in which they are tried.

        Args:
            n: How many rows are fitted.
            manifold: Where the rows lie.
            flow: The flow to try where no spline flow serves.
            spline_flow: The spline flow to try.
        """
        kernel = Candidate("kernel", ScaleMixtureKernel(), is_kernel=True)
        local = Candidate("local kernel", LocalKernel(), is_kernel=True)
        mixture, best_flow = Candidate("mixture", MIXTURE), Candidate("flow", flow)
        if spline_flow.serves(manifold):
            best_flow = Candidate("spline flow", self._for_rows(spline_flow, n))
        if n < MIN_ROWS_TO_HOLD_OUT:
            order = (local, kernel, mixture, best_flow)
        elif best_flow.name == "flow":
            order = (kernel, local, mixture, best_flow)
        elif n <= ScaleMixtureKernel().max_rows:
            order = (kernel, best_flow, mixture, local)
        elif MIXTURE.serves(manifold):
            # The cost of a mixture or a flow does not grow with the rows; a kernel uses all.
            order = (mixture, best_flow, kernel, local)
        else:
            # On products a local kernel of some rows is better and faster than a kernel of all.
            order = (best_flow, local, kernel)
        return [candidate for candidate in order if candidate.estimator.serves(manifold)]

    def _for_rows(self, flow: SplineFlow, n: int) -> SplineFlow:
        """The flow, with more than its default number of steps for many rows."""
        default = SplineFlow().training
        if n < MANY_ROWS or flow.training != default:
            return flow
        steps = self.many_rows_factor * default.steps
        return dataclasses.replace(flow, training=dataclasses.replace(default, steps=steps))

    def work_for(self, name: str, left: float, reserved: float, *, leads: bool) -> float:
        """Work units that a candidate may use.

        Args:
            name: The candidate's.
            left: Work units that are left.
            reserved: Work units to refit kernels on all rows, kept where that leaves enough.
            leads: Whether it is the first of several candidates.
        """
        share = self.work_share.get(name, 1.0)
        if leads:
            share = self.first_work_share.get(name, share)
        return share * (left - reserved if reserved < left / 2 else left)
