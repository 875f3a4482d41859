"""Measure how fast foliax trains and evaluates, on one core: `python -m benchmarks.speed`.

The data are three-dimensional, batches have 100 rows, and times exclude compilation. The benchmark
compares foliax's trainer with a bare `lax.scan` over the same flow, objective and optimizer, and
its RealNVP on R³ with those of zuko and normflows (eager), where they are installed (the extra
`benchmarks`). Times are CPU seconds of this process on one core. The jobs take turns, so that other
load on the machine affects all of them alike. Rates are medians over the turns; ratios are medians
of the turns' ratios. Results are stored in benchmarks/results/speed.json.
"""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Callable
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from rich.console import Console
from rich.table import Table

from benchmarks.peers import COUPLINGS, PEERS, WIDTH, MissingPackageError, peer_jobs
from benchmarks.timing import Job, environment, format_ratio, one_core, ratio, store, time_in_turns
from foliax.density import Dataset
from foliax.density.batches import log_prob_in_batches
from foliax.dequantizers import HeavyTailed
from foliax.estimators import DequantizedFlow
from foliax.flows import RealNVP
from foliax.manifolds import AbstractManifold, Euclidean
from foliax.paper import targets
from foliax.training import (
    ELBO,
    Batch,
    ImportanceWeighted,
    Training,
    count_parameters,
    partition,
    train,
)

RESULTS = Path(__file__).parent / "results" / "speed.json"
COMMAND = "python -m benchmarks.speed"
MAX_COST, MIN_GAIN = 1.15, 10.0
"""Limits: time over that of a bare scan, and speed over that of the peers."""
SPHERE, SPACE = "S²", "R³"


@dataclasses.dataclass(frozen=True)
class Sizes:
    """Amounts: each of `turns` times `steps` of training and log_prob of `points`."""

    turns: int = 9
    steps: int = 2000
    block: int = 250
    peer_steps: int = 300
    rows: int = 10_000
    held_out: int = 1000
    batch: int = 100
    points: int = 100_000
    chunk: int = 10_000


# The flows ------------------------------------------------------------------------------------


def description(where: str, sizes: Sizes) -> tuple[AbstractManifold, DequantizedFlow]:
    training = Training(steps=sizes.steps, batch_size=sizes.batch, eval_every=sizes.block)
    ambient = RealNVP(COUPLINGS, WIDTH)
    if where == SPHERE:
        objective = ImportanceWeighted(5)
        return targets.sphere_s2().manifold, DequantizedFlow(
            ambient, HeavyTailed(10), objective, training
        )
    # Without z the bound is the log-likelihood.
    return Euclidean(3), DequantizedFlow(ambient, objective=ELBO(1, cost=0.0), training=training)


def data(where: str, sizes: Sizes) -> tuple[jax.Array, jax.Array]:
    """Return rows and held-out rows: four modes on S², and the same with noise in R³."""
    n = sizes.rows + sizes.held_out
    rows = jnp.asarray(targets.sphere_s2().sample(n, key=jax.random.key(0)))
    if where == SPACE:
        rows = rows + 0.1 * jax.random.normal(jax.random.key(1), rows.shape)
    return rows[: sizes.rows], rows[sizes.rows :]


