"""The paper's tables from the stored trials: `python -m docs.tables` writes docs/tables.md and the
summary in README.md from results/, and takes the figures from there, if they are there.
`foliax reproduce` runs the trials and draws the figures."""

from __future__ import annotations

from collections.abc import Sequence

from foliax.paper import tables
from foliax.paper.figures import PICTURES
from foliax.paper.published import PAPER
from foliax.paper.recipes import OWN, rows

from .build import DOCS, README, ROOT, fill, picture

TRIALS = 10
PAGE = DOCS / "tables.md"
TITLE = "# The paper's tables"
NAME = "the paper's tables"
WHERE = {"table3": "T²: {}"}
OLDER = (
    "The trials of ODEs and, but for one, of the paper's rows on SO(3), are older than uniform "
    "points in KL(q‖p): theirs is E_q[w − 1 − log w], w = p/q, by samples of q alone, which is "
    "the same number with a larger Monte Carlo error."
)


def stored() -> list[tables.Line]:
    """The rows with trials in results/."""
    return tables.lines(ROOT / "results", rows(), TRIALS)


def page(found: Sequence[tables.Line]) -> str:
    """docs/tables.md."""
    return (
        f"{TITLE}\n\nMade by `foliax reproduce`, one file for each table in [results](../results); "
        "`python -m docs.tables` renders them. No trial of these settings is left out. What a row "
        "misses stands in its last column; what was tried is [told beside the mapping]"
        f"(paper.md#what-the-tables-miss).\n\n{OLDER}\n\n{tables.markdown(found)}\n## Figures\n\n"
        "`foliax reproduce figures`: targets, and the first trials of our own rows.\n\n"
        + "\n\n".join(f"![{of.words}](images/paper-{name}.png)" for name, of in PICTURES.items())
        + "\n"
    )


def summary(found: Sequence[tables.Line]) -> str:
    """Our own rows beside the paper's best of the same density, and how many rows miss anything."""
    head = ("target", "KL(q‖p)", "the paper's best", "ESS %", "parameters", "training", "trials")
    body = [summary_of(line) for line in found if line.row.method == OWN]
    text = "\n".join(f"| {' | '.join(cells)} |" for cells in (head, ["---"] * len(head), *body))
    theirs = [line for line in found if line.paper]
    missed = [f"{line.row.density} {line.row.method}" for line in theirs if line.missed()]
    told = f" Not: {', '.join(missed)}." if missed else ""
    return (
        f"{text}\n\nOf the paper's own {len(PAPER)} rows {len(theirs)} were run, "
        f"{sum(len(line.trials) == TRIALS for line in theirs)} with all {TRIALS} trials; "
        f"{len(theirs) - len(missed)} are as good as the paper's in all columns.{told}"
    )


def summary_of(line: tables.Line) -> list[str]:
    """A line of the summary."""
    row, kl, ess = line.row, line.over("KL(q‖p)"), line.over("ESS")
    same = (known for key, known in PAPER.items() if key[:2] == (row.table, row.density))
    best = min(same, key=lambda known: known.kl_qp.value)
    return [
        WHERE.get(row.table, "{}").format(row.density),
        f"{kl.value:.5f} ± {kl.error:.5f}",
        f"{best.kl_qp.value:.4f}",
        f"{100 * ess.value:.2f}",
        f"{line.parameters:,} (the paper's: {best.parameters:,})",
        f"{line.seconds[0] / len(line.trials):.0f} s",
        str(len(line.trials)),
    ]


if __name__ == "__main__":
    every = stored()
    PAGE.write_text(page(every), encoding="utf-8")
    fill(README, NAME, summary(every))
    for name in PICTURES:
        picture(ROOT / "results/figures", name, f"paper-{name}")
