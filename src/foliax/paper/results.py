"""Stored trials: one JSON file for each table, `{row name: {trial number: trial}}`.

A trial's settings are data that `foliax.io` reads, so that classes and fields can be renamed.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from .. import atomic, io
from .recipes import Row

Trial = dict[str, Any]
Table = dict[str, dict[str, Trial]]
ENCODED = ("spec", "dequantization", "target")
"""Settings that are objects of foliax."""
ROUNDING = 1e-9
"""The largest relative difference of two numbers that agree."""


def settings(row: Row, number: int) -> Trial:
    """Return the settings of a trial as JSON; a stored trial is valid only if they agree.

    Args:
        row: The row of the table.
        number: The trial's number, which is also its seed.

    Returns:
        Names and values; objects of foliax are encoded by `foliax.io`.
    """
    return {
        "table": row.table,
        "density": row.density,
        "method": row.method,
        "trial": number,
        "spec": io.to_json(row.estimator),
        "dequantization": io.to_json(row.dequantization),
        "target": io.to_json(row.target(number)),
        "steps": row.estimator.training.steps,
        "rows": row.rows,
        "points": row.points,
    }


def has_settings(found: Any, row: Row, number: int) -> bool:
    """Return whether a stored trial has the settings of a row.

    Decodes and encodes the stored objects before comparing. This applies aliases, renamed fields,
    and the defaults of fields that are newer than the trial. Numbers may differ by rounding:
    another processor computes other last digits of a target.

    Args:
        found: The stored trial, or None.
        row: The row of the table.
        number: The trial's number.

    Returns:
        True if all settings agree; False if they differ or cannot be read.
    """
    wanted = settings(row, number)
    try:
        known = {name: found[name] for name in wanted}
        known |= {name: io.to_json(io.from_json(found[name])) for name in ENCODED}
    except (LookupError, TypeError, ValueError):
        return False
    return agree_up_to_rounding(known, wanted)


def agree_up_to_rounding(a: Any, b: Any) -> bool:
    """Return whether two JSON values are equal but for the last digits of floats."""
    if isinstance(a, float) and isinstance(b, float):
        return math.isclose(a, b, rel_tol=ROUNDING)
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(agree_up_to_rounding(a[k], b[k]) for k in a)
    if isinstance(a, list | tuple) and isinstance(b, list | tuple):
        return len(a) == len(b) and all(map(agree_up_to_rounding, a, b))
    return bool(a == b)


class Results:
    """The stored trials of a folder; each table's file is read once."""

    def __init__(self, folder: Path):
        self.folder = folder
        self._tables: dict[str, Table] = {}

    def find(self, row: Row, number: int) -> Trial | None:
        """Return a trial of a row, or None if none has the same settings."""
        if row.table not in self._tables:
            self._tables[row.table] = read(path_of(self.folder, row.table))
        found = self._tables[row.table].get(row.name, {}).get(str(number))
        return found if has_settings(found, row, number) else None


def save(folder: Path, row: Row, number: int, found: Trial) -> None:
    """Add or replace a trial in its table's file, atomically.

    Only one process may write to a folder at a time.

    Args:
        folder: Where the tables' files are; created if it does not exist.
        row: The row of the table.
        number: The trial's number.
        found: The trial, as `trial.measure` returns it.

    Raises:
        ValueError: The trial has a number that is not finite, or the file is damaged.
    """
    path = path_of(folder, row.table)
    table = read(path)
    table.setdefault(row.name, {})[str(number)] = found
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic.open_atomic(path) as file:
        file.write(as_text(table).encode())


def read(path: Path) -> Table:
    """Read the trials of a table; return {} if there is no file.

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
    """Format a table as sorted JSON with one line for each entry of a trial, for small diffs."""
    ordered = {
        name: {number: row[number] for number in sorted(row, key=lambda text: (len(text), text))}
        for name, row in sorted(table.items())
    }
    return _text(ordered, blocks=3) + "\n"


def _text(value: Any, blocks: int, indent: str = "") -> str:
    """Format JSON with one line for each entry of the outermost `blocks` levels."""
    if not blocks or not isinstance(value, dict):
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    inner = indent + " "
    entries = (
        f"{inner}{json.dumps(key, ensure_ascii=False)}: {_text(item, blocks - 1, inner)}"
        for key, item in value.items()
    )
    return "{\n" + ",\n".join(entries) + f"\n{indent}}}"


def path_of(folder: Path, table: str) -> Path:
    """Return the path of a table's file."""
    return folder / f"{table}.json"
