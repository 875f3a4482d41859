"""Measure time and error of integrating z out, on one core: `python -m benchmarks.marginal`.

On S² the benchmark compares quadrature with plain importance sampling, at points drawn from the
trained density and at uniform points. On T² it compares randomised quasi-Monte Carlo with plain
importance sampling of the same number of samples. The references are fine rules in float64. Times
are CPU seconds on one core, in float32, without compilation, with the best chunk size for each
integrator. Results are stored in benchmarks/results/marginal.json.
"""

from __future__ import annotations

import dataclasses
import statistics
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks.timing import environment, format_ratio, one_core, ratio, store, time_in_turns
from foliax.density import (
    RQMC,
    AbstractIntegrator,
    Dataset,
    DequantizedDensity,
    LogProb,
    MonteCarlo,
    Quadrature,
)
from foliax.density.batches import log_prob_in_batches
from foliax.density.integrate import middle
from foliax.dequantizers import HeavyTailed
from foliax.estimators import DequantizedFlow
from foliax.flows import RealNVP
from foliax.paper import targets
from foliax.training import ImportanceWeighted, Training

RESULTS = Path(__file__).parent / "results" / "marginal.json"
COMMAND = "python -m benchmarks.marginal"
MAX_ERROR_NATS, MIN_GAIN = 1e-4, 20.0
"""Limits of quadrature: its largest error, and its speed over importance sampling."""
CHUNK_EVALUATIONS = 1 << 14
"""Evaluations of the flow in one chunk; more do not fit a core's cache."""


@dataclasses.dataclass(frozen=True)
class Sizes:
    """Amounts of points, samples and training."""

    steps: int = 600
    rows: int = 5000
    points: int = 1000
    nodes: int = 10_000
    samples: int = 10_000
    turns: int = 2
    torus_points: int = 500
    grid: int = 128
    replicates: int = 16
    torus_samples: tuple[int, ...] = (256, 1024, 4096)


class ProductRule(AbstractIntegrator):
    """The quadrature rule u = c + s·sinh t in each of k dimensions, as a reference."""

    nodes: int = eqx.field(static=True)
    reach: float = eqx.field(static=True, default=24.0)

    def __call__(self, integrand, *, key):
        centre, half_width = middle(integrand)
        end = jnp.arcsinh(self.reach / half_width)
        t = end * jnp.linspace(-1.0, 1.0, self.nodes + 1)[:, None]
        u = centre + half_width * jnp.sinh(t)
        log_slope = jnp.log(half_width * jnp.cosh(t) * end * 2 / self.nodes)
        values = jax.vmap(integrand.log_joint)(product(u)) + product(log_slope).sum(-1)
        total = jax.nn.logsumexp(values)
        return LogProb(total, jnp.zeros_like(total))

    @property
    def work(self):
        return (self.nodes + 1) ** 2

    def refine(self):
        return ProductRule(4 * self.nodes, self.reach)


def product(columns: jax.Array) -> jax.Array:
    """Return every combination of the entries of the k columns, as rows."""
    k = columns.shape[1]
    return jnp.stack(jnp.meshgrid(*columns.T, indexing="ij"), -1).reshape(-1, k)


def trained(target, sizes: Sizes) -> DequantizedDensity:
    spec = DequantizedFlow(
        RealNVP(3, 40),
        HeavyTailed(10),
        ImportanceWeighted(5),
        Training(
            steps=sizes.steps, batch_size=100, learning_rate=3e-3, eval_every=min(200, sizes.steps)
        ),
    )
    rows = jnp.asarray(target.sample(sizes.rows, key=jax.random.key(0)))
    return spec.fit(Dataset(rows, target.manifold), key=jax.random.key(1)).density


