"""Render the tables as the paper prints them, with the paper's numbers beside ours."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..evaluation import Estimate, mean_and_error
from . import trial
from .published import PAPER, Published
from .recipes import OWN, Row, uses_ode_solver
from .results import Results

TITLES = {
    "table1": "Table 1: four modes on S²",
    "table2": "Table 2: four modes on S³",
    "table3": "Table 3: T²",
    "table4": "Table 4: Procrustes on O(3), three modes on SO(3)",
}
COLUMNS = (
    "density",
    "method",
    "trials",
    "mean MSE",
    "covariance MSE",
    "KL(q‖p)",
    "KL(p‖q)",
    "ESS %",
    "parameters",
    "training s",
    "missed",
)


MAX_RELATIVE_ERROR = 0.1
"""Largest Monte Carlo error of KL(q‖p), as a fraction of its limit, so that noise cannot decide."""


class Line(NamedTuple):
    """A row with its trials: means over trials and their standard errors."""

    row: Row
    trials: list[dict[str, Any]]

    def mean(self, name: str) -> Estimate:
        """Return a metric's mean over trials; one trial has its own Monte Carlo error."""
        found = [Estimate(*one["metrics"][name]) for one in self.trials]
        return (
            found[0] if len(found) == 1 else mean_and_error(np.array([one.value for one in found]))
        )

    def typical_error(self, name: str) -> float:
        """Return the root mean square of the trials' Monte Carlo errors."""
        return float(np.sqrt(np.mean([one["metrics"][name][1] ** 2 for one in self.trials])))

    @property
    def seconds(self) -> tuple[float, float]:
        """Seconds of training and of evaluation, summed over trials."""
        kinds = "training seconds", "evaluation seconds"
        first, second = (sum(one[kind] for one in self.trials) for kind in kinds)
        return first, second

    @property
    def paper(self) -> Published | None:
        return PAPER.get((self.row.table, self.row.density, self.row.method))

    @property
    def moments_suffix(self) -> str:
        """The paper's moments on T² are those of raw angles, so ours must be too."""
        return f", {trial.RAW_ANGLES}" if self.row.angles and self.row.method != OWN else ""

    @property
    def parameters(self) -> int:
        return max(found["parameters"] for found in self.trials)

    def missed_limits(self) -> list[str]:
        """Name the limits (the paper's numbers, or our own) that the row misses."""
        limit, most = self.row.limits
        kl = self.mean("KL(q‖p)").value
        out = [f"KL(q‖p) {kl:.5f} > {limit:.4f}"] if kl > limit else []
        most_error = MAX_RELATIVE_ERROR * limit
        if (error := self.typical_error("KL(q‖p)")) > most_error:
            out.append(f"Monte Carlo error of KL(q‖p) {error:.5f} > {most_error:.5f}")
        if self.parameters > most:
            out.append(f"{self.parameters:,} parameters > {most:,}")
        if self.paper is None:
            least = 0.998 if self.row.table in ("table1", "table3") else 0.99
            ess = self.mean("ESS").value
            return [*out, f"ESS {ess:.4f} < {least}"] if ess < least else out
        for name, known in (
            ("mean" + self.moments_suffix, self.paper.mean),
            ("covariance" + self.moments_suffix, self.paper.covariance),
            ("KL(p‖q)", self.paper.kl_pq),
        ):
            if known is not None and self.mean(name).value > known.value + 2 * known.error:
                found = self.mean(name).value
                out.append(f"{name} {found:.5f} > {known.value:.4f} + 2·{known.error:.4f}")
        return out

    def cells(self) -> list[str]:
        """Return the cells of the table."""
        paper, suffix = self.paper, self.moments_suffix
        ess = self.mean("ESS")
        seconds = self.seconds[0] / len(self.trials)
        return [
            self.row.density,
            self.row.method,
            str(len(self.trials)),
            format_beside(self.mean("mean" + suffix), paper and paper.mean),
            format_beside(self.mean("covariance" + suffix), paper and paper.covariance),
            format_beside(self.mean("KL(q‖p)"), paper and paper.kl_qp, 5),
            format_beside(self.mean("KL(p‖q)"), paper and paper.kl_pq, 5),
            format_beside(Estimate(100 * ess.value, 100 * ess.error), paper and paper.ess, 2, 2),
            f"{self.parameters:,}" + (f" ({paper.parameters:,})" if paper else ""),
            f"{seconds:.0f}",
            "; ".join(self.missed_limits()),
        ]


def format_beside(ours: Estimate, paper: Estimate | None, digits: int = 4, printed: int = 4) -> str:
    """Format our value ± its error, and in brackets the paper's with its own digits."""
    # The estimates of squared norms are unbiased, so that small ones can be negative.
    value = f"{round(ours.value, digits) + 0.0:.{digits}f}".replace("-", "−")
    known = f" ({paper.value:.{printed}f})" if paper else ""
    return f"{value} ± {ours.error:.{digits}f}{known}"


def lines(folder: Path, rows: Sequence[Row], trials: int) -> list[Line]:
    """Return the rows that have a stored trial.

    Args:
        folder: Where the tables' files are.
        rows: The rows to look for.
        trials: The number of trials of each row to look for.

    Returns:
        A line for each row with a stored trial, in the order of the rows.
    """
    stored = Results(folder)
    found = [Line(row, _trials(stored, row, trials)) for row in rows]
    return [line for line in found if line.trials]


def _trials(stored: Results, row: Row, trials: int) -> list[dict[str, Any]]:
    each = (stored.find(row, number) for number in range(trials))
    return [found for found in each if found is not None]


def markdown(found: Sequence[Line]) -> str:
    """Render all tables, and explain their columns."""
    parts = [
        "Each cell has our mean ± standard error over trials (for one trial, its Monte Carlo "
        "error), and in brackets the paper's mean. KL(q‖p) is ∫ q log q/p − q + p with the exact "
        "normaliser, which includes lost mass; samples of q and uniform points estimate it. Mean "
        "and covariance MSE are those of embedded points. In table 3 the paper's methods use raw "
        "angles in [0, 2π), as in the paper. Möbius flows minimise the reverse KL with the "
        "target's density; all other methods see only samples."
    ]
    for table, title in TITLES.items():
        inside = [line for line in found if line.row.table == table]
        if inside:
            rule = ["---"] * len(COLUMNS)
            cells = [COLUMNS, rule, *(line.cells() for line in inside)]
            body = "\n".join("| " + " | ".join(row) + " |" for row in cells)
            parts += [f"## {title}", body, describe_duration(inside)]
    return "\n\n".join(parts) + "\n"


def describe_duration(found: Sequence[Line]) -> str:
    """Say how long the trials took, separately for ODEs, which are slowest."""
    parts = []
    for kind, by_solver in (("ODEs", True), ("other rows", False)):
        some = [line.seconds for line in found if uses_ode_solver(line.row.estimator) == by_solver]
        if some:
            training, evaluation = np.sum(some, axis=0) / 60
            parts.append(
                f"{kind} {training:.1f} minutes of training, {evaluation:.1f} of evaluation"
            )
    return f"Total time over all trials, one core each: {'; '.join(parts)}."
