"""The results of benchmarks.scaling: stored, shown, and written as a page."""

from __future__ import annotations

import itertools
import json
import math
import tempfile
from pathlib import Path
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter
from rich.console import Console
from rich.table import Table

from benchmarks.scaling_targets import TARGETS
from docs.build import GENERATED, store_picture
from foliax.estimators import Auto
from foliax.evaluation import metrics
from foliax.plots import save
from foliax.plots.style import DATA_EDGE, LABEL_PT, MODEL, RULE, add_legend, format_number, tidy

RESULTS = Path(__file__).parent / "results" / "scaling.json"
PAGE = GENERATED / "scaling.md"
HELD_OUT_ROWS = 2_000
GREEN = "#2E7D4F"
MODELS = {
    "auto": (MODEL, "o"),
    "auto, 5 minutes": (MODEL, "D"),
    "spline flow": (GREEN, "v"),
    "flow": (DATA_EDGE, "s"),
    "kernel": (RULE, "^"),
}
"""Colour and marker of each model."""
LIMITS = {"fit seconds": 600.0, "peak GiB": 4.0, "scoring seconds": 60.0}
"""What the run of a million rows may take."""


def stored() -> dict:
    return json.loads(RESULTS.read_text()) if RESULTS.exists() else {"rows": {}, "million": {}}


def store(part: str, found: dict) -> None:
    results = stored()
    results[part] = {**results[part], **found} if part == "rows" else found
    RESULTS.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n")


def name_of(where: str, model: str, n: int) -> str:
    return f"{where} | {model} | {n}"


class Row(NamedTuple):
    """A stored fit that did not fail."""

    where: str
    model: str
    n: int
    found: dict

    @property
    def excess(self) -> metrics.Estimate:
        return metrics.Estimate(*self.found["excess"])

    def texts(self) -> list[str]:
        """Format the numbers for a table."""
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


def completed_fits(results: dict, where: str) -> list[Row]:
    """Return the fits on a target that did not fail, by number of rows and model."""
    found = []
    for name, r in results["rows"].items():
        place, model, n = name.split(" | ")
        if place == where and "failed" not in r:
            found.append(Row(place, model, int(n), r))
    return sorted(found, key=lambda row: (row.n, list(MODELS).index(row.model)))


def group_by_rows(rows: list[Row]) -> list[tuple[int, list[Row]]]:
    """Group fits by their number of rows; leave out numbers with one model only."""
    groups = [(n, list(some)) for n, some in itertools.groupby(rows, lambda row: row.n)]
    return [(n, some) for n, some in groups if len(some) > 1]


def winners(rows: list[Row]) -> str:
    """Name the model with the least excess, and those within one standard error of it."""
    best = min(rows, key=lambda row: row.excess.value)

    def level(row: Row) -> bool:
        gap = row.excess.value - best.excess.value
        return gap <= math.hypot(row.excess.error, best.excess.error)

    return " and ".join(row.model for row in rows if row is best or level(row))


def describe_winners(rows: list[Row]) -> str:
    """Say which model wins for how many rows, and what each costs at the most rows."""
    groups = group_by_rows(rows)
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
    return f"Winners: {'; '.join(texts)}. Fitting {n:,} rows takes {', '.join(costs)}."


def show(results: dict) -> None:
    table = Table("where", "rows", "model", *HEADS)
    for where in TARGETS:
        for row in completed_fits(results, where):
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
    """Plot KL(p‖q) (top) and fitting seconds (bottom) against rows; one column per target."""
    fitted = [where for where in TARGETS if completed_fits(results, where)]
    figure = Figure(figsize=(2.4 * len(fitted), 5.0), layout="constrained")
    axes = figure.subplots(2, len(fitted), sharex=True, sharey="row", squeeze=False)
    for column, where in enumerate(fitted):
        above, below = axes[:, column]
        for model, (colour, marker) in MODELS.items():
            rows = [row for row in completed_fits(results, where) if row.model == model]
            look = {"color": colour, "marker": marker, "ms": 4.5, "lw": 1.3}
            ns = [row.n for row in rows]
            value, error = np.array([row.excess for row in rows]).reshape(-1, 2).T
            # The axis is logarithmic: plot a value below its error at its error.
            shown = np.maximum(value, error)
            ends = np.stack([np.minimum(error, 0.9 * shown), error])
            above.errorbar(ns, shown, ends, elinewidth=0.8, capsize=2, **look)
            below.plot(ns, [row.found["fit seconds"] for row in rows], **look)
        above.set_title(where, fontsize=LABEL_PT + 2)
        below.set_xlabel("rows", fontsize=LABEL_PT)
        use_logarithmic_axes(above)
        use_logarithmic_axes(below)
    axes[0, 0].set_ylabel("KL(p‖q), nats", fontsize=LABEL_PT)
    axes[1, 0].set_ylabel("fitting, seconds", fontsize=LABEL_PT)
    handles = [
        Line2D([], [], color=colour, marker=marker, ms=4.5, lw=1.3, label=model)
        for model, (colour, marker) in MODELS.items()
    ]
    add_legend(figure, handles)
    return figure