def points_of(density: DequantizedDensity, n: int) -> np.ndarray:
    """Return points, half drawn from the density and half uniform."""
    drawn = density.sample(n - n // 2, key=jax.random.key(2))
    keys = jax.random.split(jax.random.key(3), n // 2)
    uniform = jax.vmap(lambda k: density.manifold.sample_uniform(key=k))(keys)
    return np.concatenate([drawn, np.asarray(uniform)])


def chunk_of(evaluations: int, rows: int) -> int:
    """Return the rows in a chunk, given the evaluations of the flow for each row."""
    return min(rows, max(1, CHUNK_EVALUATIONS // evaluations))


def log_probs(density, points, chunk: int) -> np.ndarray:
    numbers = np.arange(len(points))
    return log_prob_in_batches(density, points, numbers, None, jax.random.key(4), chunk).value


def reference(density: DequantizedDensity, integrator, points: np.ndarray, chunk: int):
    """Return log densities in float64."""
    with jax.enable_x64(True):
        wide = jax.tree.map(
            lambda a: jnp.asarray(a, jnp.float64) if eqx.is_inexact_array(a) else a,
            density.with_integrator(integrator),
        )
        return log_probs(wide, points.astype(np.float64), chunk)


def errors(values: np.ndarray, exact: np.ndarray) -> dict[str, float]:
    off = values.astype(np.float64) - exact
    return {"rms error": float(np.sqrt((off**2).mean())), "largest error": float(abs(off).max())}


def compare(
    density: DequantizedDensity,
    integrators: dict[str, tuple[AbstractIntegrator, int]],
    points: np.ndarray,
    exact: np.ndarray,
    turns: int,
) -> tuple[dict[str, dict], dict[str, list[float]]]:
    """Return errors and seconds per 1,000 points of every integrator, and its raw seconds."""
    jobs, rows = {}, {}
    for name, (integrator, evaluations) in integrators.items():
        by, chunk = density.with_integrator(integrator), chunk_of(evaluations, len(points))
        rows[name] = {"evaluations": evaluations, **errors(log_probs(by, points, chunk), exact)}
        jobs[name] = lambda by=by, chunk=chunk: log_probs(by, points, chunk)
    seconds = time_in_turns(jobs, turns)
    for name, found in seconds.items():
        rows[name]["s / 1,000 points"] = statistics.median(found) * 1000 / len(points)
    return rows, seconds


def measure_sphere(sizes: Sizes) -> dict:
    density = trained(targets.sphere_s2(), sizes)
    points = points_of(density, sizes.points)
    exact = reference(density, Quadrature(sizes.nodes), points, chunk_of(sizes.nodes, 64))
    default = Quadrature()
    plain = f"importance sampling, {sizes.samples:,}"
    rows, seconds = compare(
        density,
        {
            "quadrature": (default, default.nodes + 1),
            "quadrature, refined": (default.refine(), default.refine().nodes + 1),
            plain: (MonteCarlo(sizes.samples), sizes.samples),
        },
        points,
        exact,
        sizes.turns,
    )
    rows[plain]["its time over quadrature's"] = ratio(seconds[plain], seconds["quadrature"])
    return {
        "reference": f"quadrature with {sizes.nodes:,} nodes, float64",
        "points": len(points),
        "rows": rows,
    }


def measure_torus(sizes: Sizes) -> dict:
    density = trained(targets.torus_multimodal(), sizes)
    points = points_of(density, sizes.torus_points)
    rules = [ProductRule(sizes.grid), ProductRule(sizes.grid * 3 // 4)]
    exact, coarser = (
        reference(density, rule, points, chunk_of((rule.nodes + 1) ** 2, 64)) for rule in rules
    )
    integrators = {}
    for samples in sizes.torus_samples:
        quasi = RQMC(samples // sizes.replicates, sizes.replicates)
        integrators[f"RQMC, {samples:,}"] = (quasi, samples)
        integrators[f"importance sampling, {samples:,}"] = (MonteCarlo(samples), samples)
    rows, _ = compare(density, integrators, points, exact, sizes.turns)
    for samples in sizes.torus_samples:
        plain, quasi = rows[f"importance sampling, {samples:,}"], rows[f"RQMC, {samples:,}"]
        plain["its rms error over RQMC's"] = plain["rms error"] / quasi["rms error"]
    return {
        "reference": f"{sizes.grid + 1}² nodes, float64",
        "reference against three quarters of the nodes": errors(coarser, exact)["largest error"],
        "points": len(points),
        "rows": rows,
    }


def measure(sizes: Sizes = Sizes()) -> dict:  # noqa: B008
    return {
        "command": COMMAND,
        **environment(),
        "sizes": dataclasses.asdict(sizes),
        "limits": {"largest error": MAX_ERROR_NATS, "its time over": MIN_GAIN},
        "S²": measure_sphere(sizes),
        "T²": measure_torus(sizes),
    }


def show(results: dict, console: Console | None = None) -> None:
    console = console or Console(width=140)
    limits = results["limits"]
    compared = {
        "S²": (
            "its time over quadrature's",
            f"its time over quadrature's (≥ {limits['its time over']:g})",
            f"largest error (≤ {limits['largest error']:g} for quadrature)",
        ),
        "T²": ("its rms error over RQMC's", "its rms error over RQMC's", "largest error"),
    }
    for where, (column, heading, largest) in compared.items():
        table = Table(
            "integrator",
            "evaluations a point",
            "rms error, nats",
            largest,
            "s / 1,000 points",
            heading,
            title=f"{where}, {results[where]['points']:,} points against "
            f"{results[where]['reference']}; {results['processor']}",
        )
        for name, r in results[where]["rows"].items():
            found = r.get(column, "")
            table.add_row(
                name,
                f"{r['evaluations']:,}",
                f"{r['rms error']:.2e}",
                f"{r['largest error']:.2e}",
                f"{r['s / 1,000 points']:.3f}",
                format_ratio(found, ".1f") if isinstance(found, dict) else found and f"{found:.1f}",
            )
        console.print(table)


def main() -> None:
    one_core()
    results = measure()
    store(results, RESULTS)
    show(results)


if __name__ == "__main__":
    main()
