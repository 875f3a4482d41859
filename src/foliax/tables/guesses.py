"""Guesses at what columns are, several columns at a time and then one by one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np

from .grammar import quoted
from .kinds.vectors import TOLERANCE, gaps
from .names import cells, endings, named_unit, together, tokens

Pool = Mapping[str, np.ndarray]
"""The columns that are still to be explained, as finite numbers, equally long."""


class Guess(NamedTuple):
    """What some columns are: the factor's name and its `kind(…)`, or None to leave them out."""

    columns: tuple[str, ...]
    name: str
    call: str | None
    assumed: str


def angle_unit(pool: Pool, columns: tuple[str, ...]) -> tuple[str, str]:
    """A unit and how it is known: by the names, or by the range."""
    stated = named_unit(columns)
    if stated:
        return stated, "by their names"
    most = max(float(np.abs(pool[column]).max()) for column in columns)
    return ("radians" if most <= 6.2832 else "degrees"), f"as they reach {most:.4g}"


def _list(columns: tuple[str, ...]) -> str:
    return ", ".join(columns)


def _call(kind: str, columns: tuple[str, ...], **options: str) -> str:
    words = [quoted(c) for c in columns] + [f"{k}={v}" for k, v in options.items()]
    return f"{kind}({', '.join(words)})"


def _norms_are_one(pool: Pool, columns: tuple[str, ...]) -> bool:
    norms = np.linalg.norm(np.stack([pool[c] for c in columns]), axis=0)
    return bool((np.abs(norms - 1) < TOLERANCE).all())


LATITUDES = {"lat", "latitude", "lats", "dec", "decl", "declination"}
LONGITUDES = {"lon", "long", "lng", "longitude", "lons", "ra"}


def latlon(pool: Pool) -> Iterator[Guess]:
    """Latitude and longitude by their names."""
    for group in together(pool, {"lat": LATITUDES, "lon": LONGITUDES}):
        columns = (group["lat"], group["lon"])
        unit, why = angle_unit(pool, columns)
        rest = "_".join(t for t in tokens(columns[0]) if t not in LATITUDES | {"deg", "rad"})
        option = ", unit=radians" if unit == "radians" else ""
        yield Guess(
            columns,
            rest or "where",
            f"sphere(lat={quoted(columns[0])}, lon={quoted(columns[1])}{option})",
            f"{_list(columns)}: latitude and longitude by their names, in {unit} {why}.",
        )


def quaternion(pool: Pool) -> Iterator[Guess]:
    """Quaternions whose components are named; where they are numbered, the order is not guessed."""
    for group in endings(pool, "wxyz"):
        columns = tuple(group[letter] for letter in "wxyz")
        if _norms_are_one(pool, columns):
            ordered = sorted(group, key=lambda letter: list(pool).index(group[letter]))
            call = ", ".join(f"{letter}={quoted(group[letter])}" for letter in ordered)
            yield Guess(
                columns,
                "rotation",
                f"quaternion({call})",
                f"{_list(columns)}: a unit quaternion, w its scalar part, by their names; no "
                "crystal symmetry (add symmetry=… and side=… if there is one).",
            )
    for digits in ("0123", "1234"):
        for group in endings(pool, digits):
            columns = tuple(group[digit] for digit in digits)
            if _norms_are_one(pool, columns):
                a, b, c, d = columns
                yield Guess(
                    columns,
                    "rotation",
                    None,
                    f"{_list(columns)}: left out. They look like a unit quaternion, but which is "
                    f"the scalar part is not said: write quaternion(w={a}, x={b}, y={c}, z={d}) or "
                    f"quaternion(x={a}, y={b}, z={c}, w={d}).",
                )


_BUNGE = [("phi1", "Phi", "phi2"), ("phi1", "phi", "phi2"), ("phi1", "PHI", "phi2")]
_EBSD = [tuple(f"{e}{i}" for i in "123") for e in ("Euler", "euler", "Euler ", "euler_", "Euler_")]


def euler(pool: Pool) -> Iterator[Guess]:
    """Bunge's angles by their names; roll, pitch and yaw have no one convention."""
    for columns in (*_BUNGE, *_EBSD):
        if all(column in pool for column in columns):
            unit, why = angle_unit(pool, columns)
            yield Guess(
                columns,
                "orientation",
                _call("euler", columns, convention="bunge", unit=unit),
                f"{_list(columns)}: Euler angles, in Bunge's convention by their names, in {unit} "
                f"{why}; no crystal symmetry (add e.g. symmetry=cubic if there is one).",
            )
            return
    for group in together(pool, {"roll": {"roll"}, "pitch": {"pitch"}, "yaw": {"yaw"}}):
        columns = tuple(group[role] for role in ("roll", "pitch", "yaw"))
        unit, _ = angle_unit(pool, columns)
        usual = _call("euler", columns, convention="xyz", unit=unit)
        yield Guess(
            columns,
            "rotation",
            None,
            f"{_list(columns)}: left out. They look like Euler angles, but names do not tell the "
            f"convention: write e.g. {usual} (extrinsic x, y, z).",
        )


def matrix(pool: Pool) -> Iterator[Guess]:
    """Nine columns that are a rotation matrix in every row."""
    for group in cells(pool, 3):
        columns = tuple(group)
        matrices = np.stack([pool[c] for c in columns], axis=1).reshape(-1, 3, 3)
        if gaps(matrices).max() < 2 * TOLERANCE and (np.linalg.det(matrices) > 0).all():
            yield Guess(
                columns,
                "rotation",
                _call("matrix", columns),
                f"{columns[0]} … {columns[-1]}: a rotation matrix, row by row, as all rows are "
                "one; no crystal symmetry (add symmetry=… and side=… if there is one).",
            )


_TORSIONS = {"phi", "psi", "omega", "chi", "φ", "ψ", "ω", "χ", "torsion", "dihedral"}


def torsions(pool: Pool) -> Iterator[Guess]:
    """Two or more torsion angles by their names."""
    columns = tuple(name for name in pool if _TORSIONS & set(tokens(name)))
    if len(columns) >= 2:
        unit, why = angle_unit(pool, columns)
        if max(np.abs(pool[column]).max() for column in columns) <= 360:
            yield Guess(
                columns,
                "torsions",
                _call("torsions", columns, unit=unit),
                f"{_list(columns)}: torsion angles by their names, in {unit} {why}.",
            )


def direction(pool: Pool) -> Iterator[Guess]:
    """x, y, z (or x, y) of length 1 in every row."""
    for letters in ("xyz", "xy"):
        for group in endings(pool, letters):
            columns = tuple(group[letter] for letter in letters)
            if _norms_are_one(pool, columns):
                yield Guess(
                    columns,
                    "direction",
                    _call("direction", columns),
                    f"{_list(columns)}: a direction, as all rows have length 1; write axis(…) "
                    "instead if opposite directions are the same.",
                )


SEVERAL = (latlon, quaternion, euler, matrix, torsions, direction)
"""Guesses at several columns, the surest first."""
