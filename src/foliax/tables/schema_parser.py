"""Parse schemas: from one line of text, or from a table of TOML or JSON, to factors."""

from __future__ import annotations

from typing import Any

from .errors import TableError
from .factor import ColumnRole, Factor, FactorError, make_factor
from .grammar import Argument, Call, error_at, parse_calls
from .kinds import KINDS


def parse_text(source: str) -> tuple[Factor, ...]:
    """Parse the one-line form."""
    return tuple(_make_factor(call, source) for call in parse_calls(source))


def _make_factor(call: Call, source: str) -> Factor:
    """Build the factor of a call; errors point at their place in the text."""
    name = call.name.text if call.name else None
    column_roles, options = [], {}
    for key, value in call.arguments:
        if key is None or _is_role(call.kind.text, key.text):
            column_roles.append((key.text if key else None, value.text))
        elif key.text in options:
            raise error_at(source, key.place, f"'{key.text}' is given twice.")
        else:
            options[key.text] = value.text
    try:
        return make_factor(name, call.kind.text, column_roles, options)
    except FactorError as error:
        raise error_at(source, _place(call, error.word), error.message) from None


def _is_role(kind: str, key: str) -> bool:
    return kind in KINDS and key in KINDS[kind].roles


def _place(call: Call, word: str) -> int:
    """Return the position of the argument with this key or column, or else of the kind."""

    def key_or_column(argument: Argument) -> str:
        return (argument.key or argument.value).text

    found = [a for a in call.arguments if word and key_or_column(a) == word]
    if not found:
        return call.kind.place
    return (found[-1].key or found[-1].value).place


def parse_table(name: str | None, table: Any) -> Factor:
    """Parse a TOML table or stored JSON of one factor: kind, columns, options (and name)."""
    fields = dict(table) if isinstance(table, dict) else {}
    name = name or fields.pop("name", None)
    at = f"Schema, factor '{name}'"
    kind, columns = fields.pop("kind", None), fields.pop("columns", None)
    if not isinstance(kind, str) or not isinstance(name, str):
        raise TableError(f"{at}: it needs a name and a kind, e.g. kind = 'sphere'.")
    if not columns:
        raise TableError(f"{at}: it needs columns, e.g. columns = ['depth'].")
    options = fields.pop("options", {})
    if not isinstance(options, dict):
        raise TableError(f"{at}: options must be a table of option = value, not '{options}'.")
    try:
        return make_factor(name, kind, _column_roles(columns), options | fields)
    except FactorError as error:
        raise TableError(f"{at}: {error.message}") from None


def _column_roles(columns: Any) -> list[ColumnRole]:
    """Read columns: one name, a list of names or of (role, name), or a table role = name."""
    if isinstance(columns, str):
        return [(None, columns)]
    pairs = list(columns.items()) if isinstance(columns, dict) else columns
    found = [(None, pair) if isinstance(pair, str) else pair for pair in _list(pairs)]
    if found and all(len(_list(pair)) == 2 and isinstance(pair[1], str) for pair in found):
        return [(role, column) for role, column in found]
    raise FactorError("columns must be one name, a list of names, or a table of role = name.")


def _list(pairs: Any) -> list | tuple:
    return pairs if isinstance(pairs, list | tuple) else []
