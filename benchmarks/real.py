"""Score densities of real data by the field's protocol: `python -m benchmarks.real [NAME …]`.

Arguments name models and data sets; by default all run. Rows are split 80/10/10, five times:

- `deduplicated`: training rows are distinct, validation rows do not occur in training, and test
  rows occur in neither. Validation rows choose stacking weights and when to stop.
- `raw`: rows as recorded, for comparison with published tables only. Copies of training rows among
  the test rows make the score unbounded.
- `all rows`: deduplicated, but every model gets training and validation rows, and may hold out
  some of them itself.

Three scores use the test rows: as they are; jittered uniformly within the cell of each value's last
recorded digit, because a density with spikes on a grid has a meaningless likelihood; and jittered
within the cells of their row's finest value. The last one exists because the files have no trailing
zeros: 38 in a row with 58.2 was recorded as 38.0.

Each result is stored in benchmarks/results/real.json when it ends. At the end the command writes
docs/generated/real.md; `--show` does only that. The first six sets are read from a folder of CSV
files: `--data FOLDER`, or the environment variable FOLIAX_DATA, by default ../shared/data beside
the repository. The other sets need the packages of benchmarks.own. Missing sets are skipped with a
message.
"""

from __future__ import annotations

import argparse
import csv
import itertools
import json
import math
import os
import time
from pathlib import Path

import jax
import numpy as np

from benchmarks import own
from benchmarks.real_results import PROTOCOLS, SPLITS, name_of, publish, show, store, stored
from benchmarks.splits import Recorded, Split, split_rows
from foliax.density import AbstractDensity, Dataset
from foliax.estimators import Auto, DirectionalMixture, LocalKernel, ScaleMixtureKernel, Stacking
from foliax.estimators.dequantized_flow import FLOW
from foliax.evaluation import metrics
from foliax.manifolds import Sphere, Torus, conversions

DATA_VARIABLE = "FOLIAX_DATA"
DEFAULT_DATA = Path(__file__).parents[2] / "shared" / "data"

SETS = {
    "volcano": ("volcano", None),
    "earthquake": ("earthquake", None),
    "flood": ("flood", None),
    "fire": ("fire", None),
    "rna T⁷": ("rna", None),
    # Without epsilon and zeta, which the other angles nearly determine.
    "rna T⁵": ("rna", [0, 1, 2, 3, 6]),
}
MODELS = {
    # The kernel of the data's README.md; a finer grid than decades scores better on fire.
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
MASS_DRAWS, MAX_MASS_DRAWS = 6_000, 250_000
MASS_ERROR = 0.0025
"""The standard error of total masses to reach: small beside 1 %."""


def data_folder() -> Path:
    """Return the folder of the field's data sets: FOLIAX_DATA, or the default."""
    return Path(os.environ.get(DATA_VARIABLE) or DEFAULT_DATA)


def available() -> list[str]:
    """Return the sets that can be loaded; print why the others are skipped."""
    folder = data_folder()
    absent = [
        label
        for label, (name, _) in SETS.items()
        if not all((folder / file).is_file() for file in (f"{name}.csv", "splits.npz"))
    ]
    if absent:
        print(
            f"Skipped: {', '.join(absent)}, because {folder} does not hold their files. "
            f"Name the folder by --data or {DATA_VARIABLE}."
        )
    return [label for label in SETS if label not in absent] + own.available()


def recorded(label: str, by_row: bool) -> Recorded:
    """Read a set: its values, and the width of each value's (or its row's) last digit."""
    name, columns = SETS[label]
    with (data_folder() / f"{name}.csv").open() as file:
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
    """Convert degrees to angles in [−π, π)."""
    return conversions.angles_from_period(degrees, 360)


def load(label: str, number: int, raw: bool = False, by_row: bool = False) -> Split:
    """Load one split of a set; `by_row` jitters within the cell of a row's finest value."""
    if label in own.FILES:
        return own.load(label, number, raw)
    order = np.load(data_folder() / "splits.npz")[f"{SETS[label][0]}_perm{number}"]
    return split_rows(recorded(label, by_row), order, raw)


def measure(
    model: str, label: str, number: int, protocol: str = PROTOCOLS[0], weigh: bool = True
) -> dict:
    """Fit and score one model on one split; `weigh` also estimates its total mass."""
    split = load(label, number, protocol == "raw")
    rows, validation = split.train, split.validation
    if protocol == "all rows":
        rows, validation = np.concatenate([rows, validation]), None
    began, cpu = time.monotonic(), time.process_time()
    fitted = MODELS[model].fit(
        Dataset(rows, split.manifold),
        key=jax.random.key(number),
        validation=Dataset(validation, split.manifold),
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
        found["loss against its best member"] = metrics.mean_and_error(best - test)
    if model == "auto":
        kernel = MODELS["scale kernel"].fit(
            Dataset(rows, split.manifold), key=jax.random.key(number)
        )
        found["gain over the scale kernel, jittered"] = metrics.mean_and_error(
            moved - log_density(kernel.density, split.jittered)
        )
    return found


def mass(density: AbstractDensity, split: Split) -> metrics.Estimate:
    """Estimate total mass by bridge sampling to a local kernel, which is normalised exactly.

    Draws again, up to `MAX_MASS_DRAWS`, until the error is `MASS_ERROR`. Importance sampling from
    a kernel is not reliable here: no draw comes near a narrow spike, so that both the estimate and
    its error miss it.
    """
    near = LocalKernel().fit(Dataset(split.train, split.manifold), key=jax.random.key(1)).density
    found = metrics.bridged_mass(density, near, MASS_DRAWS, key=jax.random.key(2))
    if found.error <= MASS_ERROR:
        return found
    draws = min(MAX_MASS_DRAWS, math.ceil(MASS_DRAWS * (found.error / MASS_ERROR) ** 2))
    return metrics.bridged_mass(density, near, draws, key=jax.random.key(4))


def log_density(density, rows: np.ndarray) -> np.ndarray:
    rows = rows.astype(np.float32)
    return metrics.log_prob_once(density, rows, key=jax.random.key(3)).value


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    names = [*MODELS, *SETS, *own.FILES]
    parser.add_argument("names", nargs="*", help=f"any of {names}; all by default")
    parser.add_argument("--protocol", choices=PROTOCOLS, default=PROTOCOLS[0])
    parser.add_argument("--splits", type=int, default=SPLITS)
    parser.add_argument(
        "--masses", type=int, default=1, help="splits whose total mass is estimated"
    )
    parser.add_argument("--again", action="store_true", help="run stored fits again")
    parser.add_argument("--show", action="store_true", help="only write the page")
    parser.add_argument("--data", help=f"folder of the data sets; default: {data_folder()}")
    chosen = parser.parse_args()
    if chosen.data:
        os.environ[DATA_VARIABLE] = chosen.data
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
