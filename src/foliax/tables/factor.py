"""A factor: a name, a kind, and the user's columns in it."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .errors import nearest
from .grammar import quoted
from .kinds import KINDS, RESERVED, Kind, option_fields

Written = tuple[tuple[str | None, str], ...]
"""Columns as the user wrote them: (role, column), the role None where it was left to the order."""


class Fault(Exception):
    """What is wrong with a factor, and which of its words to point at ("" for the kind)."""

    def __init__(self, message: str, word: str = ""):
        self.message = message
        self.word = word


@dataclass(frozen=True)
class Factor:
    """One factor of a schema; `written` keeps the user's order of columns for the output."""

    name: str
    kind: Kind
    written: Written

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns in the order in which the kind takes values."""
        by_role = dict(self.written)
        if None in by_role:
            return self.output
        return tuple(by_role[role] for role in self.kind.roles)

    @property
    def output(self) -> tuple[str, ...]:
        """The columns in the order in which the user wrote them."""
        return tuple(column for _, column in self.written)

    def text(self) -> str:
        """The canonical form."""
        columns = [f"{role}={quoted(c)}" if role else quoted(c) for role, c in self.written]
        defaults = {f.name: f.default for f in option_fields(type(self.kind))}
        options = [
            f"{key}={_value(value)}"
            for key, value in self.kind.options().items()
            if value != defaults[key]
        ]
        return f"{quoted(self.name)}: {self.kind.name}({', '.join(columns + options)})"

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        named = [[role, column] if role else column for role, column in self.written]
        fixed = {"name": self.name, "kind": self.kind.name, "columns": named}
        return fixed | {"options": self.kind.options()}


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return repr(value).removesuffix(".0")
    return quoted(str(value))


def make_factor(
    name: str | None, kind: str, written: Sequence[tuple[str | None, str]], options: Mapping
) -> Factor:
    """A checked factor, or a `Fault`."""
    if kind in RESERVED:
        raise Fault(f"'{kind}': {RESERVED[kind]}")
    if kind not in KINDS:
        known = ", ".join(KINDS)
        raise Fault(f"unknown kind '{kind}'.{nearest(kind, KINDS)} Kinds are {known}.")
    made = KINDS[kind]
    _check_known(made, options)
    _check_roles(made, written)
    read = _read_options(made, options)
    try:
        built = made(width=len(written), **read)
    except ValueError as error:
        raise Fault(f"'{kind}' {error}") from None
    wanted = built.widths()
    if wanted:
        raise Fault(f"'{kind}' takes {wanted}; {len(written)} given.")
    return Factor(name or written[0][1], built, tuple(written))


def _check_known(kind: type[Kind], options: Mapping[str, Any]) -> None:
    known = [*kind.roles, *(field.name for field in option_fields(kind))]
    has = f"It has {', '.join(known)}." if known else "It has none."
    for key in options:
        if key not in known:
            raise Fault(f"'{kind.name}' has no option '{key}'.{nearest(key, known)} {has}", key)


def _check_roles(kind: type[Kind], written: Sequence[tuple[str | None, str]]) -> None:
    roles = [role for role, _ in written]
    example = ", ".join(f"{role}=…" for role in kind.roles)
    if kind.by_name and None in roles:
        column = next(column for role, column in written if role is None)
        raise Fault(f"'{kind.name}' takes its columns by name: {kind.name}({example}).", column)
    given = [role for role in roles if role is not None]
    if given and None in roles:
        raise Fault(f"'{kind.name}': give all columns by name or all in order, not both.", given[0])
    for role in given:
        if role not in kind.roles:
            raise Fault(
                f"'{kind.name}' has no column '{role}'; it takes {example or 'a list'}.", role
            )
        if given.count(role) > 1:
            raise Fault(f"'{role}' is given twice.", role)
    absent = [role for role in kind.roles if role not in given]
    if given and absent:
        raise Fault(f"'{kind.name}' lacks {absent[0]}=…; it takes {example}.")


def _read_options(kind: type[Kind], options: Mapping[str, Any]) -> dict[str, Any]:
    fields = {field.name: field for field in option_fields(kind)}
    read = {}
    for key, written in options.items():
        try:
            read[key] = fields[key].metadata["read"](written)
        except ValueError as error:
            raise Fault(f"{key} {error}", key) from None
    for key, field in fields.items():
        if field.default is dataclasses.MISSING and key not in read:
            raise Fault(f"'{kind.name}' needs {key}=…, which is never guessed.")
    return read
