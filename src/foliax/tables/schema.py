"""Schemas: what the columns of a table are, and how they become points of a manifold."""

from __future__ import annotations

import collections
import contextlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypedDict

import numpy as np
import pandas as pd
from jaxtyping import Float

from ..manifolds import AbstractManifold, Product
from .columns import get_column
from .errors import TableError
from .factor import Factor
from .kinds import Measure
from .kinds.labels import UNIFORM, relative_to_uniform
from .periods import Turn
from .precision import name_columns_in_errors
from .prepare import PreparedTable, infer_and_prepare, infer_conventions, prepare
from .schema_parser import parse_json, parse_table, parse_text, read_schema_file

VERSION = 1
"""Version of the JSON form."""


class Axes(TypedDict):
    """Labels and units of each factor's axes, as `plots.draw` takes them."""

    labels: list[list[str]]
    units: list[list[str | Turn]]


@dataclass(frozen=True)
class Schema:
    """The factors of a table, in order. Columns that no factor names are ignored."""

    factors: tuple[Factor, ...]

    def __post_init__(self):
        if not self.factors:
            raise TableError("The schema has no factors. Add one, e.g. depth: positive(depth).")
        _check_unique("factor", [factor.name for factor in self.factors])
        _check_unique("column", self.columns)

    @classmethod
    def parse(cls, text: str) -> Schema:
        """Parse the one-line form.

        Args:
            text: For example "where: sphere(lat=lat, lon=long); n: count(stations)".

        Returns:
            The schema.

        Raises:
            TableError: The text is not a schema; the message points at the position.
        """
        return cls(parse_text(text))

    @classmethod
    def from_dict(cls, tables: Mapping[str, Any]) -> Schema:
        """Build a schema from nested tables, as TOML has them.

        Args:
            tables: For each factor, by name, a table with `kind`, `columns` and the options.

        Returns:
            The schema.

        Raises:
            TableError: A factor is wrong; the message names it.
        """
        return cls(tuple(parse_table(name, table) for name, table in tables.items()))

    @classmethod
    def load(cls, source: str | Path) -> Schema:
        """Load a schema.

        Args:
            source: A .toml or .json file. Any other text is the one-line form itself.

        Returns:
            The schema.

        Raises:
            TableError: The file is absent or not a schema.
        """
        suffix = Path(source).suffix.lower() if len(str(source)) < 1000 else ""
        if suffix in (".yaml", ".yml"):
            raise TableError(f"{source}: a schema is a TOML or JSON file, not YAML. Convert it.")
        if suffix not in (".toml", ".json"):
            return cls.parse(str(source))
        tables = read_schema_file(Path(source))
        return cls._of_json(tables) if "factors" in tables else cls.from_dict(tables)

    @classmethod
    def from_json(cls, text: str) -> Schema:
        """Read what `to_json` wrote."""
        return cls._of_json(parse_json("The schema", text))

    @classmethod
    def _of_json(cls, stored: Any) -> Schema:
        if not isinstance(stored, dict) or stored.get("version") != VERSION:
            raise TableError(
                f"The schema is not of version {VERSION}, which this foliax reads. "
                "Use the foliax that wrote it, or a newer one."
            )
        factors = stored.get("factors")
        if not isinstance(factors, list):
            raise TableError("The schema must hold a list of factors.")
        return cls(tuple(parse_table(None, table) for table in factors))

    def to_json(self) -> str:
        """Return JSON text; `from_json` reads it back to an equal schema."""
        factors = [factor.to_dict() for factor in self.factors]
        return json.dumps({"version": VERSION, "factors": factors}, ensure_ascii=False)

    def text(self) -> str:
        """Return the canonical one-line form; `parse` reads it back to an equal schema."""
        return "; ".join(factor.text() for factor in self.factors)

    def __str__(self) -> str:
        return self.text()

    @property
    def columns(self) -> tuple[str, ...]:
        """The user's columns, in the order of the output."""
        return tuple(column for factor in self.factors for column in factor.output)

    def manifold(self) -> AbstractManifold:
        """Return the product of the factors' manifolds; a single factor has no product."""
        parts = [factor.kind.manifold() for factor in self.factors]
        return parts[0] if len(parts) == 1 else Product(*parts)

    def measure(self, *, uniform: bool = False) -> Measure:
        """Return the unit of a density, and what to add to foliax's log density to get it.

        Args:
            uniform: Whether to use multiples of the uniform density for factors of finite volume.
                By default densities are per the user's units.

        Returns:
            The label and the log of the unit.
        """
        each = [_measure(factor, uniform) for factor in self.factors]
        # A product of multiples of uniform densities is a multiple of the product's.
        others = [m.label for m in each if m.label != UNIFORM]
        labels = others if len(others) == len(each) else [UNIFORM, *others]
        return Measure(" · ".join(labels), sum(m.log_unit for m in each))

    def axes(self) -> Axes:
        """Return labels and units for a plot: `plots.draw(density, rows, **axes(), …)`."""
        each = [factor.kind.axes(factor.name, factor.columns) for factor in self.factors]
        return {
            "labels": [[axis.label for axis in axes] for axes in each],
            "units": [[axis.unit for axis in axes] for axes in each],
        }

    def name_columns_in_errors(
        self, frame: pd.DataFrame | None = None, points: np.ndarray | None = None
    ) -> contextlib.AbstractContextManager[None]:
        """Convert errors of a fit about single precision to errors about rows and columns.

        Args:
            frame: The valid rows of the table, to name rows too.
            points: The same rows as points.

        Returns:
            A context. In it, a `ResolutionError` or an `OffManifoldError` becomes a `TableError`.
        """
        return name_columns_in_errors(self.factors, frame, points)

    def select_columns(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Return a table of the schema's columns only.

        Raises:
            TableError: The table lacks a column.
        """
        return pd.DataFrame({name: get_column(frame, name) for name in self.columns})

    def infer_conventions(self, frame: pd.DataFrame) -> Schema:
        """Infer conventions that the schema does not state, such as where a turn starts.

        Longitudes beyond 180 in the data are then also beyond 180 in samples.

        Args:
            frame: The table. Invalid rows do not count.

        Returns:
            The schema with these options set.

        Raises:
            TableError: The table lacks a column, or no row is valid.
        """
        return Schema(infer_conventions(self.factors, frame))

    def infer_and_prepare(
        self, frame: pd.DataFrame, *, drop_invalid: bool = False, project: bool = False
    ) -> tuple[Schema, PreparedTable]:
        """Infer conventions and prepare the table by them, reading its columns once.

        Args:
            frame: The table.
            drop_invalid: As for `prepare`.
            project: As for `prepare`.

        Returns:
            What `infer_conventions` returns, and what that schema's `prepare` returns.

        Raises:
            TableError: As for `infer_conventions` and `prepare`.
        """
        factors, prepared = infer_and_prepare(
            self.factors, frame, drop_invalid=drop_invalid, project=project
        )
        return Schema(factors), prepared

    def prepare(
        self, frame: pd.DataFrame, *, drop_invalid: bool = False, project: bool = False
    ) -> PreparedTable:
        """Convert a table to points.

        Args:
            frame: The table.
            drop_invalid: Whether to drop invalid rows. By default they are an error, so that no
                row is lost unnoticed.
            project: Whether to first move invalid values to the nearest valid ones: normalize
                vectors, round counts, wrap angles. By default values are not changed.

        Returns:
            The points, the positions of their rows, and a report.

        Raises:
            TableError: A row is invalid, or no row is valid; the message names the first one.
        """
        return prepare(self.factors, frame, drop_invalid=drop_invalid, project=project)

    def encode(self, frame: pd.DataFrame) -> Float[np.ndarray, "rows size"]:
        """Convert a table without invalid rows to points.

        Raises:
            TableError: A row is invalid.
        """
        return self.prepare(frame).points

    def decode(self, points: np.ndarray) -> pd.DataFrame:
        """Convert points to a table in the user's columns, units and conventions.

        Args:
            points: Points of the schema's manifold, of shape (rows, size).

        Returns:
            The table.

        Raises:
            TableError: The points have another size, or are not finite.
        """
        points = np.asarray(points, np.float64)
        sizes = [factor.kind.manifold().size for factor in self.factors]
        if points.ndim != 2 or points.shape[1] != sum(sizes):
            raise TableError(
                f"Points of this schema are rows of {sum(sizes)} numbers, got {points.shape}."
            )
        if not np.isfinite(points).all():
            row = int(np.argmin(np.isfinite(points).all(axis=1)))
            raise TableError(f"Point {row + 1} is not finite, so no column can hold it.")
        columns: dict[str, np.ndarray] = {}
        parts = np.split(points, np.cumsum(sizes)[:-1], axis=1)
        for factor, part in zip(self.factors, parts, strict=True):
            values = factor.kind.decode(part)
            typed = values.astype(np.int64) if factor.kind.integral else values
            columns |= dict(zip(factor.columns, typed.T, strict=True))
        return pd.DataFrame({name: columns[name] for name in self.columns})


def _measure(factor: Factor, uniform: bool) -> Measure:
    if uniform:
        relative = relative_to_uniform(factor.kind.manifold())
        if np.isfinite(relative.log_unit):
            return relative
    return factor.kind.measure(factor.columns)


def _check_unique(what: str, names: Sequence[str]) -> None:
    for name, times in collections.Counter(names).items():
        if times > 1:
            raise TableError(f"The schema has the {what} '{name}' twice. Each may appear once.")
