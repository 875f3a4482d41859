"""Ways of fitting one table, compared on the same held-out rows."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import PRNGKeyArray

from ..density import evaluate
from ..estimators import AbstractSpec, UnsupportedManifoldError
from ..estimators.auto import spec_of
from ..tables import Schema
from ..tables.kinds import Kind
from .metrics import Estimate, estimate

INDEPENDENT, UNIFORM = "independent columns", "uniform"


class Entry(NamedTuple):
    """A way of fitting: held-out log densities in the schema's measure, or why there are none."""

    name: str
    scores: np.ndarray | None
    weights: np.ndarray | None = None
    why: str = ""

    @property
    def mean(self) -> Estimate:
        """The mean held-out log density."""
        assert self.scores is not None
        return estimate(self.scores, self.weights)


class Split(NamedTuple):
    """Points to fit and points that only score, and their weights, if any."""

    train: np.ndarray
    weights: np.ndarray | None
    test: np.ndarray
    test_weights: np.ndarray | None


def contest(
    schema: Schema,
    split: Split,
    names: Sequence[str],
    *,
    columns: str = "auto",
    minutes: float = 2.0,
    steps: int | None = None,
    key: PRNGKeyArray,
    show: Callable[[str], None],
) -> list[Entry]:
    """Every way fitted on the same rows and scored on the others.

    `columns`: how independent columns are fitted.
    """
    log_unit = schema.measure().log_unit
    entries = []
    for name in names:
        show(name)
        spec = spec_of(columns if name in BASELINES else name, minutes=minutes, steps=steps)
        try:
            scores = BASELINES.get(name, joint)(schema, spec, split, key)
            entries.append(Entry(name, log_unit + scores, split.test_weights))
        except (UnsupportedManifoldError, ValueError, ArithmeticError, RuntimeError) as error:
            entries.append(Entry(name, None, why=str(error)))
    return entries


def joint(schema: Schema, spec: AbstractSpec, split: Split, key) -> np.ndarray:
    """Log densities of the whole rows."""
    return _scores(spec, schema.manifold(), split, key)


def independent(schema: Schema, spec: AbstractSpec, split: Split, key) -> np.ndarray:
    """Log densities of the product of separately fitted columns."""
    kinds = [kind for factor in schema.factors for kind in single(factor.kind)]
    if len(kinds) == 1:
        raise UnsupportedManifoldError("There is only one column, or they belong together.")
    ends = np.cumsum([kind.manifold().size for kind in kinds])[:-1]
    parts = zip(
        kinds, np.split(split.train, ends, axis=1), np.split(split.test, ends, axis=1), strict=True
    )
    each = [
        _scores(spec, kind.manifold(), split._replace(train=train, test=test), key)
        for kind, train, test in parts
    ]
    return np.sum(each, axis=0)


def uniform(schema: Schema, spec: AbstractSpec, split: Split, key) -> np.ndarray:
    """Log density of the uniform density, where there is one."""
    volume = schema.manifold().log_total_volume()
    if not np.isfinite(volume):
        raise UnsupportedManifoldError("The volume is infinite: there is no uniform density.")
    return np.full(len(split.test), -volume)


BASELINES = {INDEPENDENT: independent, UNIFORM: uniform}


def single(kind: Kind) -> list[Kind]:
    """A kind as single columns, where they are not tied to each other."""
    if kind.roles or kind.constrained or kind.width == 1:
        return [kind]
    return [dataclasses.replace(kind, width=1)] * kind.width


def _scores(spec: AbstractSpec, manifold, split: Split, key) -> np.ndarray:
    fitted = spec.fit(manifold, split.train, key=key, weights=split.weights)
    return evaluate(fitted.density, split.test, key=key).value.astype(float)


def lead(first: Entry, other: Entry) -> Estimate:
    """Mean paired difference of log densities, with its standard error."""
    assert first.scores is not None
    assert other.scores is not None
    return estimate(first.scores - other.scores, first.weights)
