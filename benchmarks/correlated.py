"""Score densities of trajectories on fresh blocks: `python -m benchmarks.correlated [NAME …]`.

Rows of a trajectory depend on each other. The command divides each trajectory of orientations into
consecutive blocks and holds out every block once, as fresh data. It fits the other blocks twice: as
independent rows and as blocks. For each fit it prints the held-out score that the fit claims and
the score of the fresh blocks: means over all folds, and over random assignments of blocks to folds,
since a single one differs by 0.1 nats or more. Claims with blocks must be within 0.1 nats of the
fresh scores. It also prints what `foliax check` says about the rows.

Arguments name models, trajectories and ways to fit ("blocks", "independent rows"); by default all
run. Each result is stored in
benchmarks/results/correlated.json when it ends; `--show` only prints what is stored.

The trajectories belong to the tests of evo 1.38.1 (Grupp 2017), which `make benchmarks` downloads
from PyPI as a source distribution. Without it, the command says so and ends.
"""

from __future__ import annotations

import argparse
import io
import json
import sys
import tarfile
import time
from pathlib import Path
from typing import NamedTuple

import jax
import numpy as np
import pandas as pd

from foliax.density import Dataset
from foliax.estimators import AbstractEstimator, Auto, LocalKernel, ScaleMixtureKernel
from foliax.evaluation.estimate import Estimate, mean_and_error
from foliax.manifolds import SpecialOrthogonal, conversions
from foliax.manifolds.consecutive import consecutive_blocks
from foliax.tables import Schema, audit

VERSION = "1.38.1"
ARCHIVE = Path(sys.prefix) / "data" / f"evo-{VERSION}.tar.gz"
RESULTS = Path(__file__).parent / "results" / "correlated.json"
MODELS: dict[str, tuple[AbstractEstimator, int]] = {
    "kernel": (ScaleMixtureKernel(), 3),
    "local kernel": (LocalKernel(), 1),
    "auto": (Auto(time_limit=60.0), 3),
}
"""Estimators, and how many random assignments of blocks to folds are averaged."""
WAYS = {"independent rows": False, "blocks": True}
"""Ways to fit, and whether each uses blocks."""
BLOCKS, FOLDS = 50, 10
MAX_DIFFERENCE_NATS = 0.1
"""How far a claim with blocks may be from the score of fresh blocks."""


class Trajectory(NamedTuple):
    """A file of evo, the number of lines before its data, and every how many rows are kept."""

    file: str
    skipped_lines: int
    every: int


TRAJECTORIES = {
    # A car's camera at 10 Hz (KITTI odometry 00), 3 × 4 matrices.
    "car": Trajectory("KITTI_00_gt.txt", 0, 1),
    # A camera held in hand at 100 Hz (TUM fr2/desk): time, position, quaternion x y z w.
    "desk": Trajectory("fr2_desk_groundtruth.txt", 3, 5),
    # A drone at 200 Hz (EuRoC V1_02): time, position, quaternion w x y z.
    "drone": Trajectory("V102_groundtruth.csv", 1, 4),
}


def read_rotations(name: str, archive: Path = ARCHIVE) -> np.ndarray:
    """Read the orientations of a trajectory, in their order, as rows of nine numbers."""
    file, skipped, every = TRAJECTORIES[name]
    with tarfile.open(archive) as source:
        member = source.extractfile(f"evo-{VERSION}/test/data/{file}")
        assert member is not None
        text = io.TextIOWrapper(member)
        separator = "," if file.endswith(".csv") else r"\s+"
        table = pd.read_csv(text, sep=separator, header=None, skiprows=skipped).to_numpy()[::every]
    return rotations_of(table)


def rotations_of(table: np.ndarray) -> np.ndarray:
    """Convert rows of 3 × 4 matrices, or of quaternions after time and position."""
    if table.shape[1] == 12:
        left, _, right = np.linalg.svd(table.reshape(-1, 3, 4)[:, :, :3])
        return (left @ right).reshape(-1, 9)
    quaternions = table[:, 4:8] if table.shape[1] == 8 else table[:, [5, 6, 7, 4]]
    return conversions.rotations_from_quaternions(quaternions, order="xyzw")


