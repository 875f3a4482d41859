"""Measure held-out score and cost against the number of rows: `python -m benchmarks.scaling`.

Arguments name targets and models; by default all run. Training rows (a hundred to a million) and
2,000 held-out rows come from densities that are known exactly and are in no model's family
(benchmarks.scaling_targets). The mean log density of the target minus that of a model on the
held-out rows estimates KL(p‖q).

Every fit runs in its own process, so that peak memory is its own, and is stored in
benchmarks/results/scaling.json when it ends. Stored fits do not run again without `--again`. At the
end the command writes docs/generated/scaling.md and its picture; `--show` does only that.
`python -m benchmarks.scaling million` fits auto to a million rows of S² and scores a million more,
through the estimator and with all cores.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import os
import resource
import sys
import time
import unicodedata
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import jax
import numpy as np

from benchmarks.scaling_results import (
    HELD_OUT_ROWS,
    MODELS,
    name_of,
    publish,
    show,
    show_million,
    store,
    stored,
)
from benchmarks.scaling_targets import TARGETS
from foliax import DensityEstimator
from foliax.density import Dataset, evaluate
from foliax.estimators import Auto, get_estimator
from foliax.estimators.auto.selection import FAILURES
from foliax.evaluation import metrics

ROWS = (100, 1_000, 10_000, 100_000, 1_000_000)
SEED = 30
SPECS = {
    "auto": Auto(),
    "auto, 5 minutes": Auto(time_limit=300.0),
    "spline flow": get_estimator("spline flow"),
    "flow": get_estimator("flow"),
    "kernel": get_estimator("kernel"),
}


def measure(where: str, model: str, n: int) -> dict:
    """Fit a model to n rows and score the held-out rows."""
    target = TARGETS[where]
    rows, held = target.draw(n, SEED), target.draw(HELD_OUT_ROWS, SEED + 1)
    before = peak()
    began, cpu = time.monotonic(), time.process_time()
    spec = SPECS[model]
    fitted = spec.fit(Dataset(rows, target.manifold), key=jax.random.key(SEED))
    seconds, cpu_seconds = time.monotonic() - began, time.process_time() - cpu
    found = evaluate(fitted.density, held, tol=0.05, max_rounds=2)
    began = time.monotonic()
    evaluate(fitted.density, held, tol=math.inf)  # everything is compiled now
    rate = HELD_OUT_ROWS / (time.monotonic() - began)
    return {
        "spec": repr(spec),
        "nll": metrics.mean_and_error(-found.value),
        "excess": metrics.mean_and_error(target.log_density(held) - found.value),
        "largest error": float(found.error.max()),
        "fit seconds": round(seconds, 1),
        "fit CPU seconds": round(cpu_seconds, 1),
        "GiB before": round(before, 2),
        "peak GiB": round(peak(), 2),
        "scored rows/s": round(rate),
        "parameters": fitted.record.parameters,
        "events": fitted.record.events,
        **surroundings(),
    }


def million(n: int = 1_000_000) -> dict:
    """Fit auto to n rows of S² through the estimator and score n other rows."""
    target = TARGETS["S²"]
    rows, others = target.draw(n, SEED), target.draw(n, SEED + 1)
    began = time.monotonic()
    time_limit = Auto().time_limit
    estimator = DensityEstimator(target.manifold, time_limit=time_limit).fit(rows)
    fitted = time.monotonic()
    value = estimator.score_samples(others)
    scored = time.monotonic()
    return {
        "rows": n,
        "minutes": time_limit / 60,
        "fit seconds": round(fitted - began, 1),
        "scoring seconds": round(scored - fitted, 1),
        "peak GiB": round(peak(), 2),
        "excess": metrics.mean_and_error(target.log_density(others) - value),
        "events": estimator.record_.events,
        **surroundings(),
    }


def peak() -> float:
    """Return the peak memory of this process so far, in GiB."""
    held = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return held / (2**30 if sys.platform == "darwin" else 2**20)


def surroundings() -> dict:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return {"cores": cores, "versions": {"jax": jax.__version__, "numpy": np.__version__}}


def run_in_process(run: Callable[..., dict], *arguments: object) -> dict:
    """Run a function in its own process; return its result, or the error that it raised."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        try:
            return pool.submit(run, *arguments).result()
        except FAILURES as error:
            return {"failed": f"{type(error).__name__}: {error}"}


def normalize(name: str) -> str:
    """Return a name without superscripts: S2 for S²."""
    return unicodedata.normalize("NFKC", name)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help=f"any of {[*TARGETS, *MODELS]}, or million")
    parser.add_argument("--rows", type=int, nargs="+", default=ROWS, help="numbers of rows")
    parser.add_argument("--most", type=int, default=max(ROWS), help="largest number of rows")
    parser.add_argument("--again", action="store_true", help="run stored fits again")
    parser.add_argument("--show", action="store_true", help="only write the page")
    chosen = parser.parse_args()
    wanted = {normalize(name) for name in chosen.names}
    if unknown := wanted - {normalize(name) for name in (*TARGETS, *MODELS, "million")}:
        parser.error(f"Unknown name: {', '.join(sorted(unknown))}.")
    targets, models = (
        [name for name in known if normalize(name) in wanted] or list(known)
        for known in (TARGETS, MODELS)
    )
    runs = itertools.product([n for n in chosen.rows if n <= chosen.most], targets, models)
    if chosen.show or "million" in wanted:
        runs = []
    if "million" in wanted and not chosen.show:
        store("million", run_in_process(million))
    for n, where, model in runs:
        name = name_of(where, model, n)
        if name in stored()["rows"] and not chosen.again:
            continue
        found = run_in_process(measure, where, model, n)
        store("rows", {name: found})
        print(name, json.dumps(found, ensure_ascii=False), flush=True)
    results = stored()
    show(results)
    if results["million"]:
        show_million(results["million"])
    publish(results)


if __name__ == "__main__":
    main()
