"""`report`: the page."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator
from importlib.resources import files
from typing import Any

import jax
import numpy as np
import pandas as pd
from jaxtyping import PRNGKeyArray

from ..contest import INDEPENDENT, lead
from ..evidence import Evidence, Rows
from ..metrics import samples
from ..models import Model
from ..tables import Schema
from . import figures, views
from . import markup as m
from .assess import Assessment

LISTED = 8
DRAWS = 6000
DOUBTFUL = 0.01
"""The p-value below which the coverage is called off."""


def report(
    model: Model,
    found: Assessment | None,
    *,
    title: str,
    path: str,
    key: PRNGKeyArray,
    show: Callable[[str], None] = lambda text: None,
) -> str:
    """The whole page as HTML that needs no network; `found`: what `assess` gave for the model.

    `path`: where the model file is, for the lines that load it.
    """
    schema = model.schema
    if schema is None:
        raise ValueError("A report needs the schema of the table, and the model has none.")
    parts = [
        _header(model, schema, found, title),
        _data(model, schema),
        _pictures(model, schema, key, show),
        _fit(model),
        _held_out(model, schema, found),
        _coverage(found),
        _extremes(model, schema, found),
        _loading(path),
        _footer(model),
    ]
    style = files("foliax.report").joinpath("page.css").read_text(encoding="utf-8")
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<link rel="icon" href="data:,">'
        f"<title>{m.words(title)} · foliax</title><style>\n{style}</style></head>\n"
        f"<body><main>\n{''.join(parts)}</main></body></html>\n"
    )


def _header(model: Model, schema: Schema, found: Assessment | None, title: str) -> str:
    names = {"data": "Data", "pictures": "Pictures", "fit": "Fit", "held-out": "Held-out rows"}
    if found is not None:
        names |= {"good": "Is it good?", "extremes": "Most and least likely"}
    names["load"] = "Use it"
    links = "".join(f'<a href="#{name}">{text}</a>' for name, text in names.items())
    cards = "".join(
        f'<div class="card {kind}"><b>{m.words(value)}</b><span>{m.words(what)}</span></div>'
        for value, what, kind in _cards(model, schema, found)
    )
    verdict = m.listed(_verdict(model.evidence, found), "verdict")
    return (
        f"<header><h1>{m.words(title)}</h1>"
        f"{m.paragraph(f'A density {schema.measure().label}.', 'faint')}</header>"
        f'<nav>{links}</nav><div class="cards">{cards}</div>{verdict}'
    )


def _cards(
    model: Model, schema: Schema, found: Assessment | None
) -> Iterator[tuple[str, str, str]]:
    if model.evidence is not None:
        yield f"{model.evidence.train.of:,}", "rows fitted", ""
    yield str(model.density.manifold.dim), "dimensions", ""
    if found is not None:
        mean = found.entries[0].mean
        yield f"{mean.value:.3f} ± {mean.error:.3f}", "held-out log density (nats per row)", ""
        good = found.coverage.p_value >= DOUBTFUL
        words = "no misfit seen" if good else "misfit seen"
        yield words, f"coverage, p = {found.coverage.p_value:.2g}", "good" if good else "bad"


def _verdict(evidence: Evidence | None, found: Assessment | None) -> Iterator[str]:
    if found is None:
        yield "No rows were held out, so nothing here says how good the fit is."
    else:
        first, *others = found.entries
        for other in others:
            if other.scores is not None:
                yield _compared(lead(first, other), other.name, len(found.scores))
        yield _covered(found)
    grave = [] if evidence is None else [f for f in evidence.findings if f.severity == "error"]
    if grave:
        yield f"The audit found {len(grave)} grave problem(s) in the data: see below."


def _compared(by, name: str, n: int) -> str:
    times = abs(by.value) / by.error if by.error > 0 else 0.0
    how = "is level with" if times < 2 else "beats" if by.value > 0 else "is behind"
    return (
        f"It {how} {'the ' if name != INDEPENDENT else ''}{name}"
        f"{' density' if name == 'uniform' else ''} on {n:,} held-out rows: "
        f"{by.value:+.3f} ± {by.error:.3f} nats per row ({times:.1f} standard errors)."
    )


def _covered(found: Assessment) -> str:
    inside = found.coverage.inside(np.array([0.5, 0.9]))
    n = found.coverage.worth
    return (
        f"{inside[0]:.0%} of the held-out rows lie in the region that should hold 50 % of them, "
        f"{inside[1]:.0%} in that of 90 % (± {np.sqrt(0.25 / n):.0%} and "
        f"± {np.sqrt(0.09 / n):.0%} is one standard error)."
    )


def _data(model: Model, schema: Schema) -> str:
    evidence = model.evidence
    lines = [m.paragraph("What the columns are:"), m.code(schema.text().replace("; ", ";\n"))]
    if evidence is None:
        return m.section("data", "The data", *lines, m.paragraph("No rows came with the model."))
    counted = f"{evidence.train.of:,} rows were fitted, {evidence.test.of:,} held out at random"
    source = model.about.get("data")
    lines.insert(0, m.paragraph(f"{counted}{f', of {source}' if source else ''}."))
    kept = len(evidence.train.frame) + len(evidence.test.frame)
    if kept < evidence.train.of + evidence.test.of:
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


def _columns(evidence: Evidence, schema: Schema) -> pd.DataFrame:
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


def _points(rows: Rows, schema: Schema) -> np.ndarray:
    return schema.prepare(rows.frame, project=True).points


def _pictures(model: Model, schema: Schema, key: PRNGKeyArray, show) -> str:
    rows = None if model.evidence is None else _points(model.evidence.train, schema)
    keys = jax.random.split(key, 3)
    show("samples")
    drawn = samples(model.density, DRAWS, key=keys[2])
    parts = views.parts(model.density, schema, drawn, rows, keys[0])
    turning, still = [], []
    for part in parts:
        show(f"drawing {part.name}")
        turning.append(views.turning(part, keys[1]))
        still.append(views.still(part, keys[1]))
    show("drawing pairs")
    return m.section(
        "pictures",
        "The density and the data",
        *filter(None, turning),
        f'<div class="views">{"".join(still)}</div>',
        views.pairs(schema, drawn, rows, keys[1]),
    )


def _fit(model: Model) -> str:
    record, about = model.record, model.about
    if record is None:
        return m.section("fit", "The fit", m.paragraph("How it was fitted is not recorded."))
    asked = f"Asked for: {about['model']}. " if "model" in about else ""
    size = f"{record.parameters:,} parameters; " if record.parameters else ""
    lines = [m.paragraph(f"{asked}{size}{record.seconds:.1f} s.")]
    if record.events:
        lines += [m.paragraph("What was tried, and what came of it:"), m.listed(record.events)]
    if len(record.history) > 1:
        caption = "Training and held-out loss of the flow; its best held-out state is what counts."
        lines.append(m.picture(figures.training(record.history), caption))
    return m.section("fit", "The fit", *lines)


def _held_out(model: Model, schema: Schema, found: Assessment | None) -> str:
    title = "Held-out rows: this model and simpler ones"
    if found is None:
        why = "No rows were held out: fit with --held-out 0.1, on 200 rows or more, to have some."
        return m.section("held-out", title, m.paragraph(why))
    first = found.entries[0]
    rows = []
    for entry in found.entries:
        if entry.scores is None:
            rows.append([entry.name, "–", entry.why])
            continue
        by = lead(first, entry)
        behind = "" if entry is first else f"{by.value:+.3f} ± {by.error:.3f}"
        mean = entry.mean
        rows.append([entry.name, f"{mean.value:.3f} ± {mean.error:.3f}", behind])
    assert model.evidence is not None
    train = model.evidence.train
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
    if len(train.frame) < train.of:
        yield m.paragraph(
            f"The simpler models were fitted to the {len(train.frame):,} of {train.of:,} rows that "
            "the model file keeps, so they are at a disadvantage; foliax compare uses all.",
            "faint",
        )


def _coverage(found: Assessment | None) -> str:
    if found is None:
        return ""
    level = np.array([0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99])
    low, high = found.coverage.band(level)
    inside = found.coverage.inside(level)
    rows = [
        [f"{p:.0%}", f"{s:.1%}", f"{a:.1%} to {b:.1%}", "" if a <= s <= b else "outside"]
        for p, s, a, b in zip(level, inside, low, high, strict=True)
    ]
    right = found.coverage.p_value >= DOUBTFUL
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


def _extremes(model: Model, schema: Schema, found: Assessment | None) -> str:
    if found is None or model.evidence is None:
        return ""
    table = model.evidence.test.frame.reset_index(drop=True)
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


def _loading(path: str) -> str:
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


def _footer(model: Model) -> str:
    versions = ", ".join(f"{name} {version}" for name, version in model.versions.items())
    seed = f"Seed {model.about['seed']}; " if "seed" in model.about else ""
    return f"<footer>{m.paragraph(f'{seed}written by {versions}.', 'faint')}</footer>\n"
