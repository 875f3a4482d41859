"""`report`: the HTML page."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib.resources import files

import jax
import numpy as np
from jaxtyping import PRNGKeyArray

from ..escaping import escape_html
from ..evaluation.comparison import INDEPENDENT, paired_difference
from ..io.model_file import Model
from ..io.training_data import TrainingData
from ..tables import Schema
from . import markup as m
from . import sections, views
from .assess import FIGURE_SAMPLES, Assessment


def report(
    model: Model,
    found: Assessment | None,
    *,
    title: str,
    path: str,
    key: PRNGKeyArray,
    show: Callable[[str], None] = lambda text: None,
) -> str:
    """Write the report on a model as one HTML page that loads nothing from the network.

    Args:
        model: the model, with its schema.
        found: what `assess` returned for the model.
        title: title of the page.
        path: path of the model file, for the examples that load it.
        key: key of samples, and of log densities that are estimated by sampling.
        show: called with the name of each step, for a progress display.

    Returns:
        The page.

    Raises:
        ValueError: the model has no schema.
    """
    schema = model.schema
    if schema is None:
        raise ValueError(
            "A report needs the schema of the table, but the model has none: fit it with a schema."
        )
    parts = [
        _header(model, schema, found, title),
        sections.data(model, schema),
        _figures(model, schema, found, key, show),
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
        f"<title>{escape_html(title)} · foliax</title><style>\n{style}</style></head>\n"
        f"<body><main>\n{''.join(parts)}</main></body></html>\n"
    )


def _header(model: Model, schema: Schema, found: Assessment | None, title: str) -> str:
    names = {"data": "Data", "pictures": "Pictures", "fit": "Fit", "held-out": "Held-out rows"}
    if found is not None:
        names |= {"good": "Is the fit good?", "extremes": "Most and least likely"}
    names["load"] = "Use the model"
    links = "".join(f'<a href="#{name}">{text}</a>' for name, text in names.items())
    cards = "".join(
        f'<div class="card {kind}"><b>{escape_html(value)}</b>'
        f"<span>{escape_html(what)}</span></div>"
        for value, what, kind in _cards(model, schema, found)
    )
    verdict = m.bullet_list(_verdict(model.training_data, found), "verdict")
    return (
        f"<header><h1>{escape_html(title)}</h1>"
        f"{m.paragraph(f'Density {schema.measure().label}.', 'faint')}</header>"
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
        good = found.coverage.is_consistent
        verdict = "no misfit found" if good else "misfit found"
        yield verdict, f"coverage, p = {found.coverage.p_value:.2g}", "good" if good else "bad"


def _verdict(evidence: TrainingData | None, found: Assessment | None) -> Iterator[str]:
    if found is None:
        yield "No rows were held out, so this report cannot say how good the fit is."
    else:
        first, *others = found.entries
        for other in others:
            if other.scores is not None:
                yield _compare(paired_difference(first, other), other.name, len(found.scores))
        yield _describe_coverage(found)
    errors = [] if evidence is None else [f for f in evidence.findings if f.severity == "error"]
    if errors:
        count = "1 error" if len(errors) == 1 else f"{len(errors)} errors"
        yield f"The audit found {count} in the data: see below."


def _compare(by, name: str, n: int) -> str:
    if by.value == by.error == 0:
        return f"The model and the {name} agree on every one of the {n:,} held-out rows."
    standard_errors = abs(by.value) / by.error if by.error > 0 else 0.0
    is_tie = standard_errors < 2
    verb = "scores the same as" if is_tie else "beats" if by.value > 0 else "scores below"
    return (
        f"The model {verb} {'the ' if name != INDEPENDENT else ''}{name}"
        f"{' density' if name == 'uniform' else ''} on {n:,} held-out rows: "
        f"{by.value:+.3f} ± {by.error:.3f} nats per row ({standard_errors:.1f} standard errors)."
    )


def _describe_coverage(found: Assessment) -> str:
    inside = found.coverage.inside(np.array([0.5, 0.9]))
    n = found.coverage.effective_rows
    return (
        f"{inside[0]:.0%} of the held-out rows lie in the region that should hold 50 % of them, "
        f"and {inside[1]:.0%} in the region that should hold 90 %. The standard errors are "
        f"{np.sqrt(0.25 / n):.0%} and {np.sqrt(0.09 / n):.0%}."
    )


def _figures(
    model: Model, schema: Schema, found: Assessment | None, key: PRNGKeyArray, show
) -> str:
    rows = None if model.training_data is None else model.training_data.train.points(schema)
    keys = jax.random.split(key, 3)
    if found is None:
        show("samples")
        own = model.density.sample(FIGURE_SAMPLES, key=keys[2])
    else:
        own = found.samples
    interactive, static = [], []
    for part in views.parts(model.density, schema, own, rows, keys[0]):
        show(f"drawing {part.name}")
        interactive.append(views.interactive_figure(part, keys[1]))
        static.append(views.static_figure(part, keys[1]))
    show("drawing pairs")
    return m.section(
        "pictures",
        "The density and the data",
        *filter(None, interactive),
        f'<div class="views">{"".join(static)}</div>',
        views.pair_figure(schema, own, rows, keys[1]),
    )


def _footer(model: Model) -> str:
    versions = ", ".join(f"{name} {version}" for name, version in model.versions.items())
    seed = f"Seed {model.about['seed']}; " if "seed" in model.about else ""
    return f"<footer>{m.paragraph(f'{seed}written by {versions}.', 'faint')}</footer>\n"
