"""Held-out score and cost against the number of rows: `python -m benchmarks.scaling [NAME …]`.

Names: of places and of models; all where none is given. Training rows, from a hundred to a million,
and 2,000 held-out rows come from densities that are known exactly and belong to no model's family;
what a model's held-out score lacks of theirs is an estimate of KL(p‖q). Every fit runs in a process
of its own, so that peaks of memory are its own, and is stored in benchmarks/results/scaling.json as
it comes; stored ones are not run again without `--again`. In the end docs/scaling.md and its
picture are written from what is stored. `--show`: that alone. `… million`: auto on a million rows
of S², and a million more scored, by the estimator and with all cores.
"""

from __future__ import annotations

import argparse
import dataclasses
import itertools
import json
import math
import os
import resource
import sys
import tempfile
import time
import unicodedata
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple, Protocol

import jax
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter
from rich.console import Console
from rich.table import Table
from scipy.special import gammaln

from docs.build import DOCS, picture
from foliax import DensityEstimator
from foliax.density import evaluate
from foliax.distributions import log_vmf_normaliser
from foliax.estimators import Auto
from foliax.estimators.auto import spec_of
from foliax.estimators.auto.selection import FAILURES
from foliax.evaluation import metrics
from foliax.manifolds import (
    AbstractManifold,
    Circle,
    Naturals,
    PositiveReals,
    Product,
    SpecialOrthogonal,
    Sphere,
    Torus,
    conversions,
)
from foliax.plots import save
from foliax.plots.style import DATA_EDGE, LABEL_PT, MODEL, RULE, add_legend, format_number, tidy

RESULTS = Path(__file__).parent / "results" / "scaling.json"
PAGE = DOCS / "scaling.md"
ROWS = (100, 1_000, 10_000, 100_000, 1_000_000)
HELD_OUT = 2_000
CHUNK = 65_536
"""Rows drawn at once."""
SEED = 30
# name: colour and marker
MODELS = {
    "auto": (MODEL, "o"),
    "auto, 5 minutes": (MODEL, "D"),
    "flow": (DATA_EDGE, "s"),
    "kernel": (RULE, "^"),
}
SPECS = {
    "auto": Auto(),
    "auto, 5 minutes": Auto(minutes=5.0),
    "flow": spec_of("flow"),
    "kernel": spec_of("kernel"),
}
LIMITS = {"fit seconds": 600.0, "peak GiB": 4.0, "scoring seconds": 60.0}


class Part(Protocol):
    """A density that is known exactly, in float64 on the host."""

    def draw(self, rng: np.random.Generator, n: int) -> np.ndarray: ...

    def log_density(self, rows: np.ndarray) -> np.ndarray: ...


class Target(NamedTuple):
    """A mixture of parts on a manifold."""

    manifold: AbstractManifold
    parts: tuple[tuple[float, Part], ...]

    def draw(self, n: int, seed: int) -> np.ndarray:
        """n independent rows in float32, a chunk at a time."""
        rng = np.random.default_rng(seed)
        rows = np.empty((n, self.manifold.size), np.float32)
        for start in range(0, n, CHUNK):
            chunk = rows[start : start + CHUNK]
            kinds = rng.choice(len(self.parts), len(chunk), p=[share for share, _ in self.parts])
            for kind, (_, part) in enumerate(self.parts):
                chosen = np.flatnonzero(kinds == kind)
                chunk[chosen] = part.draw(rng, len(chosen))
        return rows

    def log_density(self, rows: np.ndarray) -> np.ndarray:
        rows = rows.astype(float)
        each = [math.log(share) + part.log_density(rows) for share, part in self.parts]
        return np.logaddexp.reduce(each)


