"""How fast foliax trains and evaluates, on one core: `python -m benchmarks.speed`.

3-D data, batches of 100, float32, compilation excluded. foliax's trainer beside a bare `lax.scan`
over the same flow, objective and optimizer; foliax's RealNVP on R³ beside those of zuko and
normflows, eager, where they are installed (the extra `benchmarks`). Times are CPU seconds of this
process on one core; the jobs take turns, so that whatever else the machine does falls on all of
them. Rates are medians over the turns, ratios the medians of each turn's own ratio. Stored in
benchmarks/results/speed.json.
"""

from __future__ import annotations

import dataclasses
import importlib.metadata
import json
import os
import platform
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from rich.console import Console
from rich.table import Table

from foliax.density.batches import rows_log_prob
from foliax.dequantizers import HeavyTailed
from foliax.estimators import DequantizedFlow
from foliax.evaluation import metrics
from foliax.flows import RealNVP
from foliax.manifolds import AbstractManifold, Euclidean
from foliax.paper import targets
from foliax.training import ELBO, ImportanceWeighted, Training, count_parameters, partition, train

RESULTS = Path(__file__).parent / "results" / "speed.json"
COMMAND = "python -m benchmarks.speed"
COUPLINGS, WIDTH = 6, 64
MOST_COST, LEAST_GAIN = 1.15, 10.0
SPHERE, SPACE = "S²", "R³"

Job = Callable[[], object]


class Missing(Exception):
    """A rival that is not installed."""


@dataclasses.dataclass(frozen=True)
class Sizes:
    """How much is measured: `turns` times, `steps` of training and `points` of log_prob."""

    turns: int = 9
    steps: int = 2000
    block: int = 250
    rival_steps: int = 300
    rows: int = 10_000
    held_out: int = 1000
    batch: int = 100
    points: int = 100_000
    chunk: int = 10_000


def one_core() -> None:
    """Keep this process to one core and XLA to one thread: before anything is computed."""
    os.environ["XLA_FLAGS"] = (
        os.environ.get("XLA_FLAGS", "") + " --xla_cpu_multi_thread_eigen=false"
    )
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


def in_turns(jobs: dict[str, Job], turns: int) -> dict[str, list[float]]:
    """CPU seconds of every job in every turn, after one that compiles."""
    for job in jobs.values():
        job()
    seconds: dict[str, list[float]] = {name: [] for name in jobs}
    for _ in range(turns):
        for name, job in jobs.items():
            began = time.process_time()
            job()
            seconds[name].append(time.process_time() - began)
    return seconds


