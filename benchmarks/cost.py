"""Calibrate the cost model of the estimators: measured seconds beside modelled work units.

`python -m benchmarks.cost` takes a few minutes on one core. Run it before a release. Where the
ratios of an estimator are far from 1, change its constants (`*_WORK_UNITS`), which are in
`foliax/estimators/kernel/cost.py`, `foliax/estimators/flow_work.py`, in the families of
`foliax/estimators/mixture/`, and in `foliax/density/` for evaluations. Other constants change what
`auto` tries, and so its results: say so in the changelog.
"""

from benchmarks.timing import one_core

if __name__ == "__main__":
    one_core()

import sys
import time
from typing import NamedTuple

import jax
import numpy as np

from benchmarks.scaling_targets import TARGETS
from foliax.density import AbstractDensity, Dataset
from foliax.estimators import AbstractEstimator, get_estimator
from foliax.manifolds import Orientations

SEED, EVALUATED_SEED = 30, 31
"""The seeds of fitted and of evaluated rows. A kernel's own rows are not typical for it."""
EVALUATED_ROWS = 10_000
"""Rows whose log densities are timed, after a first run that compiles: enough for an index."""
FLOW_STEPS = 500
"""Training steps of the flows. All steps take the same time."""
CUBIC = "cubic"
"""Uniform orientations of cubic crystals: a manifold with a group of 24."""
CASES = (
    ("S²", "kernel", 1_000),
    ("S²", "kernel", 10_000),
    ("S²", "local kernel", 1_000),
    ("S²", "local kernel", 8_000),
    ("S²", "mixture", 8_000),
    ("S²", "flow", 4_000),
    ("T³", "mixture", 2_000),
    ("SO(3)", "mixture", 2_000),
    ("mixed", "kernel", 1_000),
    ("mixed", "kernel", 8_000),
    ("mixed", "local kernel", 4_000),
    ("mixed", "flow", 4_000),
    ("S²", "spline flow", 4_000),
    ("SO(3)", "spline flow", 4_000),
    ("mixed", "spline flow", 4_000),
    (CUBIC, "kernel", 1_000),
    (CUBIC, "kernel", 4_000),
    (CUBIC, "local kernel", 1_000),
    (CUBIC, "local kernel", 3_000),
)
"""The manifold, the estimator and the number of rows of each fit."""


class Cost(NamedTuple):
    """Seconds of CPU time, and work units of the model."""

    seconds: float
    work: float

    def __str__(self) -> str:
        ratio = self.seconds / max(self.work, 1e-9)
        return f"{self.seconds:8.2f} s {self.work:8.2f} units, ratio {ratio:5.2f}"


def draw(where: str, n: int, seed: int) -> Dataset:
    """Draw rows of a target."""
    if where == CUBIC:
        manifold = Orientations("cubic")
        keys = jax.random.split(jax.random.key(seed), n)
        return Dataset(jax.vmap(lambda key: manifold.sample_uniform(key=key))(keys), manifold)
    target = TARGETS[where]
    return Dataset(target.draw(n, seed), target.manifold)


def fit(estimator: AbstractEstimator, data: Dataset) -> tuple[Cost, AbstractDensity]:
    """Time a fit, and ask the model for it; a mixture counts its steps."""
    began = time.process_time()
    fitted = estimator.fit(data, key=jax.random.key(SEED))
    seconds = time.process_time() - began
    work = fitted.record.work or estimator.fit_work(len(data), data.manifold)
    return Cost(seconds, work), fitted.density


def evaluate(density: AbstractDensity, rows: np.ndarray) -> Cost:
    """Time the log densities of rows, by few nodes for each."""
    coarse = density.with_budget("coarse")
    coarse.evaluate(rows, tol=float("inf"))
    began = time.process_time()
    coarse.evaluate(rows, tol=float("inf"))
    return Cost(time.process_time() - began, len(rows) * coarse.evaluation_work)


def main(wanted: str = "") -> None:
    """Print all cases, or those whose estimator has a name."""
    for where, name, n in CASES:
        if wanted not in ("", name):
            continue
        estimator = get_estimator(name, steps=FLOW_STEPS)
        found, density = fit(estimator, draw(where, n, SEED))
        evaluated = evaluate(density, draw(where, EVALUATED_ROWS, EVALUATED_SEED).rows)
        print(f"{where:6} {name:13} {n:6}: fit {found}; evaluation {evaluated}", flush=True)
        jax.clear_caches()


if __name__ == "__main__":
    main(*sys.argv[1:])
