"""The scores of benchmarks.real: stored, shown, and written as a page."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table

from docs.build import GENERATED, README, replace_section

RESULTS = Path(__file__).parent / "results" / "real.json"
PAGE = GENERATED / "real.md"
PROTOCOLS = ("deduplicated", "raw", "all rows")
SPLITS = 5
# What the sets are, in the order of the tables.
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
# Scores of similar kernels on the same files, from the README.md of the data.
KNOWN = {
    ("earthquake", "reference kernel"): -0.14,
    ("flood", "reference kernel"): 0.44,
    ("fire", "reference kernel"): -3.58,
    ("rna T⁷", "local kernel"): -4.86,
    ("rna T⁵", "local kernel"): -1.04,
}
# As listed there; that README gives the diffusion mixture's scores from memory.
PUBLISHED = {
    "earthquake": (-0.40, "Riemannian diffusion, raw rows"),
    "flood": (0.42, "Riemannian flow matching, raw rows"),
    "fire": (-2.47, "diffusion mixture, raw rows, from memory"),
    "rna T⁷": (-5.27, "diffusion mixture, from memory"),
}
GAIN = "gain over the scale kernel, jittered"


def stored() -> dict:
    return json.loads(RESULTS.read_text()) if RESULTS.exists() else {}


def store(name: str, found: dict) -> None:
    results = {**stored(), name: found}
    RESULTS.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n")


def name_of(label: str, model: str, number: int, protocol: str) -> str:
    """Return the name under which a result is stored."""
    plain = f"{label} | {model} | {number}"
    return plain if protocol == PROTOCOLS[0] else f"{plain} | {protocol}"


class Group(NamedTuple):
    """The stored splits of a set, a model and a protocol."""

    label: str
    model: str
    protocol: str
    splits: dict[int, dict]

    def mean(self, score: str, deviation: bool = False) -> str:
        """Format a score's mean (and standard deviation) over splits; a dash if one lacks it."""
        splits = self.splits.values()
        found = [split[score] for split in splits if split.get(score) is not None]
        if len(found) < len(splits):
            return "–"
        spread = f" ± {np.std(found):.3f}" if deviation else ""
        return f"{np.mean(found):.3f}{spread}".replace("-", "−")

    def estimate(self, name: str, digits: int) -> str:
        """Format the mean of an estimate over the splits that have it, with its standard error.

        The error is the larger of the combined one and the spread of the splits.
        """
        found = [split[name] for split in self.splits.values() if split.get(name)]
        if not found:
            return "–"
        values, errors = np.array(found).T
        error = np.sqrt((errors**2).sum()) / len(values)
        if len(values) > 1:
            error = max(error, np.std(values, ddof=1) / np.sqrt(len(values)))
        return f"{values.mean():.{digits}f} ± {error:.{digits}f}".replace("-", "−")

    def longest(self, name: str) -> str:
        return f"{max(split[name] for split in self.splits.values()):.0f} s"

    def known(self) -> str:
        """Format the score of a similar model on the same files."""
        value = KNOWN.get((self.label, self.model))
        return "" if value is None else f"{value:.2f}".replace("-", "−")

    def published(self) -> str:
        """Format the best published score and its method."""
        if self.label not in PUBLISHED:
            return ""
        value, whose = PUBLISHED[self.label]
        return f"{value:.2f} ({whose})".replace("-", "−")

    def title(self) -> str:
        return f"{self.label}: {ABOUT[self.label]}{self.splits_note()}"

    def splits_note(self) -> str:
        """Say how many splits were run, if not all."""
        return "" if len(self.splits) == SPLITS else f" ({len(self.splits)} of {SPLITS} splits)"

    def only(self, other: Group) -> Group:
        """Keep the splits that the other group also has."""
        return self._replace(splits={n: s for n, s in self.splits.items() if n in other.splits})

    def made_of(self) -> str:
        """Return the mean weights of auto's members, read from its recorded events."""
        shares: dict[str, float] = {}
        for split in self.splits.values():
            whole = next((e for e in split["events"] if "of the whole" in e), "")
            for share, name in re.findall(r"([\d.]+) ([a-z ]+?)[,)]", whole):
                shares[name] = shares.get(name, 0.0) + float(share) / len(self.splits)
        ordered = sorted(shares.items(), key=lambda pair: -pair[1])
        return ", ".join(f"{name} {share:.1%}" for name, share in ordered) or "–"


def groups(results: dict) -> list[Group]:
    """Group the stored results by set, protocol and model."""
    found: dict[tuple[str, str, str], dict[int, dict]] = {}
    for name, split in results.items():
        label, model, number, *protocol = name.split(" | ")
        group = label, model, protocol[0] if protocol else PROTOCOLS[0]
        found.setdefault(group, {})[int(number)] = split
    everything = [Group(*key, splits) for key, splits in found.items()]
    return sorted(everything, key=lambda g: (list(ABOUT).index(g.label), g.protocol, g.model))


