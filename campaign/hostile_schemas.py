"""Seeded hostile schemas: one line of text, TOML and JSON."""

from __future__ import annotations

import json
import random

from .hostile_tables import HOSTILE_CELLS, HOSTILE_NAMES
from .mutators import mutate_bytes, mutate_tree

SCHEMAS = (
    "where: sphere(lat=lat, lon=lon); depth: positive(depth, unit=km); n: count(stations)",
    "t: torsions(phi, psi, unit=degrees); x: real(depth)",
    "magnitude: rounded(magnitude, step=0.1); a: circle(phi, unit=degrees)",
    "r: rotvec(lat, lon, phi, unit=degrees, symmetry=cubic)",
    "o: euler(lat, lon, phi, convention=bunge, unit=degrees)",
    "q: quaternion(w=lat, x=lon, y=phi, z=psi); i: interval(depth, low=0, high=100)",
    "d: direction(lat, lon, depth); f: fraction(depth)",
    "a: axis(lat, lon, phi); n: integer(stations)",
)
"""Schemas of the campaign's table; some do not fit its values."""

TABLES = {
    "where": {"kind": "sphere", "columns": {"lat": "lat", "lon": "lon"}},
    "depth": {"kind": "positive", "columns": ["depth"], "unit": "km"},
    "magnitude": {"kind": "rounded", "columns": "magnitude", "step": 0.1},
}
"""A schema as tables, which TOML and JSON hold."""

PIECES = (
    *("(", ")", ";", ":", ",", "=", "'", '"', "\\", "\n", "sphere", "unit=", "degrees", "count("),
    *("step=0", "step=nan", "step=1e-400", "low=1e308", "high=-inf", "symmetry=cubic", "period=0"),
    "(" * 3000,
    "a: real(b);" * 500,
)
"""Pieces of text that replace or extend a schema."""


def hostile_text(rng: random.Random) -> str:
    """Return the text of a mutated schema for a command line, which cannot hold NUL."""
    text = rng.choice(SCHEMAS)
    for _ in range(rng.choice([0, 1, 1, 2, 4])):
        at, end = sorted(rng.choices(range(len(text) + 1), k=2))
        piece = rng.choice([*PIECES, *HOSTILE_CELLS, *HOSTILE_NAMES, text[at:end]])
        text = text[:at] + piece + text[rng.choice([at, min(at + 5, end), end]) :]
    return text.replace("\0", "0")


def hostile_json(rng: random.Random) -> bytes:
    """Return the content of a mutated .json schema, in one of the two forms."""
    tables = json.loads(json.dumps(TABLES))
    if rng.random() < 0.5:
        factors = [{"name": name, **table} for name, table in tables.items()]
        tables = {"version": 1, "factors": factors}
    for _ in range(rng.choice([0, 1, 2])):
        mutate_tree(tables, rng)
    data = json.dumps(tables).encode()
    if rng.random() < 0.05:
        data = b'{"a":' + b"[" * 100_000
    return mutate_bytes(data, rng) if rng.random() < 0.4 else data


def hostile_toml(rng: random.Random) -> bytes:
    """Return the content of a mutated .toml schema."""
    lines = []
    for name, table in TABLES.items():
        lines.append(f"[{name}]")
        lines += [f"{key} = {_toml(value)}" for key, value in table.items()]
    for _ in range(rng.choice([0, 1, 2])):
        at = rng.randrange(len(lines))
        values = [*PIECES, *map(json.dumps, HOSTILE_CELLS), "[" * 5000, "{" * 500, "1979-05-27"]
        lines[at] = lines[at].split("=")[0] + "= " + rng.choice(values)
    data = "\n".join(lines).encode()
    return mutate_bytes(data, rng) if rng.random() < 0.4 else data


def _toml(value: object) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key} = {_toml(item)}" for key, item in value.items()) + "}"
    return json.dumps(value)