@dataclasses.dataclass(frozen=True)
class Cluster:
    """von Mises–Fisher on S²."""

    mean: tuple[float, float, float]
    kappa: float

    def draw(self, rng: np.random.Generator, n: int) -> np.ndarray:
        drop = -np.log1p(rng.random(n) * math.expm1(-2 * self.kappa)) / self.kappa
        around = rng.uniform(-np.pi, np.pi, n)
        radius = np.sqrt(drop * (2 - drop))
        local = np.stack([1 - drop, radius * np.cos(around), radius * np.sin(around)], axis=1)
        return local @ self._frame()

    def log_density(self, rows: np.ndarray) -> np.ndarray:
        squared = ((rows - self._frame()[0]) ** 2).sum(1)
        return -self.kappa * squared / 2 - log_vmf_normaliser(self.kappa, 2)

    def _frame(self) -> np.ndarray:
        """The mean, and two vectors across it."""
        mean = np.array(self.mean) / np.linalg.norm(self.mean)
        return np.concatenate([mean[None], np.linalg.svd(mean[None])[2][1:]])


@dataclasses.dataclass(frozen=True)
class Ridge:
    """A winding line on S², the thinner the farther from its middle: area is longitude × height."""

    middle: float
    along: float
    waves: int
    width: float

    def draw(self, rng: np.random.Generator, n: int) -> np.ndarray:
        lon = rng.vonmises(self.middle, self.along, n)
        mean, deviation = self._across(lon)
        height = mean + deviation * rng.standard_normal(n)
        side = np.sqrt(1 - height**2)
        return np.stack([side * np.cos(lon), side * np.sin(lon), height], axis=1)

    def log_density(self, rows: np.ndarray) -> np.ndarray:
        lon = conversions.latlon_from_vectors(rows, degrees=False)[1]
        return log_turn(lon - self.middle, self.along) + log_normal(rows[:, 2], *self._across(lon))

    def _across(self, lon: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Mean and deviation of the height; more than eight deviations short of the poles."""
        return 0.5 * np.sin(self.waves * lon), self.width * np.exp(np.cos(lon - self.middle) - 1)


@dataclasses.dataclass(frozen=True)
class Angles:
    """On T³: a, b = bend·a + turn, c = a − b + shift + turn, by von Mises turns; c's by a, too."""

    middle: float
    bend: int
    shift: float
    kappas: tuple[float, float, float]

    def draw(self, rng: np.random.Generator, n: int) -> np.ndarray:
        a = rng.vonmises(self.middle, self.kappas[0], n)
        b = self.bend * a + rng.vonmises(0, self.kappas[1], n)
        c = a - b + self.shift + rng.vonmises(0, self._third(a))
        return conversions.angles_from_period(np.stack([a, b, c], axis=1), 2 * np.pi)

    def log_density(self, rows: np.ndarray) -> np.ndarray:
        a, b, c = rows.T
        first = log_turn(a - self.middle, self.kappas[0])
        second = log_turn(b - self.bend * a, self.kappas[1])
        return first + second + log_turn(c - a + b - self.shift, self._third(a))

    def _third(self, a: np.ndarray) -> np.ndarray:
        return self.kappas[2] * np.exp(np.cos(a))


@dataclasses.dataclass(frozen=True)
class Rotations:
    """On SO(3), M·R, the quaternion of R an angular central Gaussian: (1, widths) times a normal.

    Small widths: a peak with long tails; one of them 1: turns about an axis; all 1: Haar measure.
    Tyler 1987.
    """

    mean: tuple[float, float, float]
    """The rotation vector of M."""
    widths: tuple[float, float, float]

    def draw(self, rng: np.random.Generator, n: int) -> np.ndarray:
        q = rng.standard_normal((n, 4)) * np.array([1, *self.widths])
        local = conversions.rotations_from_quaternions(q, order="wxyz").reshape(-1, 3, 3)
        return (self._mean() @ local).reshape(-1, 9)

    def log_density(self, rows: np.ndarray) -> np.ndarray:
        local = (self._mean().T @ rows.reshape(-1, 3, 3)).reshape(-1, 9)
        q = conversions.quaternions_from_rotations(local, order="wxyz")
        squared = ((q / np.array([1, *self.widths])) ** 2).sum(1)
        log_volume = SpecialOrthogonal(3).log_total_volume()
        return -2 * np.log(squared) - np.log(self.widths).sum() - log_volume

    def _mean(self) -> np.ndarray:
        return conversions.rotations_from_vectors(np.array([self.mean])).reshape(3, 3)


@dataclasses.dataclass(frozen=True)
class Events:
    """On S² × circle × half-line × counts: hour by place, size by both, count by hour and size.

    hour: von Mises around phase + 2x; log size: normal around level + z + ½ cos hour; count:
    Poisson of mean 2·size^0.7·exp(½ sin hour).
    """

    place: Part
    phase: float
    regular: float
    level: float
    spread: float

    def draw(self, rng: np.random.Generator, n: int) -> np.ndarray:
        place = self.place.draw(rng, n)
        hour = self._hour(place) + rng.vonmises(0, self.regular, n)
        size = np.exp(self._log_size(place, hour) + self.spread * rng.standard_normal(n))
        count = rng.poisson(self._mean_count(hour, size))
        hour = conversions.angles_from_period(hour, 2 * np.pi)
        return np.column_stack([place, hour, size, count])

    def log_density(self, rows: np.ndarray) -> np.ndarray:
        place, (hour, size, count) = rows[:, :3], rows[:, 3:].T
        mean = self._mean_count(hour, size)
        return (
            self.place.log_density(place)
            + log_turn(hour - self._hour(place), self.regular)
            + log_normal(np.log(size), self._log_size(place, hour), self.spread)
            - np.log(size)
            + (count * np.log(mean) - mean - gammaln(count + 1))
        )

    def _hour(self, place: np.ndarray) -> np.ndarray:
        return self.phase + 2 * place[:, 0]

    def _log_size(self, place: np.ndarray, hour: np.ndarray) -> np.ndarray:
        return self.level + place[:, 2] + 0.5 * np.cos(hour)

    def _mean_count(self, hour: np.ndarray, size: np.ndarray) -> np.ndarray:
        return 2 * size**0.7 * np.exp(0.5 * np.sin(hour))


def log_turn(angle: np.ndarray, kappa: np.ndarray | float) -> np.ndarray:
    """von Mises's log density of an angle from its mean."""
    return -2 * kappa * np.sin(angle / 2) ** 2 - log_vmf_normaliser(kappa, 1)


def log_normal(x: np.ndarray, mean: np.ndarray, deviation: np.ndarray | float) -> np.ndarray:
    """The log density of a normal law."""
    return -0.5 * ((x - mean) / deviation) ** 2 - np.log(deviation) - 0.5 * math.log(2 * math.pi)


RIDGE = Ridge(middle=0.5, along=0.8, waves=3, width=0.06)
BROAD, SMALLER, SHARP = (
    Cluster((-0.5, -0.6, 0.6), 12.0),
    Cluster((-0.2, 0.3, -0.9), 300.0),
    Cluster((-0.9, 0.4, 0.2), 8000.0),
)
BACKGROUND = Cluster((0.0, 1.0, 1.0), 0.4)
TARGETS = {
    "S²": Target(
        Sphere(2),
        ((0.35, RIDGE), (0.2, BROAD), (0.15, SMALLER), (0.1, SHARP), (0.2, BACKGROUND)),
    ),
    "T³": Target(
        Torus(3),
        (
            (0.45, Angles(-1.0, 2, 0.0, (1.0, 10.0, 30.0))),
            (0.35, Angles(2.0, -1, 2.0, (4.0, 40.0, 8.0))),
            (0.1, Angles(0.5, 1, -1.0, (200.0, 200.0, 100.0))),
            (0.1, Angles(0.0, 1, 0.0, (0.3, 0.3, 0.3))),
        ),
    ),
    "SO(3)": Target(
        SpecialOrthogonal(3),
        (
            (0.25, Rotations((0.5, -0.3, 1.0), (0.03, 0.03, 0.03))),
            (0.3, Rotations((-1.0, 0.7, 0.2), (1.0, 0.08, 0.08))),
            (0.3, Rotations((1.5, 1.5, -0.5), (0.2, 0.3, 0.4))),
            (0.15, Rotations((0.0, 0.0, 0.0), (1.0, 1.0, 1.0))),
        ),
    ),
    "mixed": Target(
        Product(Sphere(2), Circle(), PositiveReals(), Naturals()),
        (
            (0.4, Events(RIDGE, 0.0, 6.0, 0.5, 0.4)),
            (0.25, Events(SMALLER, 2.5, 30.0, 2.0, 0.2)),
            (0.2, Events(BROAD, -1.5, 2.0, 1.0, 0.7)),
            (0.15, Events(BACKGROUND, 0.0, 0.5, 0.0, 1.0)),
        ),
    ),
}


def measure(where: str, model: str, n: int) -> dict:
    """Fit a model to n rows, and score held-out ones."""
    target = TARGETS[where]
    rows, held = target.draw(n, SEED), target.draw(HELD_OUT, SEED + 1)
    before = peak()
    began, cpu = time.monotonic(), time.process_time()
    spec = SPECS[model]
    fitted = spec.fit(target.manifold, rows, key=jax.random.key(SEED))
    seconds, cpu_seconds = time.monotonic() - began, time.process_time() - cpu
    found = evaluate(fitted.density, held, tol=0.05, max_rounds=2)
    began = time.monotonic()
    evaluate(fitted.density, held, tol=math.inf)  # all of it compiled by now
    rate = HELD_OUT / (time.monotonic() - began)
    return {
        "spec": repr(spec),
        "nll": metrics.estimate(-found.value),
        "excess": metrics.estimate(target.log_density(held) - found.value),
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
    """Fit auto to n rows of S² by the estimator, and score as many others."""
    target = TARGETS["S²"]
    rows, others = target.draw(n, SEED), target.draw(n, SEED + 1)
    began = time.monotonic()
    minutes = Auto().minutes
    estimator = DensityEstimator(target.manifold, minutes=minutes).fit(rows)
    fitted = time.monotonic()
    value = estimator.score_samples(others)
    scored = time.monotonic()
    return {
        "rows": n,
        "minutes": minutes,
        "fit seconds": round(fitted - began, 1),
        "scoring seconds": round(scored - fitted, 1),
        "peak GiB": round(peak(), 2),
        "excess": metrics.estimate(target.log_density(others) - value),
        "events": estimator.record_.events,
        **surroundings(),
    }


def peak() -> float:
    """The most memory that this process has held so far, in GiB."""
    held = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return held / (2**30 if sys.platform == "darwin" else 2**20)


def surroundings() -> dict:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return {"cores": cores, "versions": {"jax": jax.__version__, "numpy": np.__version__}}


def alone(run: Callable[..., dict], *arguments: object) -> dict:
    """What a function finds in a process of its own, or what it fails with."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        try:
            return pool.submit(run, *arguments).result()
        except FAILURES as error:
            return {"failed": f"{type(error).__name__}: {error}"}


def stored() -> dict:
    return json.loads(RESULTS.read_text()) if RESULTS.exists() else {"rows": {}, "million": {}}


def store(part: str, found: dict) -> None:
    results = stored()
    results[part] = {**results[part], **found} if part == "rows" else found
    RESULTS.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n")


def name_of(where: str, model: str, n: int) -> str:
    return f"{where} | {model} | {n}"


class Row(NamedTuple):
    """A stored row that did not fail."""

    where: str
    model: str
    n: int
    found: dict

    @property
    def excess(self) -> metrics.Estimate:
        return metrics.Estimate(*self.found["excess"])

    def texts(self) -> list[str]:
        """The numbers as a table shows them."""
        found = self.found
        return [
            f"{self.excess.value:.4f} ± {self.excess.error:.4f}",
            f"{found['nll'][0]:.3f}",
            f"{found['fit seconds']:,.0f}",
            f"{found['fit CPU seconds']:,.0f}",
            f"{found['peak GiB']:.1f}",
            f"{found['scored rows/s']:,}",
        ]


HEADS = ["KL(p‖q)", "NLL", "fit s", "CPU s", "peak GiB", "scored rows/s"]


def completed(results: dict, where: str) -> list[Row]:
    """The rows of a place that did not fail, by number and model."""
    found = []
    for name, r in results["rows"].items():
        place, model, n = name.split(" | ")
        if place == where and "failed" not in r:
            found.append(Row(place, model, int(n), r))
    return sorted(found, key=lambda row: (row.n, list(MODELS).index(row.model)))


def by_rows(rows: list[Row]) -> list[tuple[int, list[Row]]]:
    """The numbers of rows that several models were fitted to, and these models' rows."""
    groups = [(n, list(some)) for n, some in itertools.groupby(rows, lambda row: row.n)]
    return [(n, some) for n, some in groups if len(some) > 1]


def winners(rows: list[Row]) -> str:
    """The model of the least excess, and those that the errors do not tell from it."""
    best = min(rows, key=lambda row: row.excess.value)

    def level(row: Row) -> bool:
        gap = row.excess.value - best.excess.value
        return gap <= math.hypot(row.excess.error, best.excess.error)

    return " and ".join(row.model for row in rows if row is best or level(row))


def verdict(rows: list[Row]) -> str:
    """A sentence on which model wins where, and on what they cost at the most rows."""
    groups = by_rows(rows)
    if not groups:
        return "Not enough models have been run."
    won = itertools.groupby(groups, lambda group: winners(group[1]))
    ranges = [(model, [n for n, _ in some]) for model, some in won]
    texts = [
        f"{model} {'at' if len(ns) == 1 else f'from {ns[0]:,} to'} {ns[-1]:,} rows"
        for model, ns in ranges
    ]
    n, last = groups[-1]
    costs = [f"{row.model} {row.found['fit seconds']:,.0f} s" for row in last]
    return f"Wins: {'; '.join(texts)}. Fitting {n:,} rows takes {', '.join(costs)}."


def show(results: dict) -> None:
    table = Table("where", "rows", "model", *HEADS)
    for where in TARGETS:
        for row in completed(results, where):
            table.add_row(where, f"{row.n:,}", row.model, *row.texts())
    console = Console(width=130)
    console.print(table)
    for name, r in results["rows"].items():
        if "failed" in r:
            console.print(f"{name}: {r['failed']}")


def show_million(found: dict) -> None:
    if "failed" in found:
        print(found["failed"])
        return
    table = Table("a million rows of S²", "measured", "limit")
    for name, limit in LIMITS.items():
        table.add_row(name, f"{found[name]:,.1f}", f"{limit:,.0f}")
    Console().print(table, f"KL(p‖q) {metrics.Estimate(*found['excess'])}")


def draw(results: dict) -> Figure:
    """KL(p‖q) above and seconds of fitting below, against rows; one column for each place."""
    figure = Figure(figsize=(10.0, 5.0), layout="constrained")
    axes = figure.subplots(2, len(TARGETS), sharex=True, sharey="row", squeeze=False)
    for column, where in enumerate(TARGETS):
        above, below = axes[:, column]
        for model, (colour, marker) in MODELS.items():
            rows = [row for row in completed(results, where) if row.model == model]
            look = {"color": colour, "marker": marker, "ms": 4.5, "lw": 1.3}
            ns = [row.n for row in rows]
            value, error = np.array([row.excess for row in rows]).reshape(-1, 2).T
            # On a logarithmic axis, what is below its error is shown at its error.
            shown = np.maximum(value, error)
            ends = np.stack([np.minimum(error, 0.9 * shown), error])
            above.errorbar(ns, shown, ends, elinewidth=0.8, capsize=2, **look)
            below.plot(ns, [row.found["fit seconds"] for row in rows], **look)
        above.set_title(where, fontsize=LABEL_PT + 2)
        below.set_xlabel("rows", fontsize=LABEL_PT)
        logarithmic(above)
        logarithmic(below)
    axes[0, 0].set_ylabel("KL(p‖q), nats", fontsize=LABEL_PT)
    axes[1, 0].set_ylabel("fitting, seconds", fontsize=LABEL_PT)
    handles = [
        Line2D([], [], color=colour, marker=marker, ms=4.5, lw=1.3, label=model)
        for model, (colour, marker) in MODELS.items()
    ]
    add_legend(figure, handles)
    return figure


def logarithmic(ax: Axes) -> None:
    ax.set(xscale="log", yscale="log")
    ax.yaxis.set_major_formatter(FuncFormatter(lambda v, _: format_number(v)))
    ax.grid(lw=0.4, alpha=0.5)
    tidy(ax)


PREAMBLE = """\
# Which model for how many rows

Written by `python -m benchmarks.scaling` from [its results](../benchmarks/results/scaling.json).
Rows come from densities p that are known, and as a whole belong to no model's family: on S² a
winding ridge of changing width, three clusters of very different size and a background; on T³
angles that follow one another along curves; on SO(3) a sharp and a broad peak, turns about an axis
and a background; "mixed" is S² × time of day × half-line × counts, each depending on those before.
A model's score on {held:,} held-out rows, less that of p itself, estimates KL(p‖q): 0 is perfect,
in nats for each row. One set of rows and one core each; auto has {minutes:g} minutes, unless others
are named.

![KL and fitting time against the number of rows](images/scaling.png)

A model wins where its KL is the least; several are named where the standard errors do not tell them
apart. Below its standard error a KL is drawn at its standard error. Fitting includes compilation;
peak memory is the whole process's, with Python and JAX; rows/s are of scoring once it is compiled.
"""


def page(results: dict) -> str:
    """The page of the documentation, every number from the results."""
    parts = [PREAMBLE.format(held=HELD_OUT, minutes=Auto().minutes)]
    for where in TARGETS:
        rows = completed(results, where)
        if rows:
            heads = ["rows", "model", *HEADS]
            lines = [heads, ["---"] * len(heads)]
            lines += [[f"{row.n:,}", row.model, *row.texts()] for row in rows]
            table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
            parts.append(f"## {where}\n\n{verdict(rows)}\n\n{table}\n")
    failed = [f"- {name}: {r['failed']}" for name, r in results["rows"].items() if "failed" in r]
    if failed:
        parts.append("## Fits that failed\n\n" + "\n".join(failed) + "\n")
    if "fit seconds" in results["million"]:
        parts.append(about_million(results["million"]))
    return "\n".join(parts)


def about_million(found: dict) -> str:
    limits = {name: f"{found[name]:,.1f} (limit {limit:,.0f})" for name, limit in LIMITS.items()}
    return (
        "## A million rows\n\n"
        f"`python -m benchmarks.scaling million`: auto, with a budget of {found['minutes']:g} "
        f"minutes and {found['cores']} cores, on {found['rows']:,} rows of S², and as many others "
        "scored: "
        + ", ".join(f"{name} {text}" for name, text in limits.items())
        + f"; KL(p‖q) {metrics.Estimate(*found['excess'])}.\n"
    )


def publish(results: dict) -> None:
    """Write the page and its picture."""
    PAGE.write_text(page(results), encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder:
        save(draw(results), Path(folder) / "scaling.png")
        picture(Path(folder), "scaling")


def simple(name: str) -> str:
    """S2 for S²."""
    return unicodedata.normalize("NFKC", name)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help=f"of {[*TARGETS, *MODELS]}, or million")
    parser.add_argument("--rows", type=int, nargs="+", default=ROWS, help="numbers of rows")
    parser.add_argument("--most", type=int, default=max(ROWS), help="no more rows than these")
    parser.add_argument("--again", action="store_true", help="also what is stored already")
    parser.add_argument("--show", action="store_true", help="run nothing")
    chosen = parser.parse_args()
    asked = {simple(name) for name in chosen.names}
    if unknown := asked - {simple(name) for name in (*TARGETS, *MODELS, "million")}:
        parser.error(f"There is no {', '.join(sorted(unknown))}.")
    wheres, models = (
        [name for name in known if simple(name) in asked] or list(known)
        for known in (TARGETS, MODELS)
    )
    runs = itertools.product([n for n in chosen.rows if n <= chosen.most], wheres, models)
    if chosen.show or "million" in asked:
        runs = []
    if "million" in asked and not chosen.show:
        store("million", alone(million))
    for n, where, model in runs:
        name = name_of(where, model, n)
        if name in stored()["rows"] and not chosen.again:
            continue
        found = alone(measure, where, model, n)
        store("rows", {name: found})
        print(name, json.dumps(found, ensure_ascii=False), flush=True)
    results = stored()
    show(results)
    if results["million"]:
        show_million(results["million"])
    publish(results)


if __name__ == "__main__":
    main()
