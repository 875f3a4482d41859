"""A schema: what the columns of a table are, and the way to a manifold's points and back."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypedDict

import numpy as np
import pandas as pd
from jaxtyping import Float

from ..manifolds import AbstractManifold, Product
from ..manifolds.local import ResolutionError
from .clean import Prepared, prepare
from .columns import column, numbers
from .errors import TableError
from .factor import Factor
from .kinds import Measure
from .kinds.base import UNIFORM, times_uniform
from .periods import Turn
from .schema_parser import factor_of_table, factors_of_text

VERSION = 1


class Axes(TypedDict):
    """For each factor its axes' labels and units, as `plots.draw` takes them."""

    labels: list[list[str]]
    units: list[list[str | Turn]]


@dataclass(frozen=True)
class Schema:
    """The factors of a table's manifold, in order; columns that none of them names are ignored."""

    factors: tuple[Factor, ...]

    def __post_init__(self):
        if not self.factors:
            raise TableError("The schema has no factors. Add one, e.g. depth: positive(depth).")
        _once("factor", [factor.name for factor in self.factors])
        _once("column", self.columns)

    @classmethod
    def parse(cls, text: str) -> Schema:
        """From the one-line form, e.g. "where: sphere(lat=lat, lon=long); n: count(stations)"."""
        return cls(factors_of_text(text))

    @classmethod
    def from_dict(cls, tables: Mapping[str, Any]) -> Schema:
        """From a table for each factor, as TOML has them: kind, columns, and options beside."""
        return cls(tuple(factor_of_table(name, table) for name, table in tables.items()))

    @classmethod
    def load(cls, source: str | Path) -> Schema:
        """From a .toml or .json file, or, if it is neither, from the one-line form itself."""
        suffix = Path(source).suffix.lower() if len(str(source)) < 1000 else ""
        if suffix in (".yaml", ".yml"):
            raise TableError(f"{source}: schemas are TOML or JSON files, not YAML.")
        if suffix not in (".toml", ".json"):
            return cls.parse(str(source))
        try:
            content = Path(source).read_text(encoding="utf-8")
            tables = tomllib.loads(content) if suffix == ".toml" else json.loads(content)
        except FileNotFoundError:
            raise TableError(f"There is no schema file {source}.") from None
        except ValueError as error:
            raise TableError(f"{source} is not valid {suffix[1:].upper()}: {error}") from None
        if not isinstance(tables, dict):
            raise TableError(f"{source}: a schema file holds a table for each factor.")
        return cls._of_json(tables) if "factors" in tables else cls.from_dict(tables)

    @classmethod
    def from_json(cls, text: str) -> Schema:
        """From what `to_json` gave."""
        try:
            return cls._of_json(json.loads(text))
        except json.JSONDecodeError as error:
            raise TableError(f"The schema is not valid JSON: {error}") from None

    @classmethod
    def _of_json(cls, stored: Any) -> Schema:
        if not isinstance(stored, dict) or stored.get("version") != VERSION:
            raise TableError(
                f"The schema is not of version {VERSION}, the one this foliax reads. "
                "Use the foliax that wrote it, or a newer one."
            )
        return cls(tuple(factor_of_table(None, table) for table in stored.get("factors", [])))

    def to_json(self) -> str:
        """All of it, as JSON text; `from_json` gives back an equal schema."""
        factors = [factor.to_dict() for factor in self.factors]
        return json.dumps({"version": VERSION, "factors": factors}, ensure_ascii=False)

    def text(self) -> str:
        """The canonical one-line form, which parses back to an equal schema."""
        return "; ".join(factor.text() for factor in self.factors)

    def __str__(self) -> str:
        return self.text()

    @property
    def columns(self) -> tuple[str, ...]:
        """The user's columns, in the order of the output."""
        return tuple(column for factor in self.factors for column in factor.output)

    def manifold(self) -> AbstractManifold:
        """The product of the factors' manifolds, or the only one."""
        parts = [factor.kind.manifold() for factor in self.factors]
        return parts[0] if len(parts) == 1 else Product(*parts)

    def measure(self, *, uniform: bool = False) -> Measure:
        """What a density is per, in the user's units, and what to add to foliax's log density.

        `uniform`: in multiples of the uniform density for the factors of finite volume.
        """
        each = [_measure(factor, uniform) for factor in self.factors]
        # Multiples of several uniform densities are multiples of their product's.
        others = [m.label for m in each if m.label != UNIFORM]
        labels = others if len(others) == len(each) else [UNIFORM, *others]
        return Measure(" · ".join(labels), sum(m.log_unit for m in each))

    def axes(self) -> Axes:
        """The user's names and units for a picture: `plots.draw(density, rows, **axes(), …)`."""
        each = [factor.kind.axes(factor.name, factor.columns) for factor in self.factors]
        return {
            "labels": [[axis.label for axis in axes] for axes in each],
            "units": [[axis.unit for axis in axes] for axes in each],
        }

    @contextlib.contextmanager
    def naming_columns(self) -> Iterator[None]:
        """Within this, a refusal of a coordinate of the points names the columns it is made of."""
        try:
            yield
        except ResolutionError as error:
            ends = np.cumsum([factor.kind.manifold().size for factor in self.factors])
            factor = self.factors[int(np.searchsorted(ends, error.coordinate, side="right"))]
            columns = ", ".join(factor.columns)
            what = "Columns" if len(factor.columns) > 1 else "Column"
            raise TableError(f"{what} {columns}: {error.reason}") from error

    def only(self, frame: pd.DataFrame) -> pd.DataFrame:
        """The schema's columns of a table; an error where it lacks one."""
        return pd.DataFrame({name: column(frame, name) for name in self.columns})

    def settle(self, frame: pd.DataFrame) -> Schema:
        """The schema with the conventions that the data show, where it does not state them.

        Where a turn begins: longitudes past 180 then come back past 180.
        """
        kept = frame.iloc[prepare(self.factors, frame, drop_invalid=True, project=True).kept]
        return Schema(
            tuple(
                dataclasses.replace(f, kind=f.kind.settle(numbers(kept, f.columns).values))
                for f in self.factors
            )
        )

    def prepare(
        self, frame: pd.DataFrame, *, drop_invalid: bool = False, project: bool = False
    ) -> Prepared:
        """Points, which rows they are, and a report; invalid rows are an error by default.

        `project` moves invalid values to the nearest valid ones where there are such (normalises
        vectors, rounds counts, wraps angles); `drop_invalid` drops what is invalid then.
        """
        return prepare(self.factors, frame, drop_invalid=drop_invalid, project=project)

    def encode(self, frame: pd.DataFrame) -> Float[np.ndarray, "rows size"]:
        """The points of a table, of which every row must be valid."""
        return self.prepare(frame).points

    def decode(self, points: np.ndarray) -> pd.DataFrame:
        """A table, in the user's columns, units and conventions, of points."""
        points = np.asarray(points, np.float64)
        sizes = [factor.kind.manifold().size for factor in self.factors]
        if points.ndim != 2 or points.shape[1] != sum(sizes):
            raise TableError(
                f"Points of this schema are rows of {sum(sizes)} numbers, got {points.shape}."
            )
        if not np.isfinite(points).all():
            row = int(np.argmin(np.isfinite(points).all(axis=1)))
            raise TableError(f"Point {row + 1} is not finite: it is in no column's range.")
        columns: dict[str, np.ndarray] = {}
        parts = np.split(points, np.cumsum(sizes)[:-1], axis=1)
        for factor, part in zip(self.factors, parts, strict=True):
            values = factor.kind.decode(part)
            typed = values.astype(np.int64) if factor.kind.integral else values
            columns |= dict(zip(factor.columns, typed.T, strict=True))
        return pd.DataFrame({name: columns[name] for name in self.columns})


def _measure(factor: Factor, uniform: bool) -> Measure:
    relative = times_uniform(factor.kind.manifold())
    if uniform and np.isfinite(relative.log_unit):
        return relative
    return factor.kind.measure(factor.columns)


def _once(what: str, names: Sequence[str]) -> None:
    for name in names:
        if names.count(name) > 1:
            raise TableError(f"The schema has the {what} '{name}' twice. Each may appear once.")
