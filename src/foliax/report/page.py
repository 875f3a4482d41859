"""`report`: the page."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib.resources import files

import jax
import numpy as np
from jaxtyping import PRNGKeyArray

from ..evaluation.comparison import INDEPENDENT, paired_difference
from ..io.model_file import Model
from ..io.training_data import TrainingData
from ..tables import Schema
from . import markup as m
from . import sections, views
from .assess import Assessment

PICTURED = 6000
"""Samples that the pictures are drawn from."""


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
        sections.data(model, schema),
        _pictures(model, schema, key, show),
        sections.fit(model),
        sections.held_out(model, schema, found),
        sections.coverage(found),
        sections.extremes(model, schema, found),
        sections.loading(path),
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
    verdict = m.listed(_verdict(model.training_data, found), "verdict")
    return (
        f"<header><h1>{m.words(title)}</h1>"
        f"{m.paragraph(f'A density {schema.measure().label}.', 'faint')}</header>"
        f'<nav>{links}</nav><div class="cards">{cards}</div>{verdict}'
    )


def _cards(
    model: Model, schema: Schema, found: Assessment | None
) -> Iterator[tuple[str, str, str]]:
    if model.training_data is not None:
        yield f"{model.training_data.train.total:,}", "rows fitted", ""
    yield str(model.density.manifold.dim), "dimensions", ""
    if found is not None:
        mean = found.entries[0].mean
        yield f"{mean.value:.3f} ± {mean.error:.3f}", "held-out log density (nats per row)", ""
        good = found.coverage.right
        words = "no misfit seen" if good else "misfit seen"
        yield words, f"coverage, p = {found.coverage.p_value:.2g}", "good" if good else "bad"


def _verdict(evidence: TrainingData | None, found: Assessment | None) -> Iterator[str]:
    if found is None:
        yield "No rows were held out, so nothing here says how good the fit is."
    else:
        first, *others = found.entries
        for other in others:
            if other.scores is not None:
                yield _compared(paired_difference(first, other), other.name, len(found.scores))
        yield _covered(found)
    grave = [] if evidence is None else [f for f in evidence.findings if f.severity == "error"]
    if grave:
        yield f"The audit found {len(grave)} grave problem(s) in the data: see below."


def _compared(by, name: str, n: int) -> str:
    if by.value == by.error == 0:
        return f"It gives each of {n:,} held-out rows the density that the {name} gives."
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


def _pictures(model: Model, schema: Schema, key: PRNGKeyArray, show) -> str:
    rows = None if model.training_data is None else model.training_data.train.points(schema)
    keys = jax.random.split(key, 3)
    show("samples")
    drawn = model.density.sample(PICTURED, key=keys[2])
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


def _footer(model: Model) -> str:
    versions = ", ".join(f"{name} {version}" for name, version in model.versions.items())
    seed = f"Seed {model.about['seed']}; " if "seed" in model.extra else ""
    return f"<footer>{m.paragraph(f'{seed}written by {versions}.', 'faint')}</footer>\n"
