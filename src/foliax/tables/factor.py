"""Factors of a schema: a name, a kind, and the user's columns."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .errors import suggest
from .grammar import quote
from .kinds import KINDS, RESERVED, Kind, option_fields

ColumnRole = tuple[str | None, str]
"""(role, column) as the user wrote it; the role is None if the order of columns decides."""


class FactorError(Exception):
    """What is wrong with a factor, and the word to point at ("" for the kind)."""

    def __init__(self, message: str, word: str = ""):
        self.message = message
        self.word = word


@dataclass(frozen=True)
class Factor:
    """One factor of a schema.

    Attributes:
        name: Name of the factor.
        kind: The kind of its columns, with options.
        column_roles: The columns with their roles, in the user's order, which the output keeps.
    """

    name: str
    kind: Kind
    column_roles: tuple[ColumnRole, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns in the order of the kind's roles."""
        by_role = dict(self.column_roles)
        if None in by_role:
            return self.output
        return tuple(by_role[role] for role in self.kind.roles)

    @property
    def output(self) -> tuple[str, ...]:
        """The columns in the user's order."""
        return tuple(column for _, column in self.column_roles)

    def text(self) -> str:
        """Return the canonical one-line form."""
        columns = [f"{role}={quote(c)}" if role else quote(c) for role, c in self.column_roles]
        defaults = {f.name: f.default for f in option_fields(type(self.kind))}
        options = [
            f"{key}={_value(value)}"
            for key, value in self.kind.options().items()
            if value != defaults[key]
        ]
        return f"{quote(self.name)}: {self.kind.name}({', '.join(columns + options)})"

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        named = [[role, column] if role else column for role, column in self.column_roles]
        fixed = {"name": self.name, "kind": self.kind.name, "columns": named}
        return fixed | {"options": self.kind.options()}


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return repr(value).removesuffix(".0")
    return quote(str(value))


def make_factor(
    name: str | None, kind: str, column_roles: Sequence[ColumnRole], options: Mapping[str, Any]
) -> Factor:
    """Build a factor from what the user wrote.

    Args:
        name: The factor's name; None for that of its first column.
        kind: The name of the kind.
        column_roles: The columns, with roles if written.
        options: The options as written.

    Returns:
        The factor.

    Raises:
        FactorError: The kind, a column, a role or an option is wrong.
    """
    if kind in RESERVED:
        raise FactorError(f"'{kind}': {RESERVED[kind]}")
    if kind not in KINDS:
        known = ", ".join(KINDS)
        raise FactorError(f"unknown kind '{kind}'.{suggest(kind, KINDS)} Kinds are {known}.")
    cls = KINDS[kind]
    _check_known(cls, options)
    _check_roles(cls, column_roles)
    read = _read_options(cls, options)
    try:
        built = cls(width=len(column_roles), **read)
    except ValueError as error:
        raise FactorError(f"'{kind}' {error}") from None
    expected = built.expected_columns()
    if expected:
        raise FactorError(f"'{kind}' takes {expected}; {len(column_roles)} given.")
    return Factor(name or column_roles[0][1], built, tuple(column_roles))


def _check_known(kind: type[Kind], options: Mapping[str, Any]) -> None:
    known = [*kind.roles, *(field.name for field in option_fields(kind))]
    has = f"It has {', '.join(known)}." if known else "It has none."
    for key in options:
        if key not in known:
            raise FactorError(
                f"'{kind.name}' has no option '{key}'.{suggest(key, known)} {has}", key
            )


def _check_roles(kind: type[Kind], column_roles: Sequence[ColumnRole]) -> None:
    roles = [role for role, _ in column_roles]
    example = ", ".join(f"{role}=…" for role in kind.roles)
    if kind.by_name and None in roles:
        column = next(column for role, column in column_roles if role is None)
        raise FactorError(
            f"'{kind.name}' takes its columns by name: {kind.name}({example}).", column
        )
    given = [role for role in roles if role is not None]
    if given and None in roles:
        raise FactorError(
            f"'{kind.name}': give all columns by name or all in order, not both.", given[0]
        )
    for role in given:
        if role not in kind.roles:
            raise FactorError(
                f"'{kind.name}' has no column '{role}'; it takes {example or 'a list'}.", role
            )
        if given.count(role) > 1:
            raise FactorError(f"'{role}' is given twice.", role)
    absent = [role for role in kind.roles if role not in given]
    if given and absent:
        raise FactorError(f"'{kind.name}' lacks {absent[0]}=…; it takes {example}.")


def _read_options(kind: type[Kind], options: Mapping[str, Any]) -> dict[str, Any]:
    fields = {field.name: field for field in option_fields(kind)}
    read = {}
    for key, raw in options.items():
        try:
            read[key] = fields[key].metadata["read"](raw)
        except ValueError as error:
            raise FactorError(f"{key} {error}", key) from None
    for key, field in fields.items():
        if field.default is dataclasses.MISSING and key not in read:
            raise FactorError(f"'{kind.name}' needs {key}=…, which is never guessed.")
    return read
