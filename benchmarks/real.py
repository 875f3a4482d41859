"""Densities of real data, by the field's protocol: `python -m benchmarks.real [MODEL …] [SET …]`.

Five splits of 80/10/10. `deduplicated`: distinct training rows; distinct validation rows that do
not occur in training; distinct test rows that occur in neither. `raw`: as recorded, for comparison
with published tables only, since copies of training rows among test rows have no lower bound.
`all rows`: deduplicated, but every model is given training and validation rows together, of which
it may hold out what it likes. Otherwise validation rows choose (weights of a stack, when to stop),
and test rows score. Beside the plain test score stands that of test rows jittered uniformly within
the cell of each value's last recorded digit, since spikes on a lattice would win without meaning.
The files have no trailing zeros, so that 38 may have been recorded as 38.0; beside 58.2 it was. So
there is a third score, of test rows moved within the cells of their row's last digits.
Results are stored in benchmarks/results/real.json as they come, and in the end docs/real.md is
written from what is stored; `--show` does that alone. Needs ../shared/data for the field's sets and
the packages of benchmarks.own for the others.
"""

from __future__ import annotations

import argparse
import csv
import itertools
import json
import math
import time
from pathlib import Path

import jax
import numpy as np

from benchmarks import own
from benchmarks.real_results import PROTOCOLS, SPLITS, name_of, publish, show, store, stored
from benchmarks.splits import Recorded, Split, divided
from foliax.density import AbstractDensity
from foliax.estimators import Auto, DirectionalMixture, LocalKernel, ScaleMixtureKernel, Stacking
from foliax.estimators.auto.policy import FLOW
from foliax.evaluation import metrics
from foliax.manifolds import Sphere, Torus, conversions

DATA = Path(__file__).parents[2] / "shared" / "data"

SETS = {
    "volcano": ("volcano", None),
    "earthquake": ("earthquake", None),
    "flood": ("flood", None),
    "fire": ("fire", None),
    "rna T⁷": ("rna", None),
    # Without epsilon and zeta, which nearly follow from the others.
    "rna T⁵": ("rna", [0, 1, 2, 3, 6]),
}
MODELS = {
    # That of ../shared/data/README.md, whose score on fire a finer grid than decades exceeds.
    "reference kernel": ScaleMixtureKernel(10.0, 1e8, min_gain=0.0, ratio=10.0),
    "scale kernel": ScaleMixtureKernel(),
    "local kernel": LocalKernel(),
    "mixture": DirectionalMixture(choose="held-out", max_components=32),
    "stack": Stacking(
        (
            ScaleMixtureKernel(),
            LocalKernel(),
            DirectionalMixture(choose="held-out", max_components=32),
        )
    ),
    "flow": FLOW,
    "auto": Auto(),
}
DRAWS, MOST = 6_000, 250_000
SURE = 0.0025
"""Of total masses, the standard error to reach."""


def available() -> list[str]:
    """The sets that can be loaded; says which cannot."""
    field = list(SETS)
    if not DATA.exists():
        print(f"Skipped: {', '.join(SETS)}, since the benchmark data is not at {DATA}.")
        field = []
    return field + own.available()


def recorded(label: str, by_row: bool) -> Recorded:
    """A set's values, and the width of each value's last recorded digit, or of its row's."""
    name, columns = SETS[label]
    with (DATA / f"{name}.csv").open() as file:
        texts = np.array(list(csv.reader(file))[1:])
    if columns is not None:
        texts = texts[:, columns]
    decimals = np.vectorize(lambda text: len(text.partition(".")[2].strip()))(texts)
    if by_row:
        decimals = np.broadcast_to(decimals.max(1, keepdims=True), decimals.shape)
    torus = name == "rna"
    return Recorded(
        Torus(texts.shape[1]) if torus else Sphere(2),
        texts.astype(float),
        10.0**-decimals,
        on_torus if torus else own.on_sphere,
    )


def on_torus(degrees: np.ndarray) -> np.ndarray:
    """Degrees to angles from −π to π."""
    return conversions.angles_from_period(degrees, 360)


def load(label: str, number: int, raw: bool = False, by_row: bool = False) -> Split:
    """One split of a set; `by_row`: one of the field's, moved within cells of the row's digits."""
    if label in own.FILES:
        return own.load(label, number, raw)
    order = np.load(DATA / "splits.npz")[f"{SETS[label][0]}_perm{number}"]
    return divided(recorded(label, by_row), order, raw)


