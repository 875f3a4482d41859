"""Ways of fitting one table, compared on the same held-out rows."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import NamedTuple

import jax
import numpy as np

from foliax.auto import fit_watched, spec_of
from foliax.marginal import evaluate
from foliax.metrics import Estimate, estimate
from foliax.specs import AbstractSpec, Fitted, UnsupportedManifoldError, hold_out
from foliax.tables import Schema
from foliax.tables.kinds import Kind

from .console import Stage

INDEPENDENT, UNIFORM = "independent columns", "uniform"


class Entry(NamedTuple):
    """A way of fitting: held-out log densities in the schema's measure, or why there are none."""

    name: str
    scores: np.ndarray | None
    why: str = ""


def contest(
    schema: Schema,
    points: np.ndarray,
    weights: np.ndarray | None,
    names: Sequence[str],
    *,
    held_out: float,
    minutes: float,
    steps: int | None,
    seed: int,
    show: Callable[[str], None],
) -> list[Entry]:
    """Every way fitted on the same rows and scored on the others."""
    key = jax.random.key(seed)
    train, train_weights, test, _ = hold_out(points, weights, held_out, key)
    log_unit = schema.measure().log_unit
    entries = []
    for name in names:
        show(name)
        spec = spec_of("auto" if name in BASELINES else name, minutes=minutes, steps=steps)
        try:
            how = BASELINES.get(name, joint)
            entries.append(
                Entry(name, log_unit + how(schema, spec, train, train_weights, test, key))
            )
        except (UnsupportedManifoldError, ValueError, ArithmeticError, RuntimeError) as error:
            entries.append(Entry(name, None, str(error)))
    return entries


def joint(schema: Schema, spec: AbstractSpec, train, weights, test, key) -> np.ndarray:
    """Log densities of the whole rows."""
    return _scores(spec, schema.manifold(), train, weights, test, key)


def independent(schema: Schema, spec: AbstractSpec, train, weights, test, key) -> np.ndarray:
    """Log densities of the product of separately fitted columns."""
    kinds = [kind for factor in schema.factors for kind in single(factor.kind)]
    if len(kinds) == 1:
        raise UnsupportedManifoldError("There is only one column, or they belong together.")
    ends = np.cumsum([kind.manifold().size for kind in kinds])[:-1]
    parts = zip(kinds, np.split(train, ends, axis=1), np.split(test, ends, axis=1), strict=True)
    return np.sum(
        [_scores(spec, kind.manifold(), a, weights, b, key) for kind, a, b in parts], axis=0
    )


def uniform(schema: Schema, spec: AbstractSpec, train, weights, test, key) -> np.ndarray:
    """Log density of the uniform density, where there is one."""
    volume = schema.manifold().log_total_volume()
    if not np.isfinite(volume):
        raise UnsupportedManifoldError("The volume is infinite: there is no uniform density.")
    return np.full(len(test), -volume)


BASELINES = {INDEPENDENT: independent, UNIFORM: uniform}


def single(kind: Kind) -> list[Kind]:
    """A kind as single columns, where they are not tied to each other."""
    if kind.roles or kind.bound or kind.width == 1:
        return [kind]
    return [dataclasses.replace(kind, width=1)] * kind.width


def _scores(spec: AbstractSpec, manifold, train, weights, test, key) -> np.ndarray:
    return scored(spec.fit(manifold, train, key=key, weights=weights), test, key)


def fitted(spec: AbstractSpec, schema: Schema, train, key, stage: Stage) -> Fitted:
    """The joint density, with progress."""
    watch = {"on_candidate": stage.candidate, "on_block": stage.block}
    return fit_watched(spec, schema.manifold(), train, key=key, **watch)


def scored(fitted: Fitted, test, key) -> np.ndarray:
    """Log densities of rows, in the manifold's own measure."""
    return evaluate(fitted.density, test, key=key).value.astype(float)


def lead(first: Entry, other: Entry) -> Estimate:
    """Mean paired difference of log densities, with its standard error."""
    assert first.scores is not None
    assert other.scores is not None
    return estimate(first.scores - other.scores)
