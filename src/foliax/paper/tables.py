"""The tables as the paper prints them, its figures beside ours."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..evaluation import Estimate, mean_and_error
from . import trial
from .published import PAPER, Published
from .recipes import OWN, Row, solved
from .results import Results

TITLES = {
    "table1": "Table 1: four modes on S²",
    "table2": "Table 2: four modes on S³",
    "table3": "Table 3: T²",
    "table4": "Table 4: Procrustes on O(3), three modes on SO(3)",
}
HEAD = (
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


SURE = 0.1
"""Of the KL to be shown, what its Monte Carlo error in a trial may be."""


class Line(NamedTuple):
    """A row's trials together: means over trials, and their standard errors."""

    row: Row
    trials: list[dict[str, Any]]

    def over(self, name: str) -> Estimate:
        """A metric's mean over trials; with one trial, its own Monte Carlo error."""
        found = [Estimate(*one["metrics"][name]) for one in self.trials]
        return (
            found[0] if len(found) == 1 else mean_and_error(np.array([one.value for one in found]))
        )

    def typical_error(self, name: str) -> float:
        """Root mean square of the trials' own Monte Carlo errors."""
        return float(np.sqrt(np.mean([one["metrics"][name][1] ** 2 for one in self.trials])))

    @property
    def seconds(self) -> tuple[float, float]:
        """Of training and of evaluation, all trials together."""
        kinds = "training seconds", "evaluation seconds"
        first, second = (sum(one[kind] for one in self.trials) for kind in kinds)
        return first, second

    @property
    def paper(self) -> Published | None:
        return PAPER.get((self.row.table, self.row.density, self.row.method))

    @property
    def raw(self) -> str:
        """The paper's moments on T² are those of raw angles: so must be what stands beside them."""
        return f", {trial.ANGLES}" if self.row.angles and self.row.method != OWN else ""

    @property
    def parameters(self) -> int:
        return max(found["parameters"] for found in self.trials)

    def missed(self) -> list[str]:
        """Which of the paper's figures (or our own limits) are not met."""
        limit, most = self.row.limits
        kl = self.over("KL(q‖p)").value
        out = [f"KL(q‖p) {kl:.5f} > {limit:.4f}"] if kl > limit else []
        if (error := self.typical_error("KL(q‖p)")) > SURE * limit:
            out.append(f"Monte Carlo error of KL(q‖p) {error:.5f} > {SURE * limit:.5f}")
        if self.parameters > most:
            out.append(f"{self.parameters:,} parameters > {most:,}")
        if self.paper is None:
            least = 0.998 if self.row.table in ("table1", "table3") else 0.99
            ess = self.over("ESS").value
            return [*out, f"ESS {ess:.4f} < {least}"] if ess < least else out
        for name, known in (
            ("mean" + self.raw, self.paper.mean),
            ("covariance" + self.raw, self.paper.covariance),
            ("KL(p‖q)", self.paper.kl_pq),
        ):
            if known is not None and self.over(name).value > known.value + 2 * known.error:
                found = self.over(name).value
                out.append(f"{name} {found:.5f} > {known.value:.4f} + 2·{known.error:.4f}")
        return out

    def cells(self) -> list[str]:
        """What the table prints."""
        paper, raw = self.paper, self.raw
        ess = self.over("ESS")
        seconds = self.seconds[0] / len(self.trials)
        return [
            self.row.density,
            self.row.method,
            str(len(self.trials)),
            beside(self.over("mean" + raw), paper and paper.mean),
            beside(self.over("covariance" + raw), paper and paper.covariance),
            beside(self.over("KL(q‖p)"), paper and paper.kl_qp, 5),
            beside(self.over("KL(p‖q)"), paper and paper.kl_pq, 5),
            beside(Estimate(100 * ess.value, 100 * ess.error), paper and paper.ess, 2, 2),
            f"{self.parameters:,}" + (f" ({paper.parameters:,})" if paper else ""),
            f"{seconds:.0f}",
            "; ".join(self.missed()),
        ]


def beside(ours: Estimate, paper: Estimate | None, digits: int = 4, printed: int = 4) -> str:
    """Ours ± its error, and in brackets the paper's, with the digits that it prints."""
    # Squared norms are estimated without bias, so that small ones may be just below 0.
    value = f"{round(ours.value, digits) + 0.0:.{digits}f}".replace("-", "−")
    known = f" ({paper.value:.{printed}f})" if paper else ""
    return f"{value} ± {ours.error:.{digits}f}{known}"


def lines(folder: Path, rows: Sequence[Row], trials: int) -> list[Line]:
    """The rows with a stored trial."""
    stored = Results(folder)
    found = [Line(row, _trials(stored, row, trials)) for row in rows]
    return [line for line in found if line.trials]


def _trials(stored: Results, row: Row, trials: int) -> list[dict[str, Any]]:
    each = (stored.find(row, number) for number in range(trials))
    return [found for found in each if found is not None]


def markdown(found: Sequence[Line]) -> str:
    """All tables, with what the columns mean."""
    parts = [
        "Ours, mean ± standard error over trials (one trial: its Monte Carlo error); in brackets "
        "the paper's. KL(q‖p) is ∫ q log q/p − q + p with the exact normaliser, which sees lost "
        "mass, by samples of q and uniform points. Mean and covariance MSE are of embedded "
        "points; in table 3 the paper's rows are of raw angles in [0, 2π), as the paper's are. "
        "Möbius flows learn by reverse KL with the density in hand, all others see samples only."
    ]
    for table, title in TITLES.items():
        inside = [line for line in found if line.row.table == table]
        if inside:
            rule = ["---"] * len(HEAD)
            cells = [HEAD, rule, *(line.cells() for line in inside)]
            body = "\n".join("| " + " | ".join(row) + " |" for row in cells)
            parts += [f"## {title}", body, duration(inside)]
    return "\n\n".join(parts) + "\n"


def duration(found: Sequence[Line]) -> str:
    """What the trials took; ODEs apart, which take longest."""
    said = []
    for kind, by_solver in (("ODEs", True), ("other rows", False)):
        some = [line.seconds for line in found if solved(line.row.spec) == by_solver]
        if some:
            training, evaluation = np.sum(some, axis=0) / 60
            said.append(
                f"{kind} {training:.1f} minutes of training, {evaluation:.1f} of evaluation"
            )
    return f"One core for a trial, all trials together: {'; '.join(said)}."
