"""Measure total mass and the gap to the truth on fresh rows, for every kind and estimator.

    python -m campaign.truth [--only TEXT] [--models kernel,mixture] [-o truth.json]

Results are written as they come, and a run that was stopped goes on where it was.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import warnings
from pathlib import Path

import numpy as np
from scipy.special import expit

import foliax
from foliax.atomic import open_atomic
from foliax.estimators import UnsupportedManifoldError
from foliax.evaluation import mean_and_error

from .cases import Case, cases

MODELS = ("kernel", "local kernel", "mixture", "spline flow", "flow")
ROWS = 3000
"""Rows to fit; a kernel in one dimension is then within 0.02 nats of the truth."""
MAX_MASS_ERROR = 0.005
MAX_GAP_NATS = 0.05
ERRORS = 3.0
"""Standard errors that are allowed for besides."""


@dataclasses.dataclass(frozen=True)
class Finding:
    """What a fit to a known density gave.

    Args:
        case: Name of the case.
        model: Name of the estimator.
        mass: Total mass and its standard error.
        gap: Mean of log true − log fitted density over fresh rows, and its standard error.
        refused: Why there is no fit.
    """

    case: str
    model: str
    mass: tuple[float, float] | None = None
    gap: tuple[float, float] | None = None
    refused: str = ""

    @property
    def ok(self) -> bool:
        """Whether mass and gap are within their bounds, or the fit was refused with a reason."""
        if self.mass is None or self.gap is None:
            return bool(self.refused)
        mass, gap = abs(self.mass[0] - 1), self.gap[0]
        return (
            mass <= MAX_MASS_ERROR + ERRORS * self.mass[1]
            and gap <= MAX_GAP_NATS + ERRORS * self.gap[1]
        )

    def line(self) -> str:
        """One row of the table."""
        if self.mass is None or self.gap is None:
            return f"| {self.case} | {self.model} | | | refused: {self.refused} |"
        mass, gap = (f"{value:.4f} ± {error:.4f}" for value, error in (self.mass, self.gap))
        return f"| {self.case} | {self.model} | {mass} | {gap} | {'' if self.ok else 'MISSED'} |"


def measure(case: Case, model: str, *, rows: int = ROWS, seed: int = 0) -> Finding:
    """Fit a case, and measure its mass by a bridge to the truth and its gap on fresh rows.

    Args:
        case: A table with a known density.
        model: Name of the estimator.
        rows: How many rows to fit, and how many fresh ones to score.
        seed: Chooses the rows.
    """
    rng = np.random.default_rng(seed)
    table, fresh = case.sample(rng, rows), case.sample(rng, rows)
    weights = None if case.weight is None else case.weight(table)
    if case.weight is not None:
        fresh = fresh.loc[case.weight(fresh) == 1].reset_index(drop=True)
    estimator = foliax.DensityEstimator(schema=case.schema, model=model)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            estimator.fit(table, sample_weight=weights)
    except (ValueError, UnsupportedManifoldError) as error:
        return Finding(case.name, model, refused=str(error).splitlines()[0])
    with np.errstate(divide="ignore", invalid="ignore"):
        gaps = case.log_prob(fresh) - estimator.log_prob(fresh)
        drawn = estimator.sample(rows, random_state=1)
        excess = case.log_prob(drawn) - estimator.log_prob(drawn)
    above, below = mean_and_error(expit(-gaps)), mean_and_error(expit(excess))
    mass = above.value / below.value
    error = mass * np.hypot(above.error / above.value, below.error / below.value)
    gap = mean_and_error(gaps)
    return Finding(case.name, model, (mass, float(error)), (gap.value, gap.error))


def main() -> None:
    """Measure what is missing, write it, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="Part of the names of the cases to run.")
    parser.add_argument("--models", default=",".join(MODELS), help="Estimators to fit.")
    parser.add_argument("-o", "--output", type=Path, default=Path("truth.json"))
    options = parser.parse_args()
    stored = json.loads(options.output.read_text()) if options.output.exists() else []
    found = {(item["case"], item["model"]): Finding(**item) for item in stored}
    wanted = [case for case in cases() if options.only in case.name]
    print("| case | estimator | total mass | gap on fresh rows, nats | |\n|---|---|---|---|---|")
    chosen = []
    for model in options.models.split(","):
        for case in wanted:
            if (case.name, model) not in found:
                found[case.name, model] = measure(case, model)
                with open_atomic(options.output) as file:
                    items = [dataclasses.asdict(item) for item in found.values()]
                    file.write(json.dumps(items).encode())
            chosen.append(found[case.name, model])
            print(chosen[-1].line(), flush=True)
    missed = sum(not item.ok for item in chosen)
    print(f"\n{len(chosen)} fits, {missed} missed.")
    raise SystemExit(bool(missed))


if __name__ == "__main__":
    main()
