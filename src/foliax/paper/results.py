"""Stored trials: one JSON file for each table, `{row name: {trial number: trial}}`.

A trial's settings are data that `foliax.io` reads: renamed classes and fields still agree.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from .. import atomic, io
from .recipes import Row

Trial = dict[str, Any]
Table = dict[str, dict[str, Trial]]
ENCODED = ("spec", "dequantization", "target")
"""Settings that are objects of foliax."""


def settings(row: Row, number: int) -> Trial:
    """What a trial depends on, as JSON: a stored trial counts only if its settings agree."""
    return {
        "table": row.table,
        "density": row.density,
        "method": row.method,
        "trial": number,
        "spec": io.to_json(row.spec),
        "dequantization": io.to_json(row.where),
        "target": io.to_json(row.target(number)),
        "steps": row.spec.training.steps,
        "rows": row.rows,
        "points": row.points,
    }


def has_settings(found: Any, row: Row, number: int) -> bool:
    """Whether a stored trial has the settings of a row.

    The stored objects are read and written again before they are compared: this applies aliases,
    renamed fields, and the defaults of fields that are newer than the trial.
    """
    wanted = settings(row, number)
    try:
        known = {name: found[name] for name in wanted}
        known |= {name: io.to_json(io.from_json(found[name])) for name in ENCODED}
    except (LookupError, TypeError, ValueError):
        return False
    return known == wanted


class Results:
    """The stored trials of a folder; each table's file is read once."""

    def __init__(self, folder: Path):
        self.folder = folder
        self._tables: dict[str, Table] = {}

    def find(self, row: Row, number: int) -> Trial | None:
        """A trial of a row, if there is one of the same settings."""
        if row.table not in self._tables:
            self._tables[row.table] = read(path_of(self.folder, row.table))
        found = self._tables[row.table].get(row.name, {}).get(str(number))
        return found if has_settings(found, row, number) else None


def save(folder: Path, row: Row, number: int, found: Trial) -> None:
    """Add a trial to its table's file, or replace it; the file is replaced whole or not at all.

    Only one process may write to a folder at a time.
    """
    path = path_of(folder, row.table)
    table = read(path)
    table.setdefault(row.name, {})[str(number)] = found
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic.open_atomic(path) as file:
        file.write(as_text(table).encode())


def read(path: Path) -> Table:
    """The trials of a table; none if there is no file.

    Raises:
        ValueError: The file is not JSON, or has another layout.
    """
    if not path.exists():
        return {}
    try:
        table = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path} is not valid JSON: {error}. Restore it or delete it.") from error
    if not isinstance(table, dict) or not all(isinstance(row, dict) for row in table.values()):
        raise ValueError(f"{path} does not hold rows and their trials. Restore it or delete it.")
    return table


def as_text(table: Table) -> str:
    """JSON with rows and trials in order, and one line for each entry of a trial: small diffs."""
    ordered = {
        name: {number: row[number] for number in sorted(row, key=lambda text: (len(text), text))}
        for name, row in sorted(table.items())
    }
    return _text(ordered, blocks=3) + "\n"


def _text(value: Any, blocks: int, indent: str = "") -> str:
    """JSON whose outermost `blocks` levels of objects have a line for each entry."""
    if not blocks or not isinstance(value, dict):
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    inner = indent + " "
    entries = (
        f"{inner}{json.dumps(key, ensure_ascii=False)}: {_text(item, blocks - 1, inner)}"
        for key, item in value.items()
    )
    return "{\n" + ",\n".join(entries) + f"\n{indent}}}"


def path_of(folder: Path, table: str) -> Path:
    """The file of a table."""
    return folder / f"{table}.json"
