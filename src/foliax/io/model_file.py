"""Model files with the schema of their table, and what a report needs of it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, NamedTuple

from .. import io
from ..density import AbstractDensity
from ..estimators import AbstractEstimator
from ..tables import Schema
from ..training import Record
from .container import ModelFileError
from .training_data import Evidence


class Model(NamedTuple):
    """A density and where it comes from.

    `schema`: of the table, where there was one. `about`: plain values, such as the seed.
    """

    density: AbstractDensity
    spec: AbstractEstimator | None
    schema: Schema | None
    record: Record | None
    evidence: Evidence | None
    about: dict[str, Any]
    versions: dict[str, str]


def save(
    path: str | os.PathLike[str],
    density: AbstractDensity,
    *,
    spec: AbstractEstimator | None = None,
    schema: Schema | None = None,
    record: Record | None = None,
    evidence: Evidence | None = None,
    **about: Any,
) -> None:
    """Write a model file."""
    extra = {
        "schema": None if schema is None else schema.to_json(),
        "evidence": None if evidence is None else evidence.to_json(),
        "about": about,
    }
    io.save(path, density, spec=spec, record=record, extra=extra)


def load(path: str | os.PathLike[str], *, manifold: Any = None) -> Model:
    """A model that `save` wrote; `manifold` as `io.load` wants it."""
    if not Path(path).is_file():
        raise ModelFileError(f"There is no model file {path}. Make one: foliax fit your.csv")
    saved = io.load(path, manifold=manifold)
    if not isinstance(saved.extra, dict) or not saved.extra.keys() >= {"schema", "evidence"}:
        raise ModelFileError(
            f"{path} says nothing of a table: it was written by foliax.io.save, or by an older "
            "foliax. Load the density alone by foliax.io.load."
        )
    schema, evidence = saved.extra["schema"], saved.extra["evidence"]
    try:
        return Model(
            saved.density,
            saved.spec,
            None if schema is None else Schema.from_json(schema),
            saved.record,
            None if evidence is None else Evidence.from_json(evidence),
            dict(saved.extra["about"]),
            saved.versions,
        )
    except (KeyError, TypeError, ValueError) as error:
        raise ModelFileError(f"{path}: what it says of its table is amiss: {error}") from error


def load_with_schema(path: str | os.PathLike[str]) -> tuple[Model, Schema]:
    """A model of a table's columns."""
    model = load(path)
    if model.schema is None:
        raise ModelFileError(f"{path} has no schema: it was fitted to points, not to columns.")
    return model, model.schema
