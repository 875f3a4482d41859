"""The interface of column kinds, and the decorator that registers them."""

from __future__ import annotations

import abc
import dataclasses
from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar, NamedTuple, TypeVar

import numpy as np
from jaxtyping import Float

from ...manifolds import AbstractManifold
from ..periods import Turn
from .options import option_fields

Values = Float[np.ndarray, "rows width"]
"""Rows in the user's units, one column for each role of the kind."""
Points = Float[np.ndarray, "rows size"]
"""Flat points of the kind's manifold."""


class Measure(NamedTuple):
    """The unit of a density; foliax's log density plus `log_unit` is the log density in it."""

    label: str
    log_unit: float


class AxisLabel(NamedTuple):
    """Label and unit of one axis of a plot; the unit is a word, or a `Turn` if values repeat."""

    label: str
    unit: str | Turn = ""


class Check(NamedTuple):
    """One way in which values can be invalid.

    Attributes:
        bad: Which are: shape (rows, width) for single values, (rows,) for whole rows.
        describe: Says what is wrong with one such value, or with one such row.
    """

    bad: np.ndarray
    describe: Callable[[Any], str]


class Suspicion(NamedTuple):
    """A sign that a column is declared wrongly although its values are valid, and the effect."""

    message: str
    consequence: str


@dataclasses.dataclass(frozen=True, kw_only=True)
class Kind(abc.ABC):
    """A map between `width` columns and the points of one manifold: units, conventions, checks.

    Values are rows in the user's units, in the order of `roles`, or of the schema if there are no
    roles. Fields other than `width` are the kind's options. `column_kind` registers a kind.
    """

    width: int

    name: ClassVar[str]
    """The word for the kind in schemas; `column_kind` sets it."""
    roles: ClassVar[tuple[str, ...]] = ()
    """Names of the columns' roles; empty if the kind takes any number of similar columns."""
    by_name: ClassVar[bool] = False
    """Whether columns must be written role=column, because their order would be a guess."""

    @property
    def integral(self) -> bool:
        """Whether values are whole numbers."""
        return False

    continuous: ClassVar[bool] = True
    """Whether equal values should be rare."""
    constrained: ClassVar[bool] = False
    """Whether columns depend on each other, as the components of a unit vector do."""

    def expected_columns(self) -> str | None:
        """Describe the columns that the kind needs; None if `width` is right."""
        if self.roles and self.width != len(self.roles):
            return f"{len(self.roles)} columns ({', '.join(self.roles)})"
        return None if self.width else "at least one column"

    @abc.abstractmethod
    def manifold(self) -> AbstractManifold:
        """Return the manifold of the points."""

    @abc.abstractmethod
    def checks(self, values: Values) -> Iterator[Check]:
        """Check finite values."""

    @abc.abstractmethod
    def encode(self, values: Values) -> Points:
        """Convert values that pass the checks to points."""

    @abc.abstractmethod
    def decode(self, points: Points) -> Values:
        """Convert points to values in the user's units and conventions."""

    @abc.abstractmethod
    def measure(self, columns: Sequence[str]) -> Measure:
        """Return the unit of a density over these columns."""

    def axes(self, name: str, columns: Sequence[str]) -> tuple[AxisLabel, ...]:
        """Label the axes of a plot of the factor `name`; by default with its columns."""
        return tuple(AxisLabel(column) for column in columns)

    def project(self, values: Values) -> Values:
        """Return the nearest valid values; values without one stay as they are."""
        return values

    def infer_conventions(self, values: Values) -> Kind:
        """Return the kind with conventions taken from the values where no option states them."""
        return self

    def suspicions(self, values: Values) -> Iterator[Suspicion]:
        """Look for signs that the column is declared wrongly."""
        yield from ()

    def outlier_coordinates(self, values: Values) -> Values | None:
        """Return coordinates in which outliers are far from the median; None if bounded."""
        return None

    def options(self) -> dict[str, Any]:
        """Return the options that are set."""
        named = {f.name: getattr(self, f.name) for f in option_fields(type(self))}
        return {key: value for key, value in named.items() if value is not None}


K = TypeVar("K", bound=type[Kind])

KINDS: dict[str, type[Kind]] = {}
"""All column kinds by name, in the order in which users see them."""

_orders: dict[str, int] = {}


def column_kind(name: str, *, order: int) -> Callable[[K], K]:
    """Register a column kind, so that schemas, error messages and the reference know it.

    Put it above `@dataclass`.

    Args:
        name: The word for the kind in schemas. Stored schemas contain it: never change it.
        order: Place in the list of kinds. Positions and angles have 10 to 30, vectors 40 and 50,
            rotations and frames 60 to 100, numbers 110 and above.

    Returns:
        A decorator that returns the class itself.

    Raises:
        ValueError: Another kind has this name.
    """

    def register(kind: K) -> K:
        if name in KINDS:
            raise ValueError(f"The column kind '{name}' is {KINDS[name]}: choose another name.")
        kind.name = name
        _orders[name] = order
        KINDS[name] = kind
        in_order = sorted(KINDS.items(), key=lambda item: _orders[item[0]])
        KINDS.clear()
        KINDS.update(in_order)
        return kind

    return register
