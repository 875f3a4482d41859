"""The sections of the page that are text and tables."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from ..escaping import escape_html
from ..evaluation.comparison import paired_difference
from ..evaluation.mass import describe_mass
from ..io.model_file import Model
from ..io.training_data import Rows, TrainingData
from ..tables import Schema
from . import figures
from . import markup as m
from .assess import Assessment

MAX_EXTREME_ROWS = 8
"""Rows in each table of extremes: as many as fit on a screen."""


def data(model: Model, schema: Schema) -> str:
    """The data that were fitted, and what the audit found in them."""
    evidence = model.training_data
    lines = [m.paragraph("The schema of the table:"), m.code(schema.text().replace("; ", ";\n"))]
    if evidence is None:
        return m.section("data", "The data", *lines, m.paragraph("The model file holds no rows."))
    fitted, held_out = evidence.train.total, evidence.test.total
    counts = f"{fitted:,} rows were fitted; {held_out:,} were held out at random."
    source = f" The table is {model.about['data']}." if model.about.get("data") else ""
    lines.insert(0, m.paragraph(counts + source))
    kept = len(evidence.train.frame) + len(evidence.test.frame)
    if kept < evidence.train.total + evidence.test.total:
        lines.append(
            m.paragraph(f"The table describes the {kept:,} rows that the model file keeps.")
        )
    lines.append(m.frame_table(_describe_columns(evidence, schema)))
    if not evidence.findings:
        lines.append(m.paragraph("The audit found no problems."))
    for finding in evidence.findings:
        columns = f"{', '.join(finding.columns)}: " if finding.columns else ""
        lines.append(
            f'<div class="finding {escape_html(finding.severity)}">'
            f"<b>{escape_html(f'{finding.severity}: {columns}{finding.message}.')}</b><br>"
            f"{escape_html(finding.consequence)}</div>"
        )
    return m.section("data", "The data", *lines)


def _describe_columns(evidence: TrainingData, schema: Schema) -> pd.DataFrame:
    """Kind and range of every column."""
    both: Any = pd.concat([evidence.train.frame, evidence.test.frame])
    kinds = {column: f.kind.name for f in schema.factors for column in f.columns}
    values = [np.asarray(both[column], float) for column in schema.columns]
    return pd.DataFrame(
        {
            "column": list(schema.columns),
            "kind": [kinds[column] for column in schema.columns],
            "minimum": [float(v.min()) for v in values],
            "median": [float(np.median(v)) for v in values],
            "maximum": [float(v.max()) for v in values],
            "distinct values": [len(np.unique(v)) for v in values],
        }
    )


def fit(model: Model) -> str:
    """The candidates that were tried, and the training curve."""
    record, about = model.record, model.about
    if record is None:
        return m.section(
            "fit",
            "The fit",
            m.paragraph("The model file does not record how the model was fitted."),
        )
    requested = f"Requested model: {about['model']}. " if "model" in about else ""
    size = f"Parameters: {record.parameters:,}. " if record.parameters else ""
    lines = [m.paragraph(f"{requested}{size}Fitting time: {record.seconds:.1f} s.")]
    if record.mass is not None:
        lines.append(m.paragraph(describe_mass(record)))
    if record.events:
        lines += [m.paragraph("Steps of the fit and their results:"), m.bullet_list(record.events)]
    if len(record.history) > 1:
        caption = "Loss of the flow. The fit keeps the state with the best held-out loss."
        lines.append(m.picture(figures.draw_training(record.history), caption))
    return m.section("fit", "The fit", *lines)


def held_out(model: Model, schema: Schema, found: Assessment | None) -> str:
    """Scores of the model and of simpler ones on held-out rows."""
    title = "Held-out rows: this model and simpler ones"
    if found is None:
        reason = (
            "No rows were held out. To hold some out, fit at least 200 rows with --held-out 0.1."
        )
        if model.training_data is None:
            reason = "The model file holds no rows. To hold some out, fit without --no-rows."
        return m.section("held-out", title, m.paragraph(reason))
    first = found.entries[0]
    rows = []
    for entry in found.entries:
        if entry.scores is None:
            rows.append([entry.name, "–", entry.why])
            continue
        by = paired_difference(first, entry)
        difference = "" if entry is first else f"{by.value:+.3f} ± {by.error:.3f}"
        mean = entry.mean
        rows.append([entry.name, f"{mean.value:.3f} ± {mean.error:.3f}", difference])
    assert model.training_data is not None
    train = model.training_data.train
    caption = (
        "Score of each model minus that of this model, with 95 % intervals of the paired rows."
    )
    return m.section(
        "held-out",
        title,
        m.paragraph(
            f"The table shows the mean log density of {len(found.scores):,} rows that no model was "
            f"fitted to, {schema.measure().label}. Higher is better. The largest numerical error "
            f"of this model's log densities is {found.errors.max():.2g}."
        ),
        m.table(["model", "nats per row", "this model minus that one"], rows),
        m.picture(figures.draw_comparison(found.entries), caption),
        *_note_subsample(train),
    )


def _note_subsample(train: Rows) -> Iterator[str]:
    if len(train.frame) < train.total:
        yield m.paragraph(
            f"The model file keeps {len(train.frame):,} of the {train.total:,} fitted rows. The "
            "simpler models were fitted to these rows only, which is a disadvantage. "
            "foliax compare uses all rows.",
            "faint",
        )


def coverage(found: Assessment | None) -> str:
    """The share of held-out rows in highest-density regions."""
    if found is None:
        return ""
    level = np.array([0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99])
    low, high = found.coverage.band(level)
    inside = found.coverage.inside(level)
    rows = [
        [f"{p:.0%}", f"{s:.1%}", f"{a:.1%} to {b:.1%}", "" if a <= s <= b else "outside"]
        for p, s, a, b in zip(level, inside, low, high, strict=True)
    ]
    consistent = found.coverage.is_consistent
    verdict = "The test finds no misfit" if consistent else "The test finds a misfit"
    return m.section(
        "good",
        "Is the fit good?",
        m.paragraph(
            "A highest-density region that holds a share p of the model's mass should hold about "
            "the same share of held-out rows. If it holds fewer, the model is overconfident or "
            "puts mass in the wrong places. If it holds more, the model is too broad."
        ),
        m.picture(
            figures.draw_coverage(found.coverage),
            "Share of held-out rows inside highest-density regions of the model.",
        ),
        m.table(["mass of the region", "rows inside", "expected (95 %)", ""], rows),
        m.paragraph(
            f"{verdict}: p = {found.coverage.p_value:.2g}. The Kolmogorov–Smirnov test compares "
            "the log densities of held-out rows with those of the model's samples."
        ),
    )


def extremes(model: Model, schema: Schema, found: Assessment | None) -> str:
    """Tables of the least and the most likely held-out rows."""
    if found is None or model.training_data is None:
        return ""
    table = model.training_data.test.frame.reset_index(drop=True)
    lower = [f"{1 - rank:.1%}" for rank in found.coverage.ranks]
    own = {
        "log density": found.scores,
        "error": found.errors,
        "samples with a lower density": lower,
    }
    # The user's columns may have the same names, so join by position.
    table = pd.concat([table, pd.DataFrame(own)], axis=1)
    order = np.argsort(-found.scores)
    least = table.iloc[order[::-1][:MAX_EXTREME_ROWS]]
    return m.section(
        "extremes",
        "Most and least likely rows",
        m.paragraph(
            f"Log densities are {schema.measure().label}. These held-out rows have the lowest "
            "density. Check them for errors in the data:"
        ),
        m.frame_table(least),
        m.paragraph("These held-out rows have the highest density:"),
        m.frame_table(table.iloc[order[:MAX_EXTREME_ROWS]]),
    )


def loading(path: str) -> str:
    """Commands and code that use the model file."""
    file = shlex.quote(path)
    return m.section(
        "load",
        "Use the model",
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