def use_logarithmic_axes(ax: Axes) -> None:
    ax.set(xscale="log", yscale="log")
    ax.yaxis.set_major_formatter(FuncFormatter(lambda v, _: format_number(v)))
    ax.grid(lw=0.4, alpha=0.5)
    tidy(ax)


PREAMBLE = """\
# Which model for how many rows

`python -m benchmarks.scaling` writes this page from
[its results](../../benchmarks/results/scaling.json). The rows come from known densities p, and no
model's family contains p:

- S²: a winding ridge of changing width, three clusters of very different size, and a background;
- T³: angles that depend on each other along curves, and a background;
- SO(3): a sharp peak, a broad peak, rotations about an axis, and a background;
- S⁵: a thin band around a circle, two clusters and a background;
- St(4,2): frames whose second column turns with the first, a cluster and a background;
- SO(4): two pairs of central Gaussians of the left and right quaternion, and a background;
- mixed: S² × time of day × half-line × counts, each given those before it.

KL(p‖q) in nats per row is estimated by the mean log density of p minus that of the model q on
{held:,} held-out rows; 0 is perfect. Each fit has one set of rows and one core. Auto has
{minutes:g} minutes unless its name says otherwise.

![KL and fitting time against the number of rows](images/scaling.png)

The model with the smallest KL wins; models within its standard error are named with it. The
picture shows a KL below its standard error at its standard error. Fitting time includes
compilation. Peak memory is that of the whole process, with Python and JAX. Rows/s are those of
scoring after compilation.
"""


def page(results: dict) -> str:
    """Render docs/generated/scaling.md; every number comes from the results."""
    parts = [PREAMBLE.format(held=HELD_OUT_ROWS, minutes=Auto().time_limit / 60)]
    for where in TARGETS:
        rows = completed_fits(results, where)
        if rows:
            heads = ["rows", "model", *HEADS]
            lines = [heads, ["---"] * len(heads)]
            lines += [[f"{row.n:,}", row.model, *row.texts()] for row in rows]
            table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
            parts.append(f"## {where}\n\n{describe_winners(rows)}\n\n{table}\n")
    failed = [f"- {name}: {r['failed']}" for name, r in results["rows"].items() if "failed" in r]
    if failed:
        parts.append("## Fits that failed\n\n" + "\n".join(failed) + "\n")
    if "fit seconds" in results["million"]:
        parts.append(describe_million(results["million"]))
    return "\n".join(parts)


def describe_million(found: dict) -> str:
    limits = {name: f"{found[name]:,.1f} (limit {limit:,.0f})" for name, limit in LIMITS.items()}
    return (
        "## A million rows\n\n"
        f"`python -m benchmarks.scaling million` fits auto to {found['rows']:,} rows of S² with a "
        f"budget of {found['minutes']:g} minutes and {found['cores']} "
        f"{'core' if found['cores'] == 1 else 'cores'}, and scores as many other rows: "
        + ", ".join(f"{name} {text}" for name, text in limits.items())
        + f"; KL(p‖q) {metrics.Estimate(*found['excess'])}.\n"
    )


def publish(results: dict) -> None:
    """Write the page and its picture."""
    PAGE.write_text(page(results), encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder:
        save(draw(results), Path(folder) / "scaling.png")
        store_picture(Path(folder), "scaling")
