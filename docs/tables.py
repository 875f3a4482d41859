"""Render the paper's tables from the stored trials in results/: `python -m docs.build tables`.

This writes docs/generated/tables.md and the summary in README.md, and copies the figures if
results/ has them. `foliax reproduce` runs the trials and draws the figures.
"""

from __future__ import annotations

from collections.abc import Sequence

from foliax.paper import tables
from foliax.paper.figures import PICTURES
from foliax.paper.published import PAPER
from foliax.paper.recipes import OWN, rows

from .build import GENERATED, README, ROOT, replace_section, store_picture

TRIALS = 10
PAGE = GENERATED / "tables.md"
TITLE = "# The paper's tables"
SECTION = "the paper's tables"
"""The marked part of README.md."""
TARGET_NAMES = {"table3": "T²: {}"}
"""How the summary names a table's densities; by their own name where a table is not listed."""
ESTIMATOR_NOTE = (
    "Most trials estimate KL(q‖p) from samples of q and uniform points. The trials of ODEs, and "
    "all but one of the paper's rows on SO(3), are older: they use samples of q alone, "
    "E_q[w − 1 − log w] with w = p/q. This has the same expectation and a larger Monte Carlo error."
)


def stored() -> list[tables.Line]:
    """Return the rows that have trials in results/."""
    return tables.lines(ROOT / "results", rows(), TRIALS)


def page(found: Sequence[tables.Line]) -> str:
    """Render docs/generated/tables.md."""
    return (
        f"{TITLE}\n\n`foliax reproduce` runs the trials and stores them in "
        "[results](../../results), one file for each table; `python -m docs.build tables` renders "
        "them. The tables include every trial of these settings. The last column names the limits "
        "that a row misses; [paper.md](../paper.md#what-the-tables-miss) lists what we tried.\n\n"
        f"{ESTIMATOR_NOTE}\n\n{tables.markdown(found)}\n## Figures\n\n"
        "`foliax reproduce figures` draws the targets and the first trials of our own rows.\n\n"
        + "\n\n".join(f"![{of.title}](images/paper-{name}.png)" for name, of in PICTURES.items())
        + "\n"
    )


def summary(found: Sequence[tables.Line]) -> str:
    """Render our own rows beside the paper's best, and count the rows that miss a limit."""
    head = ("target", "KL(q‖p)", "the paper's best", "ESS %", "parameters", "training", "trials")
    body = [summary_cells(line) for line in found if line.row.method == OWN]
    text = "\n".join(f"| {' | '.join(cells)} |" for cells in (head, ["---"] * len(head), *body))
    theirs = [line for line in found if line.paper]
    missed = [f"{line.row.density} {line.row.method}" for line in theirs if line.missed_limits()]
    others = f" The others are: {', '.join(missed)}." if missed else ""
    return (
        f"{text}\n\nWe ran {len(theirs)} of the paper's {len(PAPER)} rows, "
        f"{sum(len(line.trials) == TRIALS for line in theirs)} of them with all {TRIALS} trials; "
        f"{len(theirs) - len(missed)} rows are as good as the paper's in all columns.{others}"
    )


def summary_cells(line: tables.Line) -> list[str]:
    """Return the cells of a row of the summary."""
    row, kl, ess = line.row, line.mean("KL(q‖p)"), line.mean("ESS")
    same = (known for key, known in PAPER.items() if key[:2] == (row.table, row.density))
    best = min(same, key=lambda known: known.kl_qp.value)
    return [
        TARGET_NAMES.get(row.table, "{}").format(row.density),
        f"{kl.value:.5f} ± {kl.error:.5f}",
        f"{best.kl_qp.value:.4f}",
        f"{100 * ess.value:.2f}",
        f"{line.parameters:,} (the paper's: {best.parameters:,})",
        f"{line.seconds[0] / len(line.trials):.0f} s",
        str(len(line.trials)),
    ]


def publish(found: Sequence[tables.Line]) -> None:
    """Write the page and the README's summary, and copy the figures that are there."""
    PAGE.write_text(page(found), encoding="utf-8")
    replace_section(README, SECTION, summary(found))
    for name in PICTURES:
        store_picture(ROOT / "results/figures", name, f"paper-{name}")