def bare_scan(density, spec: DequantizedFlow, rows: jax.Array) -> Job:
    """Return a job that trains by scanned blocks of clipping and Adam, and nothing else."""
    params, static = partition(density)
    training, objective = spec.training, spec.objective
    optimizer = optax.chain(
        optax.clip_by_global_norm(training.clip), optax.adam(training.learning_rate)
    )
    weights = jnp.ones(training.batch_size)

    def step(carry, key):
        params, moments = carry
        batch_key, noise_key = jax.random.split(key)
        batch = rows[jax.random.randint(batch_key, (training.batch_size,), 0, len(rows))]
        loss, gradient = objective.value_and_grad(
            params, static, Batch(batch, weights), key=noise_key
        )
        updates, moments = optimizer.update(gradient, moments)
        return (optax.apply_updates(params, updates), moments), loss

    @jax.jit
    def block(carry, key):
        return jax.lax.scan(step, carry, jax.random.split(key, training.eval_every))

    start = (params, optimizer.init(params))

    def run():
        carry, losses, key = start, None, jax.random.key(2)
        for number in range(training.steps // training.eval_every):
            carry, losses = block(carry, jax.random.fold_in(key, number))
        return jax.block_until_ready((carry, losses))

    return run


def foliax_jobs(where: str, sizes: Sizes) -> tuple[dict[str, Job], dict[str, Job], int]:
    """Return training jobs, log_prob jobs and number of parameters of foliax on S² or R³."""
    manifold, spec = description(where, sizes)
    rows, held_out = data(where, sizes)
    fitted_rows = Dataset(rows, manifold)
    density = spec.build(fitted_rows, key=jax.random.key(3))

    def trained(validation):
        return train(
            density,
            fitted_rows,
            key=jax.random.key(4),
            training=spec.training,
            objective=spec.objective,
            validation=validation,
        )

    points = np.asarray(jnp.resize(rows, (sizes.points, 3)))
    numbers, key = np.arange(len(points)), jax.random.key(5)
    training = {
        f"foliax, {where}": lambda: trained(None),
        f"foliax with validation, {where}": lambda: trained(Dataset(held_out, manifold)),
        f"bare scan, {where}": bare_scan(density, spec, rows),
    }
    scoring: dict[str, Job] = {
        f"foliax, {where}": lambda: log_prob_in_batches(
            density, points, numbers, None, key, sizes.chunk
        )
    }
    if where == SPACE:
        scoring[f"bare scan, {where}"] = bare_log_prob(density.ambient, points, sizes.chunk)
    return training, scoring, count_parameters(density)


def bare_log_prob(ambient, points: np.ndarray, chunk: int) -> Job:
    @eqx.filter_jit
    def log_prob(ambient, part):
        return jax.vmap(ambient.log_prob)(part)

    def run():
        return [np.asarray(log_prob(ambient, part)) for part in chunks(points, chunk)]

    return run


def chunks(points: np.ndarray, chunk: int) -> list[np.ndarray]:
    return [points[start : start + chunk] for start in range(0, len(points), chunk)]


# Measuring ------------------------------------------------------------------------------------


@dataclasses.dataclass
class Jobs:
    """Everything that is timed, by row of the table."""

    training: dict[str, Job] = dataclasses.field(default_factory=dict)
    scoring: dict[str, Job] = dataclasses.field(default_factory=dict)
    parameters: dict[str, int] = dataclasses.field(default_factory=dict)
    peers: list[str] = dataclasses.field(default_factory=list)
    skipped: dict[str, str] = dataclasses.field(default_factory=dict)


def collect_jobs(sizes: Sizes, places: tuple[str, ...], say: Callable[[str], None]) -> Jobs:
    """Return the jobs of foliax on the given places and of the peers that are installed."""
    jobs = Jobs()
    for where in places:
        training, scoring, parameters = foliax_jobs(where, sizes)
        jobs.training |= training
        jobs.scoring |= scoring
        jobs.parameters |= dict.fromkeys(training, parameters)
    rows = np.asarray(data(SPACE, sizes)[0])
    for name in PEERS:
        row = f"{name} eager, {SPACE}"
        amounts = {"batch": sizes.batch, "points": sizes.points, "chunk": sizes.chunk}
        try:
            found = peer_jobs(name, rows, steps=sizes.peer_steps, **amounts)
        except MissingPackageError as missing:
            jobs.skipped[name] = str(missing)
            say(str(missing))
        else:
            jobs.training[row], jobs.scoring[row], jobs.parameters[row] = found
            jobs.peers.append(row)
    return jobs


def measure(
    sizes: Sizes = Sizes(),  # noqa: B008
    places: tuple[str, ...] = (SPHERE, SPACE),
    say: Callable[[str], None] = print,
) -> dict:
    """Measure all rates and ratios in one run; the peers' ratios need R³ among the places."""
    jobs = collect_jobs(sizes, places, say)
    steps = {row: sizes.peer_steps if row in jobs.peers else sizes.steps for row in jobs.training}
    step_seconds = {
        row: [s / steps[row] for s in seconds]
        for row, seconds in time_in_turns(jobs.training, sizes.turns).items()
    }
    point_seconds = {
        row: [s / sizes.points for s in seconds]
        for row, seconds in time_in_turns(jobs.scoring, max(1, sizes.turns // 2)).items()
    }
    rows = {}
    for row, seconds in step_seconds.items():
        rows[row] = {
            "parameters": jobs.parameters[row],
            "steps/s": 1 / statistics.median(seconds),
            "log_prob points/s": None,
            "time / bare scan": None,
            "foliax steps/s over its": None,
        }
        if row in point_seconds:
            rows[row]["log_prob points/s"] = 1 / statistics.median(point_seconds[row])
        if row.startswith("foliax"):
            bare = step_seconds[f"bare scan, {row.split(', ')[1]}"]
            rows[row]["time / bare scan"] = ratio(seconds, bare)
        if row in jobs.peers:
            rows[row]["foliax steps/s over its"] = ratio(seconds, step_seconds[f"foliax, {SPACE}"])
    return {
        "command": COMMAND,
        **environment("torch", "zuko", "normflows"),
        "sizes": dataclasses.asdict(sizes),
        "flow": f"RealNVP, {COUPLINGS} couplings of [{WIDTH}, {WIDTH}]",
        "limits": {"time / bare scan": MAX_COST, "foliax steps/s over its": MIN_GAIN},
        "skipped": jobs.skipped,
        "rows": rows,
    }


def show(results: dict, console: Console | None = None) -> None:
    limits = results["limits"]
    table = Table(
        "row",
        "parameters",
        "steps/s",
        "log_prob points/s",
        f"time / bare scan (≤ {limits['time / bare scan']:g})",
        f"foliax steps/s over its (≥ {limits['foliax steps/s over its']:g})",
        title=f"{results['flow']}; batch {results['sizes']['batch']}; {results['processor']}",
    )
    for name, r in results["rows"].items():
        table.add_row(
            name,
            f"{r['parameters']:,}",
            f"{r['steps/s']:,.0f}",
            "" if r["log_prob points/s"] is None else f"{r['log_prob points/s']:,.0f}",
            format_ratio(r["time / bare scan"], ".3f"),
            format_ratio(r["foliax steps/s over its"], ".1f"),
        )
    console = console or Console(width=140)
    console.print(table)
    for message in results["skipped"].values():
        console.print(message)


def main() -> None:
    one_core()
    results = measure()
    store(results, RESULTS)
    show(results)


if __name__ == "__main__":
    main()
