"""What a kind of column is, and how its options are declared and read."""

from __future__ import annotations

import abc
import dataclasses
from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
from jaxtyping import Float

from ...manifolds import AbstractManifold
from ..periods import Turn

Values = Float[np.ndarray, "rows width"]
Points = Float[np.ndarray, "rows size"]


class Measure(NamedTuple):
    """What a density is per: `log_unit` is added to foliax's log density to express it so."""

    label: str
    log_unit: float


class Shown(NamedTuple):
    """An axis of a picture: its label, and its unit, a word or what repeats."""

    label: str
    unit: str | Turn = ""


class Check(NamedTuple):
    """One thing that can be wrong.

    `bad`: of shape (rows, width) where single values are wrong, (rows,) where whole rows are;
    `say`: the complaint about one such value, or about one such row.
    """

    bad: np.ndarray
    say: Callable[[Any], str]


class Suspicion(NamedTuple):
    """What the values of a factor suggest though each could be right, and what it would do."""

    message: str
    consequence: str


@dataclasses.dataclass(frozen=True, kw_only=True)
class Kind(abc.ABC):
    """How `width` columns are the points of one manifold: units, conventions, checks.

    Values are rows in the user's units, in the order of `roles` (or as written where there are no
    roles); points are the manifold's. Fields other than `width` are the kind's options.
    """

    width: int

    name: ClassVar[str]
    roles: ClassVar[tuple[str, ...]] = ()
    """What the columns are for; empty: any number of them, all alike."""
    by_name: ClassVar[bool] = False
    """Whether columns must be given as role=column, because their order would be a guess."""

    @property
    def integral(self) -> bool:
        """Whether values are whole numbers."""
        return False

    continuous: ClassVar[bool] = True
    """Whether equal values should be rare."""
    bound: ClassVar[bool] = False
    """Whether columns are tied to each other by a constraint, as a unit vector's are."""

    def widths(self) -> str | None:
        """How many columns are wanted, if not these."""
        if self.roles and self.width != len(self.roles):
            return f"{len(self.roles)} columns ({', '.join(self.roles)})"
        return None if self.width else "at least one column"

    @abc.abstractmethod
    def manifold(self) -> AbstractManifold:
        """Where the points are."""

    @abc.abstractmethod
    def checks(self, values: Values) -> Iterator[Check]:
        """What could be wrong with finite values."""

    @abc.abstractmethod
    def encode(self, values: Values) -> Points:
        """Points of values that pass the checks."""

    @abc.abstractmethod
    def decode(self, points: Points) -> Values:
        """Values, in the user's units and conventions, of points."""

    @abc.abstractmethod
    def measure(self, columns: Sequence[str]) -> Measure:
        """The measure in the user's units."""

    def axes(self, name: str, columns: Sequence[str]) -> tuple[Shown, ...]:
        """What the axes of a picture of the factor `name` say; by default, its columns."""
        return tuple(Shown(column) for column in columns)

    def mend(self, values: Values) -> Values:
        """The nearest valid values, where there is such a thing; otherwise the values."""
        return values

    def settle(self, values: Values) -> Kind:
        """The kind with what the values tell of the user's conventions, where it was not said."""
        return self

    def suspicions(self, values: Values) -> Iterator[Suspicion]:
        """What looks like a mistake in the declaration."""
        yield from ()

    def spread(self, values: Values) -> Values | None:
        """Where the range is unbounded: the coordinates on which an outlier is far away."""
        return None

    def options(self) -> dict[str, Any]:
        """The options that are set."""
        named = {f.name: getattr(self, f.name) for f in option_fields(type(self))}
        return {key: value for key, value in named.items() if value is not None}


Reader = Callable[[Any], Any]


def option(read: Reader, **default: Any) -> Any:
    """A field that is an option of the kind; `read` takes what the user wrote, or raises."""
    return dataclasses.field(metadata={"read": read}, **default)


def option_fields(kind: type[Kind]) -> list[dataclasses.Field]:
    """The options that a kind has."""
    return [field for field in dataclasses.fields(kind) if "read" in field.metadata]


def number(written: Any) -> float:
    """A finite number."""
    try:
        value = float(written)
    except (TypeError, ValueError):
        raise ValueError(f"must be a number, not '{written}'.") from None
    if not np.isfinite(value) or isinstance(written, bool):
        raise ValueError(f"must be a finite number, not '{written}'.")
    return value


def positive_number(written: Any) -> float:
    """A finite number above 0."""
    value = number(written)
    if value <= 0:
        raise ValueError(f"must be above 0, not '{written}'.")
    return value


def whole(written: Any) -> int:
    """A whole number above 0."""
    value = positive_number(written)
    if value != int(value):
        raise ValueError(f"must be a whole number, not '{written}'.")
    return int(value)


def flag(written: Any) -> bool:
    """True or false."""
    known = {"true": True, "false": False}
    if str(written).lower() not in known:
        raise ValueError(f"is true or false, not '{written}'.")
    return known[str(written).lower()]


def text(written: Any) -> str:
    """Any word."""
    if not isinstance(written, str | int) or isinstance(written, bool) or not str(written):
        raise ValueError(f"must be a word, not '{written}'.")
    return str(written)


def one_of(*choices: str) -> Reader:
    """One of these words."""

    def read(written: Any) -> str:
        if written not in choices:
            raise ValueError(f"is one of {', '.join(choices)}, not '{written}'.")
        return written

    return read


def power(unit: str, exponent: int) -> str:
    """A unit to a power, as people write it."""
    digits = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
    return f"per {unit}{str(exponent).translate(digits) if exponent > 1 else ''}"


UNIFORM = "× uniform"


def times_uniform(manifold: AbstractManifold) -> Measure:
    """Multiples of the uniform density, where the manifold's volume is finite."""
    return Measure(UNIFORM, manifold.log_total_volume())


def per_column(columns: Sequence[str], unit: str | None) -> str:
    """A label for columns measured in a unit of their own."""
    return " · ".join(f"per {unit or f'unit of {column}'}" for column in columns)


def measured(columns: Sequence[str], unit: str | Turn | None) -> tuple[Shown, ...]:
    """Axes of columns that are all in one unit."""
    return tuple(Shown(column, unit or "") for column in columns)