def score_model(
    rows: np.ndarray, estimator: AbstractEstimator, use_blocks: bool, assignments: int
) -> dict:
    """Compare what fits claim with scores of fresh rows, over random assignments to folds."""
    began = time.monotonic()
    claims, scores = zip(
        *(score_folds(rows, estimator, use_blocks, seed) for seed in range(assignments)),
        strict=True,
    )
    found = mean_and_error(np.mean(scores, axis=0), blocks=consecutive_blocks(len(rows), BLOCKS))
    volume = SpecialOrthogonal(3).log_total_volume()
    return {
        "claimed": float(np.mean(claims)),
        "fresh": found.value,
        "error": found.error,
        "differences": [float(c - s.mean()) for c, s in zip(claims, scores, strict=True)],
        "worst row": float(np.min(scores) + volume),
        "seconds": time.monotonic() - began,
    }


def score_folds(
    rows: np.ndarray, estimator: AbstractEstimator, use_blocks: bool, seed: int
) -> tuple[float, np.ndarray]:
    """Fit all folds but one, for each fold; what fits claim, and the scores of fresh rows."""
    blocks = consecutive_blocks(len(rows), BLOCKS)
    # At random: then fresh blocks have as many neighbours among the fitted ones as those have.
    fold = (np.random.default_rng(seed).permutation(BLOCKS) % FOLDS)[blocks]
    scores, claims = np.zeros(len(rows)), []
    for number, key in enumerate(jax.random.split(jax.random.key(seed), FOLDS)):
        fresh = fold == number
        labels = blocks[~fresh] if use_blocks else 0
        data = Dataset(rows[~fresh], SpecialOrthogonal(3), blocks=labels)
        fitted = estimator.fit(data, key=key)
        claims.append(-fitted.record.best_validation)
        scores[fresh] = fitted.density.evaluate(rows[fresh], key=key).value
    return float(np.mean(claims)), scores


def check_order(rows: np.ndarray) -> list[str]:
    """What `foliax check` says about the order of the rows."""
    frame = pd.DataFrame(rows, columns=[f"m{i}{j}" for i in "123" for j in "123"])
    schema = Schema.parse(f"matrix({', '.join(frame.columns)})")
    return [str(f) for f in audit(frame, schema) if "consecutive rows" in f.message]


def run(names: list[str], archive: Path) -> None:
    models = [name for name in MODELS if name in names] or list(MODELS)
    trajectories = [name for name in TRAJECTORIES if name in names] or list(TRAJECTORIES)
    ways = [name for name in WAYS if name in names] or list(WAYS)
    for name in trajectories:
        rows = read_rotations(name, archive)
        store(f"{name} | check", {"rows": len(rows), "findings": check_order(rows)})
        for model in models:
            for how in ways:
                estimator, assignments = MODELS[model]
                found = score_model(rows, estimator, WAYS[how], assignments)
                store(f"{name} | {model} | {how}", found)
                show(f"{name} | {model} | {how}")


def store(name: str, found: dict) -> None:
    results = stored() | {name: found}
    RESULTS.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n")


def stored() -> dict:
    return json.loads(RESULTS.read_text()) if RESULTS.exists() else {}


def show(name: str) -> None:
    """Print one stored result."""
    found = stored()[name]
    if "findings" in found:
        print(f"{name}, {found['rows']} rows: {' '.join(found['findings']) or 'nothing found'}")
        return
    fresh = Estimate(found["fresh"], found["error"])
    gap = found["claimed"] - found["fresh"]
    verdict = ""
    if name.endswith("| blocks"):
        verdict = "  ok" if abs(gap) <= MAX_DIFFERENCE_NATS else "  TOO FAR"
    print(
        f"{name:<36} claimed {found['claimed']:7.3f}  fresh {fresh.value:7.3f} ± {fresh.error:.3f}"
        f"  difference {gap:6.3f} ({', '.join(f'{d:.2f}' for d in found['differences'])}){verdict}"
        f"  worst row {found['worst row']:6.2f} nats above uniform"
        f"  {found['seconds']:.0f} s"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="models, trajectories and ways to fit")
    parser.add_argument("--show", action="store_true", help="only print stored results")
    parser.add_argument("--data", type=Path, default=ARCHIVE, help="evo's source distribution")
    options = parser.parse_args()
    unknown = set(options.names) - set(MODELS) - set(TRAJECTORIES) - set(WAYS)
    if unknown:
        parser.error(f"unknown: {', '.join(sorted(unknown))}")
    if options.show:
        for name in stored():
            show(name)
    elif not options.data.exists():
        print(
            f"Skipped: the trajectories need {options.data}, which `make benchmarks` downloads: "
            f"pip download --no-deps --no-binary evo evo=={VERSION}"
        )
    else:
        run(options.names, options.data)


if __name__ == "__main__":
    main()