SCORES = "nll jittered", "nll jittered by rows", "nll"


def show(results: dict) -> None:
    """Print means ± standard deviations over splits, and the mean mass with its error."""
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

`python -m benchmarks.real` writes this page from [its results](../../benchmarks/results/real.json).
Scores are test negative log-likelihoods in nats, mean ± standard deviation over five splits of
80/10/10; lower is better. Volcano has only 4 to 17 test rows in a split, so that only its paired
gain is informative.

Repeated rows count once, and no test row occurs in training, because a density with a spike on a
repeated row would win. For the same reason the test rows are jittered: each value moves uniformly
within the cell of its last digit. The first six files have no trailing zeros, so that a value can
look rounder than it was recorded. In the column "by row" all values of a row therefore use the cell
of its finest value. [own.py](../../benchmarks/own.py) states the cells of the other sets. Densities
are per area on S², per radian on tori, per unit of the file on reals and half-lines, and
probabilities for whole numbers.

Published scores marked "raw rows" are of rows as recorded, copies included. They have no lower
bound and do not compare directly with ours. Published models are fitted to 80 % of the rows and use
10 % to choose settings; in the first table our models get both parts.

## Auto and the kernel

`python -m benchmarks.real "scale kernel" auto --protocol "all rows"` makes this table. Both models
get training and validation rows. Auto holds out a tenth of them itself and has two minutes on one
core. It starts no candidate that would take longer, but it finishes a kernel that it has started.
The gain over the kernel is paired over the jittered test rows. Its standard error is the larger of
those over test rows and over splits. Total masses, which should be 1, are those of split 0.
"""


def page(results: dict) -> str:
    """Render docs/generated/real.md; every number comes from the results."""
    everything = groups(results)
    pairs = pairs_of_models(everything)
    heads = ["set", "rows", "scale kernel", "auto", "by row", "not jittered", "gain", "published"]
    heads += ["auto's mass", "the kernel's", "longest fit"]
    lines = [
        [
            g.title(),
            f"{min(g.splits.items())[1]['rows'][0]:,}",
            kernel.mean(SCORES[0]),
            g.mean(SCORES[0], deviation=True),
            *(g.mean(score) for score in SCORES[1:]),
            g.estimate(GAIN, 3),
            g.published(),
            g.estimate("mass", 4),
            kernel.estimate("mass", 4),
            g.longest("fit seconds"),
        ]
        for kernel, g in pairs
    ]
    made = [[g.label, g.made_of()] for _, g in pairs]
    others = [
        [
            g.label,
            g.model + g.splits_note(),
            g.mean(SCORES[0], deviation=True),
            g.mean(SCORES[2]),
            g.known(),
            g.estimate("mass", 4),
            g.longest("fit and score seconds"),
        ]
        for g in everything
        if g.protocol == "deduplicated"
    ]
    heads_of_others = ["set", "model", "jittered", "not jittered", "known", "total mass"]
    heads_of_others.append("longest fit and score")
    return "\n".join(
        [
            PREAMBLE,
            markdown(heads, lines),
            "\nThe members of auto's mixture, by mean weight over the splits:\n",
            markdown(["set", "members"], made),
            "\n## Single models\n",
            "These models are fitted to training rows; validation rows set the stacking weights.\n"
            "Known: the score of a similar kernel on the same files, not jittered.\n",
            markdown(heads_of_others, others),
            "",
        ]
    )


def pairs_of_models(everything: list[Group]) -> list[tuple[Group, Group]]:
    """Pair the kernel's and auto's splits on the sets where both had all rows."""
    kernels, autos = (
        {g.label: g for g in everything if g.model == model and g.protocol == "all rows"}
        for model in ("scale kernel", "auto")
    )
    return [(kernels[label].only(g), g) for label, g in autos.items() if label in kernels]


def summary(results: dict) -> str:
    """Render the README's table."""
    heads = ["set", "kernel", "auto", "gain, paired", "best published", "longest fit"]
    lines = [
        [
            g.title(),
            kernel.mean(SCORES[0]),
            g.mean(SCORES[0], deviation=True),
            g.estimate(GAIN, 3),
            g.published(),
            g.longest("fit seconds"),
        ]
        for kernel, g in pairs_of_models(groups(results))
    ]
    return markdown(heads, lines)


def publish(results: dict) -> None:
    """Write the page and the README's table."""
    PAGE.write_text(page(results), encoding="utf-8")
    replace_section(README, "real data", summary(results))
