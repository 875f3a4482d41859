"""Score 10,000 rows of S² by 10,000 local kernels: the index beside the sum of all kernels.

`python -m benchmarks.kernels` takes about two minutes. It uses one core and counts CPU seconds.
"""

from benchmarks.timing import one_core

if __name__ == "__main__":
    one_core()

from pathlib import Path

import jax
import numpy as np

from benchmarks.scaling_targets import TARGETS
from benchmarks.timing import environment, ratio, store, time_in_turns
from foliax.density import Dataset
from foliax.density.batches import log_prob_in_batches
from foliax.estimators import LocalKernel

N_ROWS = 10_000
"""Rows that carry kernels, and fresh rows that are scored."""
SEEDS = (30, 99)
"""The seeds of the fitted and of the scored rows. The sizes of tiles were chosen by them too."""
BATCH_ROWS = 4096
"""Rows of a batch of the full sum, as `evaluate` takes by default."""
TURNS = 2
RESULTS = Path(__file__).parent / "results" / "kernels.json"


def measure() -> dict:
    """Return the rows/s of both ways, the ratio of their times and the largest difference."""
    target = TARGETS["S²"]
    data = Dataset(target.draw(N_ROWS, SEEDS[0]), target.manifold)
    key = jax.random.key(SEEDS[0])
    density = LocalKernel().fit(data, key=key).density
    rows, numbers = target.draw(N_ROWS, SEEDS[1]), np.arange(N_ROWS)
    values: dict[str, np.ndarray] = {}

    def full() -> None:
        values["full"] = log_prob_in_batches(density, rows, numbers, None, key, BATCH_ROWS).value

    def indexed() -> None:
        how = {"key": key, "batch_size": BATCH_ROWS}
        values["indexed"] = density.log_prob_rows(rows, numbers, **how).value

    seconds = time_in_turns({"full": full, "indexed": indexed}, TURNS)
    return {
        "environment": environment(),
        "rows per second": {name: N_ROWS / min(each) for name, each in seconds.items()},
        "speedup": ratio(seconds["full"], seconds["indexed"]),
        "largest difference in nats": float(np.abs(values["indexed"] - values["full"]).max()),
    }


def main() -> None:
    found = measure()
    store(found, RESULTS)
    print("| way | rows/s |\n|---|---|")
    for name, speed in found["rows per second"].items():
        print(f"| {name} | {speed:,.0f} |")
    speedup = found["speedup"]
    print(f"Ratio {speedup['median']:.1f} ({speedup['from']:.1f} to {speedup['to']:.1f}).")
    print(f"The largest difference is {found['largest difference in nats']:.1e} nats.")


if __name__ == "__main__":
    main()