def measure(
    model: str, label: str, number: int, protocol: str = PROTOCOLS[0], weigh: bool = True
) -> dict:
    """Fit and score one model on one split, and find its total mass where it is to be weighed."""
    split = load(label, number, protocol == "raw")
    rows, validation = split.train, split.validation
    if protocol == "all rows":
        rows, validation = np.concatenate([rows, validation]), None
    began, cpu = time.monotonic(), time.process_time()
    fitted = MODELS[model].fit(
        split.manifold, rows, key=jax.random.key(number), validation=validation
    )
    fit_seconds, fit_cpu = time.monotonic() - began, time.process_time() - cpu
    density = fitted.density
    test, moved = (log_density(density, rows) for rows in (split.test, split.jittered))
    seconds = time.monotonic() - began
    moved_by_row = None
    if label in SETS:
        finer = load(label, number, protocol == "raw", by_row=True).jittered
        moved_by_row = -float(log_density(density, finer).mean())
    found = {
        "nll": -float(test.mean()),
        "nll jittered": -float(moved.mean()),
        "nll jittered by rows": moved_by_row,
        "mass": mass(density, split) if weigh else None,
        "fit seconds": round(fit_seconds, 1),
        "fit CPU seconds": round(fit_cpu, 1),
        "fit and score seconds": round(seconds, 1),
        "rows": [len(rows), len(validation) if validation is not None else 0, len(split.test)],
        "events": fitted.record.events,
    }
    if model == "stack":
        members = [log_density(member, split.test) for member in density.members]
        best = max(members, key=np.mean)
        found["loss against its best member"] = metrics.estimate(best - test)
    if model == "auto":
        kernel = MODELS["scale kernel"].fit(split.manifold, rows, key=jax.random.key(number))
        found["gain over the scale kernel, jittered"] = metrics.estimate(
            moved - log_density(kernel.density, split.jittered)
        )
    return found


def mass(density: AbstractDensity, split: Split) -> metrics.Estimate:
    """Total mass by a bridge to a local kernel, the most alike that is normalised for sure.

    By so many other draws that the error is `SURE`, if `MOST` do. Importance sampling from a kernel
    has a small error in many dimensions, too, which cannot be trusted: spikes of the density that
    no draw comes near are missing from both.
    """
    near = LocalKernel().fit(split.manifold, split.train, key=jax.random.key(1)).density
    found = metrics.bridged_mass(density, near, DRAWS, key=jax.random.key(2))
    if found.error <= SURE:
        return found
    draws = min(MOST, math.ceil(DRAWS * (found.error / SURE) ** 2))
    return metrics.bridged_mass(density, near, draws, key=jax.random.key(4))


def log_density(density, rows: np.ndarray) -> np.ndarray:
    rows = rows.astype(np.float32)
    return metrics.log_densities(density, rows, key=jax.random.key(3))[0]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    names = [*MODELS, *SETS, *own.FILES]
    parser.add_argument("names", nargs="*", help=f"of {names}; all where none is given")
    parser.add_argument("--protocol", choices=PROTOCOLS, default=PROTOCOLS[0])
    parser.add_argument("--splits", type=int, default=SPLITS)
    parser.add_argument("--masses", type=int, default=1, help="splits to weigh, if need be anew")
    parser.add_argument("--again", action="store_true", help="also what is stored already")
    parser.add_argument("--show", action="store_true")
    chosen = parser.parse_args()
    models = [m for m in MODELS if m in chosen.names] or list(MODELS)
    there = [] if chosen.show else available()
    named = {*SETS, *own.FILES} & {*chosen.names} or {*there}
    sets = [s for s in there if s in named]
    for label, model in itertools.product(sets, models):
        for number in range(chosen.splits):
            name = name_of(label, model, number, chosen.protocol)
            weigh = number < chosen.masses
            known = stored().get(name)
            if known and not chosen.again and (known["mass"] or not weigh):
                continue
            found = measure(model, label, number, chosen.protocol, weigh)
            store(name, found)
            print(name, json.dumps(found, ensure_ascii=False), flush=True)
    show(stored())
    publish(stored())


if __name__ == "__main__":
    main()
