"""Parse schemas: from one line of text, or from a table of TOML or JSON, to factors."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .errors import TableError, describe_os_error, one_line
from .factor import ColumnRole, Factor, FactorError, make_factor
from .grammar import Argument, Call, error_at, parse_calls
from .kinds import KINDS

_LONG_KEY = re.compile(r"""(?<![\w-])(?:(?:[\w-]+|"[^"\n]*"|'[^'\n]*')[ \t]*\.[ \t]*){100}""")
"""A key of more than a hundred parts, such as a.b.c; a schema has two."""


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
    if any(column == "" for _, column in column_roles):
        raise error_at(source, call.kind.place, "a column has no name. Name it in the table.")
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


def read_schema_file(path: Path) -> dict[str, Any]:
    """Read the tables of a .toml or .json file.

    Args:
        path: The file; its ending is the format.

    Returns:
        What the file holds, not yet checked.

    Raises:
        TableError: The file is absent, or is not a table in its format.
    """
    try:
        content = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise TableError(f"There is no schema file {path}.") from None
    except UnicodeDecodeError:
        raise TableError(f"{path} is not a text file in UTF-8. Save it as UTF-8.") from None
    except OSError as error:
        raise TableError(f"{path} cannot be read: {describe_os_error(error)}.") from None
    if path.suffix.lower() == ".toml":
        tables = _parse_with(_parse_toml, str(path), "TOML", content)
    else:
        tables = parse_json(str(path), content)
    if not isinstance(tables, dict):
        raise TableError(f"{path}: a schema file must hold a table for each factor.")
    return tables


def _parse_toml(text: str) -> dict[str, Any]:
    if _LONG_KEY.search(text):  # tomllib takes minutes for it
        raise RecursionError
    return tomllib.loads(text)


def parse_json(source: str, text: str) -> Any:
    """Parse JSON; errors name the source."""
    return _parse_with(json.loads, source, "JSON", text)


def _parse_with(parse: Callable[[str], Any], source: str, format: str, text: str) -> Any:
    try:
        return parse(text)
    except ValueError as error:
        raise TableError(f"{source} is not valid {format}: {one_line(error)}.") from None
    except RecursionError:
        raise TableError(
            f"{source} is nested too deeply. A schema has a table for each factor."
        ) from None


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
        raise TableError(f"{at}: options must be a table of option = value.")
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
