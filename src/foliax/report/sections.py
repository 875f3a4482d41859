"""The page's sections that are words and tables."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from ..evaluation.comparison import paired_difference
from ..io.model_file import Model
from ..io.training_data import Rows, TrainingData
from ..tables import Schema
from . import figures
from . import markup as m
from .assess import Assessment

LISTED = 8


def data(model: Model, schema: Schema) -> str:
    """What was fitted, and what the audit says of it."""
    evidence = model.training_data
    lines = [m.paragraph("What the columns are:"), m.code(schema.text().replace("; ", ";\n"))]
    if evidence is None:
        return m.section("data", "The data", *lines, m.paragraph("No rows came with the model."))
    counted = (
        f"{evidence.train.total:,} rows were fitted, {evidence.test.total:,} held out at random"
    )
    source = model.about.get("data")
    lines.insert(0, m.paragraph(f"{counted}{f', of {source}' if source else ''}."))
    kept = len(evidence.train.frame) + len(evidence.test.frame)
    if kept < evidence.train.total + evidence.test.total:
        lines.append(m.paragraph(f"Of the {kept:,} rows that the model file keeps:"))
    lines.append(m.table_of(_columns(evidence, schema)))
    if not evidence.findings:
        lines.append(m.paragraph("The audit found nothing that would harm a density estimate."))
    for finding in evidence.findings:
        where = f"{', '.join(finding.columns)}: " if finding.columns else ""
        lines.append(
            f'<div class="finding {m.words(finding.severity)}">'
            f"<b>{m.words(f'{finding.severity}: {where}{finding.message}.')}</b><br>"
            f"{m.words(finding.consequence)}</div>"
        )
    return m.section("data", "The data", *lines)


def _columns(evidence: TrainingData, schema: Schema) -> pd.DataFrame:
    """Every column's range."""
    both: Any = pd.concat([evidence.train.frame, evidence.test.frame])
    kinds = {column: f.kind.name for f in schema.factors for column in f.columns}
    values = [np.asarray(both[column], float) for column in schema.columns]
    return pd.DataFrame(
        {
            "column": list(schema.columns),
            "kind": [kinds[column] for column in schema.columns],
            "least": [float(v.min()) for v in values],
            "median": [float(np.median(v)) for v in values],
            "largest": [float(v.max()) for v in values],
            "distinct": [len(np.unique(v)) for v in values],
        }
    )


def fit(model: Model) -> str:
    """What was tried, and how the training went."""
    record, about = model.record, model.about
    if record is None:
        return m.section("fit", "The fit", m.paragraph("How it was fitted is not recorded."))
    asked = f"Asked for: {about['model']}. " if "model" in about else ""
    size = f"{record.parameters:,} parameters; " if record.parameters else ""
    lines = [m.paragraph(f"{asked}{size}{record.seconds:.1f} s.")]
    if record.mass is not None:
        lines.append(
            m.paragraph("Total mass: {:.4f} ± {:.4f}; it should be 1.".format(*record.mass))
        )
    if record.events:
        lines += [m.paragraph("What was tried, and what came of it:"), m.listed(record.events)]
    if len(record.history) > 1:
        caption = "Training and held-out loss of the flow; its best held-out state is what counts."
        lines.append(m.picture(figures.training(record.history), caption))
    return m.section("fit", "The fit", *lines)


