"""Infer factors of several columns from their names and values."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from .column_names import group_by_role, group_by_suffix, group_matrix_cells, split_name
from .grammar import quote
from .guess import ColumnValues, Guess, guess_angle_unit
from .kinds.orthonormal import orthonormality_gaps
from .kinds.unit_vectors import TOLERANCE


def _list(columns: tuple[str, ...]) -> str:
    return ", ".join(columns)


def _call(kind: str, columns: tuple[str, ...], **options: str) -> str:
    words = [quote(c) for c in columns] + [f"{k}={v}" for k, v in options.items()]
    return f"{kind}({', '.join(words)})"


def _have_unit_length(values: ColumnValues, columns: tuple[str, ...]) -> bool:
    norms = np.linalg.norm(np.stack([values[c] for c in columns]), axis=0)
    return bool((np.abs(norms - 1) < TOLERANCE).all())


LATITUDES = {"lat", "latitude", "lats", "dec", "decl", "declination"}
LONGITUDES = {"lon", "long", "lng", "longitude", "lons", "ra"}


def infer_latlon(values: ColumnValues) -> Iterator[Guess]:
    """Find latitudes and longitudes by their names."""
    for group in group_by_role(values, {"lat": LATITUDES, "lon": LONGITUDES}):
        columns = (group["lat"], group["lon"])
        unit, why = guess_angle_unit(values, columns)
        rest = "_".join(t for t in split_name(columns[0]) if t not in LATITUDES | {"deg", "rad"})
        option = ", unit=radians" if unit == "radians" else ""
        yield Guess(
            columns,
            rest or "where",
            f"sphere(lat={quote(columns[0])}, lon={quote(columns[1])}{option})",
            f"{_list(columns)}: latitude and longitude by their names, in {unit} {why}.",
        )


def infer_quaternion(values: ColumnValues) -> Iterator[Guess]:
    """Find quaternions by their names; numbered components are left out: their order is unclear."""
    for group in group_by_suffix(values, "wxyz"):
        columns = tuple(group[letter] for letter in "wxyz")
        if _have_unit_length(values, columns):
            ordered = sorted(group, key=lambda letter: list(values).index(group[letter]))
            call = ", ".join(f"{letter}={quote(group[letter])}" for letter in ordered)
            yield Guess(
                columns,
                "rotation",
                f"quaternion({call})",
                f"{_list(columns)}: a unit quaternion, w its scalar part, by their names; no "
                "crystal symmetry (add symmetry=… and side=… if there is one).",
            )
    for digits in ("0123", "1234"):
        for group in group_by_suffix(values, digits):
            columns = tuple(group[digit] for digit in digits)
            if _have_unit_length(values, columns):
                a, b, c, d = columns
                yield Guess(
                    columns,
                    "rotation",
                    None,
                    f"{_list(columns)}: left out. They look like a unit quaternion, but which is "
                    f"the scalar part is unknown: write quaternion(w={a}, x={b}, y={c}, z={d}) or "
                    f"quaternion(x={a}, y={b}, z={c}, w={d}).",
                )


_BUNGE = [("phi1", "Phi", "phi2"), ("phi1", "phi", "phi2"), ("phi1", "PHI", "phi2")]
_EBSD = [tuple(f"{e}{i}" for i in "123") for e in ("Euler", "euler", "Euler ", "euler_", "Euler_")]


def infer_euler(values: ColumnValues) -> Iterator[Guess]:
    """Find Bunge's angles by their names; roll, pitch, yaw are left out: conventions differ."""
    for columns in (*_BUNGE, *_EBSD):
        if all(column in values for column in columns):
            unit, why = guess_angle_unit(values, columns)
            yield Guess(
                columns,
                "orientation",
                _call("euler", columns, convention="bunge", unit=unit),
                f"{_list(columns)}: Euler angles, in Bunge's convention by their names, in {unit} "
                f"{why}; no crystal symmetry (add e.g. symmetry=cubic if there is one).",
            )
            return
    for group in group_by_role(values, {"roll": {"roll"}, "pitch": {"pitch"}, "yaw": {"yaw"}}):
        columns = tuple(group[role] for role in ("roll", "pitch", "yaw"))
        unit, _ = guess_angle_unit(values, columns)
        usual = _call("euler", columns, convention="xyz", unit=unit)
        yield Guess(
            columns,
            "rotation",
            None,
            f"{_list(columns)}: left out. They look like Euler angles, but names do not tell the "
            f"convention: write e.g. {usual} (extrinsic x, y, z).",
        )


def infer_matrix(values: ColumnValues) -> Iterator[Guess]:
    """Find nine columns that form a rotation matrix in every row."""
    for group in group_matrix_cells(values, 3):
        columns = tuple(group)
        matrices = np.stack([values[c] for c in columns], axis=1).reshape(-1, 3, 3)
        if (
            orthonormality_gaps(matrices).max() < 2 * TOLERANCE
            and (np.linalg.det(matrices) > 0).all()
        ):
            yield Guess(
                columns,
                "rotation",
                _call("matrix", columns),
                f"{columns[0]} … {columns[-1]}: a rotation matrix, row by row, as all rows are "
                "one; no crystal symmetry (add symmetry=… and side=… if there is one).",
            )


_TORSIONS = {"phi", "psi", "omega", "chi", "φ", "ψ", "ω", "χ", "torsion", "dihedral"}


def infer_torsions(values: ColumnValues) -> Iterator[Guess]:
    """Find two or more torsion angles by their names."""
    columns = tuple(name for name in values if _TORSIONS & set(split_name(name)))
    if len(columns) >= 2:
        unit, why = guess_angle_unit(values, columns)
        if max(np.abs(values[column]).max() for column in columns) <= 360:
            yield Guess(
                columns,
                "torsions",
                _call("torsions", columns, unit=unit),
                f"{_list(columns)}: torsion angles by their names, in {unit} {why}.",
            )


def infer_direction(values: ColumnValues) -> Iterator[Guess]:
    """Find x, y, z (or x, y) of length 1 in every row."""
    for letters in ("xyz", "xy"):
        for group in group_by_suffix(values, letters):
            columns = tuple(group[letter] for letter in letters)
            if _have_unit_length(values, columns):
                yield Guess(
                    columns,
                    "direction",
                    _call("direction", columns),
                    f"{_list(columns)}: a direction, as all rows have length 1; write axis(…) "
                    "instead if opposite directions are the same.",
                )


GROUP_RULES = (
    infer_latlon,
    infer_quaternion,
    infer_euler,
    infer_matrix,
    infer_torsions,
    infer_direction,
)
"""Rules for groups of columns, the most certain first."""
