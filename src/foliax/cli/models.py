"""Model files with the schema of their table."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from foliax import store
from foliax.density import AbstractDensity
from foliax.record import Record
from foliax.specs import AbstractSpec, Fitted
from foliax.store import ModelFileError
from foliax.tables import Schema


class Loaded(NamedTuple):
    """A model of a table."""

    density: AbstractDensity
    schema: Schema
    record: Record | None
    extra: dict[str, Any]
    versions: dict[str, str]


def save(path: Path, fitted: Fitted, spec: AbstractSpec, schema: Schema, **about: Any) -> None:
    """The density, what made it, and the schema."""
    extra = {"schema": schema.to_json(), **about}
    store.save(path, fitted.density, spec=spec, record=fitted.record, extra=extra)


def load(path: Path) -> Loaded:
    """A model that `save` wrote."""
    if not path.is_file():
        raise ModelFileError(f"There is no model file {path}. Make one: foliax fit your.csv")
    saved = store.load(path)
    if not isinstance(saved.extra, dict) or "schema" not in saved.extra:
        raise ModelFileError(f"{path} has no schema: it was not written by foliax fit.")
    schema = Schema.from_json(saved.extra["schema"])
    return Loaded(saved.density, schema, saved.record, saved.extra, saved.versions)


def labels(schema: Schema) -> list[str] | None:
    """The factors' names, for the axes of a product's picture; None where there is one factor."""
    names = [factor.name for factor in schema.factors]
    return names if len(names) > 1 else None