def held_out(model: Model, schema: Schema, found: Assessment | None) -> str:
    """The model beside simpler ones, on rows that none has seen."""
    title = "Held-out rows: this model and simpler ones"
    if found is None:
        why = "No rows were held out: fit with --held-out 0.1, on 200 rows or more, to have some."
        if model.training_data is None:
            why = "The model file keeps no rows: fit without --no-rows to have some held out."
        return m.section("held-out", title, m.paragraph(why))
    first = found.entries[0]
    rows = []
    for entry in found.entries:
        if entry.scores is None:
            rows.append([entry.name, "–", entry.why])
            continue
        by = paired_difference(first, entry)
        behind = "" if entry is first else f"{by.value:+.3f} ± {by.error:.3f}"
        mean = entry.mean
        rows.append([entry.name, f"{mean.value:.3f} ± {mean.error:.3f}", behind])
    assert model.training_data is not None
    train = model.training_data.train
    caption = "Behind this model, by how much, with 95 % intervals (paired, row by row)."
    return m.section(
        "held-out",
        title,
        m.paragraph(
            f"Mean log density of {len(found.scores):,} rows that no model has seen, "
            f"{schema.measure().label}; higher is better. The largest numerical error of one of "
            f"this model's log densities is {found.errors.max():.2g}."
        ),
        m.table(["model", "nats per row", "lead of this model"], rows),
        m.picture(figures.contenders(found.entries), caption),
        *_fewer(train),
    )


def _fewer(train: Rows) -> Iterator[str]:
    if len(train.frame) < train.total:
        yield m.paragraph(
            f"The simpler models were fitted to the {len(train.frame):,} of {train.total:,} rows "
            "that the model file keeps, so they are at a disadvantage; foliax compare uses all.",
            "faint",
        )


def coverage(found: Assessment | None) -> str:
    """Held-out rows in regions of highest density."""
    if found is None:
        return ""
    level = np.array([0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99])
    low, high = found.coverage.band(level)
    inside = found.coverage.inside(level)
    rows = [
        [f"{p:.0%}", f"{s:.1%}", f"{a:.1%} to {b:.1%}", "" if a <= s <= b else "outside"]
        for p, s, a, b in zip(level, inside, low, high, strict=True)
    ]
    right = found.coverage.right
    verdict = "It shows no misfit" if right else "The fit is off"
    return m.section(
        "good",
        "Is the fit good?",
        m.paragraph(
            "The region of highest density that holds a share p of the model should hold about a "
            "share p of rows it has not seen. Fewer inside: the model is too sure of itself, or "
            "puts its mass in the wrong places. More inside: it is too spread out."
        ),
        m.picture(figures.coverage(found.coverage), "Held-out rows in highest-density regions."),
        m.table(["region of", "rows inside", "expected by chance (95 %)", ""], rows),
        m.paragraph(
            f"{verdict}: Kolmogorov and Smirnov's test of the held-out log densities against those "
            f"of the model's own samples has p = {found.coverage.p_value:.2g}."
        ),
    )


def extremes(model: Model, schema: Schema, found: Assessment | None) -> str:
    """The least and the most likely of the held-out rows."""
    if found is None or model.training_data is None:
        return ""
    table = model.training_data.test.frame.reset_index(drop=True)
    less = [f"{1 - rank:.1%}" for rank in found.coverage.ranks]
    own = {"log density": found.scores, "error": found.errors, "samples less likely": less}
    # The user's columns may have these names too.
    table = pd.concat([table, pd.DataFrame(own)], axis=1)
    order = np.argsort(-found.scores)
    least = table.iloc[order[::-1][:LISTED]]
    return m.section(
        "extremes",
        "Most and least likely rows",
        m.paragraph(
            f"Log densities are {schema.measure().label}. Of the held-out rows, the least likely; "
            "look at them for mistakes:"
        ),
        m.table_of(least),
        m.paragraph("And the most likely:"),
        m.table_of(table.iloc[order[:LISTED]]),
    )


def loading(path: str) -> str:
    """How to go on with the model file."""
    file = shlex.quote(path)
    return m.section(
        "load",
        "Use it",
        m.paragraph("On the command line:"),
        m.code(
            f"foliax score {file} new.csv -o scored.csv\n"
            f"foliax sample {file} -n 1000 -o samples.csv\n"
            f"foliax plot {file} new.csv -o picture.png"
        ),
        m.paragraph("In Python:"),
        m.code(
            "import foliax, pandas as pd\n\n"
            f"estimator = foliax.DensityEstimator.load({path!r})\n"
            "new = pd.read_csv('new.csv')\n"
            "log_density, error = estimator.log_prob(new, return_std=True)\n"
            "samples = estimator.sample(1000)"
        ),
    )
