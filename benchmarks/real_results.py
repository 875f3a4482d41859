"""The scores of benchmarks.real: stored, shown, and written as a page."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table

from docs.build import DOCS

RESULTS = Path(__file__).parent / "results" / "real.json"
PAGE = DOCS / "real.md"
PROTOCOLS = ("deduplicated", "raw", "all rows")
SPLITS = 5
# What the sets are, in the order in which they are shown.
ABOUT = {
    "volcano": "eruptions, S²",
    "earthquake": "significant earthquakes, S²",
    "flood": "floods, S²",
    "fire": "active fires, S²",
    "rna T⁷": "torsion angles, T⁷",
    "rna T⁵": "torsion angles without ε and ζ, T⁵",
    "airports": "the world's airports, S²",
    "galaxies": "place, axis and length of galaxies, S² × S¹ × (0, ∞)",
    "flights": "clocks at departure and arrival, minutes in the air, T² × Z",
    "cities": "place and population of cities, S² × (0, ∞)",
    "weather": "date, temperatures and wind of days, S¹ × R² × (0, ∞)",
}
# Test scores of ../shared/data/README.md: measured there (kernels), or as printed in the papers.
PUBLISHED = {
    "earthquake": {"reference kernel": -0.14, "best published (raw rows)": -0.40},
    "flood": {"reference kernel": 0.44, "best published (raw rows)": 0.42},
    "fire": {"reference kernel": -3.58, "best published (raw rows)": -2.47},
    "rna T⁷": {"local kernel": -4.86, "best published": -5.27},
    "rna T⁵": {"local kernel": -1.04},
}
GAIN = "gain over the scale kernel, jittered"


def stored() -> dict:
    return json.loads(RESULTS.read_text()) if RESULTS.exists() else {}


def store(name: str, found: dict) -> None:
    results = {**stored(), name: found}
    RESULTS.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n")


def name_of(label: str, model: str, number: int, protocol: str) -> str:
    """Under which a result is stored."""
    plain = f"{label} | {model} | {number}"
    return plain if protocol == PROTOCOLS[0] else f"{plain} | {protocol}"


class Group(NamedTuple):
    """The stored splits of a set, a model and a protocol."""

    label: str
    model: str
    protocol: str
    splits: list[dict]

    def mean(self, score: str, deviation: bool = False) -> str:
        """A score's mean over the splits, and their standard deviation; a dash where one lacks."""
        found = [split.get(score) for split in self.splits]
        if None in found:
            return "–"
        spread = f" ± {np.std(found):.3f}" if deviation else ""
        return f"{np.mean(found):.3f}{spread}".replace("-", "−")

    def estimate(self, name: str, digits: int) -> str:
        """The mean of what has a standard error in some of the splits."""
        found = np.array([s[name] for s in self.splits if s.get(name)]).reshape(-1, 2)
        if not len(found):
            return "–"
        error = np.sqrt((found[:, 1] ** 2).sum()) / len(found)
        return f"{found[:, 0].mean():.{digits}f} ± {error:.{digits}f}".replace("-", "−")

    def longest(self, name: str) -> str:
        return f"{max(split[name] for split in self.splits):.0f} s"

    def known(self) -> str:
        """The score that ../shared/data/README.md gives for this model."""
        value = PUBLISHED.get(self.label, {}).get(self.model)
        return "" if value is None else f"{value:.2f}".replace("-", "−")

    def published(self) -> str:
        """The best published score, and of which rows."""
        known = PUBLISHED.get(self.label, {})
        found = [(name, value) for name, value in known.items() if name.startswith("best")]
        return "".join(
            f"{value:.2f}{name.removeprefix('best published')}".replace("-", "−")
            for name, value in found
        )

    def made_of(self) -> str:
        """The mean shares of auto's members, as its records tell them."""
        shares: dict[str, float] = {}
        for split in self.splits:
            whole = next((e for e in split["events"] if "of the whole" in e), "")
            for share, name in re.findall(r"([\d.]+) ([a-z ]+?)[,)]", whole):
                shares[name] = shares.get(name, 0.0) + float(share) / len(self.splits)
        texts = [f"{name} {share:.0%}" for name, share in shares.items()]
        return ", ".join(texts) or "local kernel 100%"


