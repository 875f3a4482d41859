"""From what the user wrote, one line or a table of TOML or JSON, to factors."""

from __future__ import annotations

from typing import Any

from .errors import TableError
from .factor import Factor, Fault, make_factor
from .grammar import Argument, Call, calls, error_at
from .kinds import KINDS


def factors_of_text(source: str) -> tuple[Factor, ...]:
    """The factors of the one-line form."""
    return tuple(_factor_of(call, source) for call in calls(source))


def _factor_of(call: Call, source: str) -> Factor:
    """The factor of a call; faults point at their place in the text."""
    name = call.name.text if call.name else None
    written, options = [], {}
    for key, value in call.arguments:
        if key is None or _is_role(call.kind.text, key.text):
            written.append((key.text if key else None, value.text))
        elif key.text in options:
            raise error_at(source, key.place, f"'{key.text}' is given twice.")
        else:
            options[key.text] = value.text
    try:
        return make_factor(name, call.kind.text, written, options)
    except Fault as fault:
        raise error_at(source, _place(call, fault.word), fault.message) from None


def _is_role(kind: str, key: str) -> bool:
    return kind in KINDS and key in KINDS[kind].roles


def _place(call: Call, word: str) -> int:
    """Where to point: at the argument that has this key or is this column, or at the kind."""

    def known_by(argument: Argument) -> str:
        return (argument.key or argument.value).text

    found = [a for a in call.arguments if word and known_by(a) == word]
    if not found:
        return call.kind.place
    return (found[-1].key or found[-1].value).place


def factor_of_table(name: str | None, table: Any) -> Factor:
    """The factor of a TOML table or of stored JSON: kind, columns and options (and name)."""
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
        raise TableError(f"{at}: options are a table of option = value, not '{options}'.")
    try:
        return make_factor(name, kind, _written(columns), options | fields)
    except Fault as fault:
        raise TableError(f"{at}: {fault.message}") from None


def _written(columns: Any) -> list[tuple[str | None, str]]:
    """Columns as one name, a list of names or of (role, name), or a table role = name."""
    if isinstance(columns, str):
        return [(None, columns)]
    pairs = list(columns.items()) if isinstance(columns, dict) else columns
    found = [(None, pair) if isinstance(pair, str) else pair for pair in _list(pairs)]
    if found and all(len(_list(pair)) == 2 and isinstance(pair[1], str) for pair in found):
        return [(role, column) for role, column in found]
    raise Fault("columns are one name, a list of names, or a table of role = name.")


def _list(pairs: Any) -> list | tuple:
    return pairs if isinstance(pairs, list | tuple) else []
