"""Words in the names of columns, and groups of columns whose names belong to each other."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

_TOKEN = re.compile(r"[A-Z]?[a-zφψωχθλ°]+|[A-Z]+(?![a-z])|\d+")
_UNIT = {
    "deg": "degrees",
    "degree": "degrees",
    "degrees": "degrees",
    "°": "degrees",
    "rad": "radians",
    "radian": "radians",
    "radians": "radians",
}


def split_name(name: str) -> tuple[str, ...]:
    """Split a name into words: start_lat, startLat and "Start lat" are (start, lat)."""
    return tuple(token.lower() for token in _TOKEN.findall(name))


def unit_in_names(names: Iterable[str]) -> str | None:
    """Return the unit that the names state; None if there is none or they disagree."""
    found = {_UNIT.get(token) for name in names for token in split_name(name)} - {None}
    return found.pop() if len(found) == 1 else None


def group_by_role(names: Iterable[str], roles: Mapping[str, set[str]]) -> list[dict[str, str]]:
    """Group columns that fill all roles and share the rest of their names.

    Args:
        names: Names of columns.
        roles: The words that stand for each role.

    Returns:
        The groups, each as role -> column.
    """
    groups: dict[tuple[str, ...], dict[str, str]] = {}
    for name in names:
        words = split_name(name)
        for role, meanings in roles.items():
            if meanings & set(words):
                rest = tuple(w for w in words if w not in meanings)
                groups.setdefault(rest, {})[role] = name
    return [group for group in groups.values() if len(group) == len(roles)]


def group_by_suffix(names: Iterable[str], letters: str) -> list[dict[str, str]]:
    """Group columns that differ in their last letter and have all `letters`: qw, qx, qy, qz."""
    groups: dict[str, dict[str, str]] = {}
    for name in names:
        match = re.fullmatch(rf"(.*?)[_.\s]*([{letters}])", name, re.IGNORECASE)
        if match:
            groups.setdefault(match[1].lower(), {})[match[2].lower()] = name
    return [group for group in groups.values() if len(group) == len(letters)]


def group_matrix_cells(names: Iterable[str], n: int) -> list[list[str]]:
    """Group n × n columns that differ only in two indices, from 0 or 1: m11, m12, …; row by row."""
    groups: dict[str, dict[tuple[int, int], str]] = {}
    for name in names:
        match = re.fullmatch(r"(.*?)[_.\s]?(\d)[_.,\s]?(\d)", name)
        if match:
            groups.setdefault(match[1], {})[int(match[2]), int(match[3])] = name
    found = []
    for group in groups.values():
        for base in (0, 1):
            wanted = [(i + base, j + base) for i in range(n) for j in range(n)]
            if len(group) == n * n and all(cell in group for cell in wanted):
                found.append([group[cell] for cell in wanted])
    return found
