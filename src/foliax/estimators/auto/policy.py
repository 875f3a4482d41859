"""The numbers by which `Auto` decides what to try, and for how long."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from ..base import MIN_ROWS_TO_HOLD_OUT, AbstractEstimator, name_estimator
from ..kernel import LocalKernel, ScaleMixtureKernel
from ..mixture import DirectionalMixture

MIXTURE = DirectionalMixture(choose="held-out", max_components=64)
"""The mixture that users get by name."""
name_estimator("mixture", lambda: MIXTURE)


class Candidate(NamedTuple):
    """An estimator under the name that events give it."""

    name: str
    estimator: AbstractEstimator

    @property
    def is_kernel(self) -> bool:
        """Whether it is a kernel. One kernel is always fitted."""
        return "kernel" in self.name


@dataclasses.dataclass(frozen=True)
class Policy:
    """Shares of the time limit, and rows per minute, that candidates get.

    The shares leave time for the other candidates and for scoring. The rows per minute keep each
    candidate within its share on one core.

    Args:
        time_share: Of the time left, the most that a candidate may use. A flow is slow to score.
        first_time_share: The same for the first candidate, so that others are tried beside it.
        min_time_share: Of the time limit, the least that a candidate needs. A flow that is soon cut
            short is useless.
        min_start_seconds: Seconds with which any candidate may start.
        min_flow_rows: Rows from which on a flow can win.
        shaped_rows_per_minute: Rows of the local kernel, whose cost grows fastest.
        weighing_rows_per_minute: `max_rows` of a kernel of very many rows.
        mixture_rows_per_minute: Rows of the mixture's EM; more would leave time for few components.
        min_rows: The least of each of these, however short the time is.
    """

    time_share: Mapping[str, float] = dataclasses.field(
        default_factory=lambda: {"mixture": 0.4, "flow": 0.7}
    )
    first_time_share: Mapping[str, float] = dataclasses.field(
        default_factory=lambda: {"mixture": 0.4, "flow": 0.55}
    )
    min_time_share: Mapping[str, float] = dataclasses.field(
        default_factory=lambda: {
            "kernel": 0.2,
            "local kernel": 0.4,
            "mixture": 0.05,
            "flow": 0.4,
        }
    )
    min_start_seconds: float = 48.0
    min_flow_rows: int = 2000
    shaped_rows_per_minute: int = 6000
    weighing_rows_per_minute: int = 3000
    mixture_rows_per_minute: int = 5000
    min_rows: int = 1000

    def candidates(
        self, n: int, seconds: float, flow: AbstractEstimator, members: Sequence
    ) -> Iterator[Candidate]:
        """Yield the candidates in the order in which they are tried.

        Args:
            n: How many rows are fitted.
            seconds: The time limit.
            flow: The flow to try.
            members: Those that were fitted so far; they grow while candidates are consumed.
        """
        scales = ScaleMixtureKernel()
        shaped, mixed, weighing = (
            max(self.min_rows, int(rows * seconds / 60))
            for rows in (
                self.shaped_rows_per_minute,
                self.mixture_rows_per_minute,
                self.weighing_rows_per_minute,
            )
        )
        most = min(scales.max_rows, shaped)
        kernel = Candidate("kernel", scales)
        local = Candidate(
            "local kernel", LocalKernel(scales=dataclasses.replace(scales, max_rows=most))
        )
        max_rows = min(MIXTURE.max_rows, mixed)
        mixture = Candidate("mixture", dataclasses.replace(MIXTURE, max_rows=max_rows))
        last = Candidate("flow", flow)
        if n < MIN_ROWS_TO_HOLD_OUT:
            yield from (local, kernel, mixture, last)
        elif n <= scales.max_rows:
            yield from (kernel, local, mixture, last)
        else:
            # The cost of a mixture or a flow does not grow with the rows; a kernel uses all.
            fewer = dataclasses.replace(scales, max_rows=min(scales.max_rows, weighing))
            kernel = Candidate("kernel", fewer)
            yield mixture
            # On products a local kernel of some rows is better and faster than a kernel of all.
            # Half as many are shaped, since each takes longer.
            half = dataclasses.replace(scales, max_rows=max(self.min_rows, most // 2))
            other = Candidate("local kernel", LocalKernel(scales=half))
            yield from (kernel, local, last) if members else (last, other, kernel)

    def seconds_for(self, name: str, left: float, reserved: float, is_first: bool) -> float:
        """Seconds that a candidate may use.

        Args:
            name: The candidate's.
            left: Seconds left of the time limit.
            reserved: Seconds to refit kernels on all rows, kept where that leaves enough.
            is_first: Whether no candidate has served yet.
        """
        shares = self.first_time_share if is_first else self.time_share
        return shares.get(name, 1.0) * (left - reserved if reserved < left / 2 else left)

    def min_seconds(self, name: str, time_limit: float) -> float:
        """Seconds that a candidate needs to be worth a start."""
        return min(self.min_start_seconds, self.min_time_share[name] * time_limit)