def groups(results: dict) -> list[Group]:
    """All that is stored, by set, protocol and model."""
    found: dict[tuple[str, str, str], list[dict]] = {}
    for name, split in results.items():
        label, model, _, *protocol = name.split(" | ")
        found.setdefault((label, model, *(protocol or PROTOCOLS[:1])), []).append(split)
    together = [Group(*key, splits) for key, splits in found.items()]
    return sorted(together, key=lambda g: (list(ABOUT).index(g.label), g.protocol, g.model))


SCORES = "nll jittered", "nll jittered by rows", "nll"


def show(results: dict) -> None:
    """Means ± standard deviations over splits; the mean mass with its standard error."""
    table = Table("set", "model", "rows", "splits", "test NLL", "jittered", "by rows")
    for column in ("mass", "fit and score", "known"):
        table.add_column(column)
    for group in groups(results):
        moved, by_rows, plain = SCORES
        table.add_row(
            *group[:3],
            str(len(group.splits)),
            group.mean(plain, deviation=True),
            group.mean(moved, deviation=True),
            group.mean(by_rows),
            group.estimate("mass", 4),
            group.longest("fit and score seconds"),
            group.known(),
        )
    Console(width=150).print(table)


def markdown(heads: list[str], lines: list[list[str]]) -> str:
    return "\n".join(f"| {' | '.join(line)} |" for line in [heads, ["---"] * len(heads), *lines])


PREAMBLE = """\
# Real data

Written by `python -m benchmarks.real` from [its results](../benchmarks/results/real.json): test
negative log-likelihood in nats, lower is better; mean ± standard deviation over five splits of
80/10/10. Rows that occur twice are counted once, and no test row occurs in training: else a spike
on it would win. For the same reason test rows are jittered, each value uniformly within the cell of
its last digit. The files have no trailing zeros, so that a value may look rounder than it was
recorded: in the column "by row" all values of a row have the cell of the finest of them. S² is
measured by area, tori in radians.

Published scores are of rows as recorded, copies included, where it says "raw rows"; those have no
lower bound, and do not compare directly with what stands beside them here.

## Auto and the kernel

`python -m benchmarks.real "scale kernel" auto --protocol "all rows"`. Both models get training and
validation rows; auto holds out a tenth of them itself, and has two minutes on one core. The gain
over the kernel is paired over the jittered test rows, with its standard error. Total mass is that
of split 0.
"""


def page(results: dict) -> str:
    """The page of the documentation, every number from the results."""
    everything = groups(results)
    autos = [g for g in everything if g.model == "auto" and g.protocol == "all rows"]
    kernels = {
        g.label: g for g in everything if g.model == "scale kernel" and g.protocol == "all rows"
    }
    heads = ["set", "rows", "scale kernel", "auto", "by row", "not jittered", "gain", "published"]
    heads += ["total mass", "longest fit"]
    lines = [
        [
            f"{g.label}: {ABOUT[g.label]}{splits_told(g)}",
            f"{g.splits[0]['rows'][0]:,}",
            kernels[g.label].mean(SCORES[0]),
            g.mean(SCORES[0], deviation=True),
            *(g.mean(score) for score in SCORES[1:]),
            g.estimate(GAIN, 3),
            g.published(),
            g.estimate("mass", 4),
            g.longest("fit seconds"),
        ]
        for g in autos
    ]
    made = [[g.label, g.made_of()] for g in autos]
    others = [
        [
            g.label,
            g.model + splits_told(g),
            g.mean(SCORES[0], deviation=True),
            g.mean(SCORES[2]),
            g.known(),
            g.longest("fit and score seconds"),
        ]
        for g in everything
        if g.protocol == "deduplicated"
    ]
    heads_of_others = ["set", "model", "jittered", "not jittered", "known", "longest fit and score"]
    return "\n".join(
        [
            PREAMBLE,
            markdown(heads, lines),
            "\nWhat auto made of it, by shares in the mixture, means over the splits:\n",
            markdown(["set", "members"], made),
            "\n## Each model by itself\n",
            "Fitted to training rows alone; validation rows find the weights of a stack.\n",
            markdown(heads_of_others, others),
            "",
        ]
    )


def splits_told(group: Group) -> str:
    """How many splits were run, if not all."""
    return "" if len(group.splits) == SPLITS else f" ({len(group.splits)} of {SPLITS} splits)"


def publish(results: dict) -> None:
    """Write the page."""
    PAGE.write_text(page(results), encoding="utf-8")
