"""What the names of columns say: tokens, and columns that belong together."""

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


def tokens(name: str) -> tuple[str, ...]:
    """The words in a name: start_lat, startLat and "Start lat" are (start, lat)."""
    return tuple(token.lower() for token in _TOKEN.findall(name))


def named_unit(names: Iterable[str]) -> str | None:
    """The unit that the names state, where they agree."""
    found = {_UNIT.get(token) for name in names for token in tokens(name)} - {None}
    return found.pop() if len(found) == 1 else None


def together(names: Iterable[str], roles: Mapping[str, set[str]]) -> list[dict[str, str]]:
    """Columns that fill all roles and have the rest of their name in common.

    `roles`: for each role, the words that mean it. Each group is role -> column.
    """
    groups: dict[tuple[str, ...], dict[str, str]] = {}
    for name in names:
        words = tokens(name)
        for role, meanings in roles.items():
            if meanings & set(words):
                rest = tuple(w for w in words if w not in meanings)
                groups.setdefault(rest, {})[role] = name
    return [group for group in groups.values() if len(group) == len(roles)]


def endings(names: Iterable[str], letters: str) -> list[dict[str, str]]:
    """Columns that differ in their last letter only, and have all of `letters`: qw, qx, qy, qz."""
    groups: dict[str, dict[str, str]] = {}
    for name in names:
        match = re.fullmatch(rf"(.*?)[_.\s]*([{letters}])", name, re.IGNORECASE)
        if match:
            groups.setdefault(match[1].lower(), {})[match[2].lower()] = name
    return [group for group in groups.values() if len(group) == len(letters)]


def cells(names: Iterable[str], n: int) -> list[list[str]]:
    """n × n columns that differ in two indices only, row by row: m11, m12, …; from 0 or from 1."""
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