def environment(*packages: str) -> dict:
    """Where the numbers come from."""
    versions = {}
    for package in ("foliax", "jax", "flowjax", "equinox", "optax", *packages):
        try:
            versions[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            versions[package] = "not installed"
    described = Path("/proc/cpuinfo")
    lines = described.read_text().splitlines() if described.exists() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return {
        "versions": versions,
        "processor": f"{names[0] if names else platform.processor()}, one core",
    }


# The flows ------------------------------------------------------------------------------------


def description(where: str, sizes: Sizes) -> tuple[AbstractManifold, DequantizedFlow]:
    training = Training(steps=sizes.steps, batch=sizes.batch, block=sizes.block)
    ambient = RealNVP(COUPLINGS, WIDTH)
    if where == SPHERE:
        objective = ImportanceWeighted(5)
        flow = DequantizedFlow(ambient, HeavyTailed(10), objective, training)
        return targets.sphere_s2().manifold, flow
    # Without z the bound is the log-likelihood itself.
    return Euclidean(3), DequantizedFlow(ambient, objective=ELBO(1, cost=0.0), training=training)


def data(where: str, sizes: Sizes) -> tuple[jax.Array, jax.Array]:
    """(rows, held-out rows): four modes on S², and the same with noise in R³."""
    n = sizes.rows + sizes.held_out
    rows = jnp.asarray(metrics.samples(targets.sphere_s2(), n, key=jax.random.key(0)))
    if where == SPACE:
        rows = rows + 0.1 * jax.random.normal(jax.random.key(1), rows.shape)
    return rows[: sizes.rows], rows[sizes.rows :]


def bare_scan(density, spec: DequantizedFlow, rows: jax.Array) -> Job:
    """The same flow, objective, clipping and Adam in scanned blocks, and nothing else."""
    params, static = partition(density)
    training, objective = spec.training, spec.objective
    optimizer = optax.chain(optax.clip_by_global_norm(training.clip), optax.adam(training.rate))
    weights = jnp.ones(training.batch)

    def step(carry, key):
        params, moments = carry
        batch_key, noise_key = jax.random.split(key)
        batch = rows[jax.random.randint(batch_key, (training.batch,), 0, len(rows))]
        loss, gradient = objective.value_and_grad(params, static, batch, weights, key=noise_key)
        updates, moments = optimizer.update(gradient, moments)
        return (optax.apply_updates(params, updates), moments), loss

    @jax.jit
    def block(carry, key):
        return jax.lax.scan(step, carry, jax.random.split(key, training.block))

    start = (params, optimizer.init(params))

    def run():
        carry, key = start, jax.random.key(2)
        for number in range(training.steps // training.block):
            carry, losses = block(carry, jax.random.fold_in(key, number))
        return jax.block_until_ready((carry, losses))

    return run


def foliax_jobs(where: str, sizes: Sizes) -> tuple[dict[str, Job], dict[str, Job], int]:
    """(training jobs, log_prob jobs, number of parameters) of foliax on S² or on R³."""
    manifold, spec = description(where, sizes)
    rows, held_out = data(where, sizes)
    density = spec.build(manifold, rows, key=jax.random.key(3))

    def trained(validation):
        return train(
            density,
            rows,
            key=jax.random.key(4),
            training=spec.training,
            objective=spec.objective,
            validation=validation,
        )

    points = np.asarray(jnp.resize(rows, (sizes.points, 3)))
    numbers, key = np.arange(len(points)), jax.random.key(5)
    training = {
        f"foliax, {where}": lambda: trained(None),
        f"foliax with validation, {where}": lambda: trained(held_out),
        f"bare scan, {where}": bare_scan(density, spec, rows),
    }
    scoring: dict[str, Job] = {
        f"foliax, {where}": lambda: rows_log_prob(density, points, numbers, key, sizes.chunk)
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


# The rivals -----------------------------------------------------------------------------------


def zuko_flow():
    import zuko

    return zuko.flows.RealNVP(3, transforms=COUPLINGS, hidden_features=(WIDTH, WIDTH))


def zuko_log_prob(flow, x):
    return flow().log_prob(x)


def normflows_flow():
    import normflows
    import torch

    layers = []
    for _ in range(COUPLINGS):
        network = normflows.nets.MLP([2, WIDTH, WIDTH, 2], init_zeros=True)
        layers += [
            normflows.flows.AffineCouplingBlock(network),
            normflows.flows.Permute(3, mode="swap"),
        ]
    base = normflows.distributions.DiagGaussian(3, trainable=False)
    flow = normflows.NormalizingFlow(base, layers)
    return flow.to(torch.float32)


def normflows_log_prob(flow, x):
    return flow.log_prob(x)


RIVALS = {"zuko": (zuko_flow, zuko_log_prob), "normflows": (normflows_flow, normflows_log_prob)}


def rival_jobs(name: str, sizes: Sizes) -> tuple[Job, Job, int]:
    """(training job, log_prob job, number of parameters) of a rival, as its README has it."""
    make, log_prob = RIVALS[name]
    try:
        import torch

        torch.set_num_threads(1)
        torch.manual_seed(0)
        flow = make()
    except ImportError as error:
        raise Missing(
            f"{name} is skipped: {error}. Install it by `pip install torch==2.13.0` and then "
            "`pip install 'foliax[benchmarks]'`."
        ) from error
    rows = torch.tensor(np.asarray(data(SPACE, sizes)[0]))
    points = torch.tensor(np.asarray(jnp.resize(rows.numpy(), (sizes.points, 3))))
    optimizer = torch.optim.Adam(flow.parameters(), lr=1e-3)

    def training():
        for _ in range(sizes.rival_steps):
            batch = rows[torch.randint(len(rows), (sizes.batch,))]
            loss = -log_prob(flow, batch).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

    def scoring():
        with torch.no_grad():
            return [log_prob(flow, part) for part in torch.split(points, sizes.chunk)]

    parameters = sum(p.numel() for p in flow.parameters() if p.requires_grad)
    return training, scoring, parameters


# Measuring ------------------------------------------------------------------------------------


def measure(
    sizes: Sizes = Sizes(),  # noqa: B008
    places: tuple[str, ...] = (SPHERE, SPACE),
    say: Callable[[str], None] = print,
) -> dict:
    """All rates and ratios, in one run; the rivals' need R³ among the places."""
    training: dict[str, Job] = {}
    scoring: dict[str, Job] = {}
    parameters: dict[str, int] = {}
    skipped: dict[str, str] = {}
    for where in places:
        train_jobs, score_jobs, count = foliax_jobs(where, sizes)
        training |= train_jobs
        scoring |= score_jobs
        parameters |= dict.fromkeys(train_jobs, count)
    rivals = []
    for name in RIVALS:
        row = f"{name} eager, {SPACE}"
        try:
            training[row], scoring[row], parameters[row] = rival_jobs(name, sizes)
            rivals.append(row)
        except Missing as missing:
            skipped[name] = str(missing)
            say(str(missing))
    steps = {row: sizes.rival_steps if row in rivals else sizes.steps for row in training}
    step_seconds = {
        row: [s / steps[row] for s in seconds]
        for row, seconds in in_turns(training, sizes.turns).items()
    }
    point_seconds = {
        row: [s / sizes.points for s in seconds]
        for row, seconds in in_turns(scoring, max(1, sizes.turns // 2)).items()
    }
    rows = {}
    for row, seconds in step_seconds.items():
        rows[row] = {
            "parameters": parameters[row],
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
        if row in rivals:
            rows[row]["foliax steps/s over its"] = ratio(seconds, step_seconds[f"foliax, {SPACE}"])
    return {
        "command": COMMAND,
        **environment("torch", "zuko", "normflows"),
        "sizes": dataclasses.asdict(sizes),
        "flow": f"RealNVP, {COUPLINGS} couplings of [{WIDTH}, {WIDTH}]",
        "limits": {"time / bare scan": MOST_COST, "foliax steps/s over its": LEAST_GAIN},
        "skipped": skipped,
        "rows": rows,
    }


def ratio(seconds: list[float], others: list[float]) -> dict[str, float]:
    """Median, smallest and largest of the turns' ratios."""
    found = [a / b for a, b in zip(seconds, others, strict=True)]
    return {"median": statistics.median(found), "from": min(found), "to": max(found)}


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
            spread(r["time / bare scan"], ".3f"),
            spread(r["foliax steps/s over its"], ".1f"),
        )
    console = console or Console(width=140)
    console.print(table)
    for message in results["skipped"].values():
        console.print(message)


def spread(found: dict[str, float] | None, style: str) -> str:
    if found is None:
        return ""
    return f"{found['median']:{style}} ({found['from']:{style}} to {found['to']:{style}})"


def store(results: dict, path: Path) -> None:
    path.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n")


def main() -> None:
    one_core()
    results = measure()
    store(results, RESULTS)
    show(results)


if __name__ == "__main__":
    main()
