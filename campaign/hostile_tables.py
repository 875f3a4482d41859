"""Seeded hostile tables in every format that foliax reads."""

from __future__ import annotations

import ast
import gzip
import io
import json
import random
from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from .mutators import HOSTILE_TEXTS, mutate_bytes, mutate_tree

ENDINGS = (".csv", ".tsv", ".csv.gz", ".tsv.gz", ".parquet", ".npy", ".npz")
ROWS = 24

HOSTILE_CELLS = (
    *("nan", "NA", "inf", "-inf", "1e400", "-1e308", "5e-324", "0", "-0", "-1", "95.2", "1e9"),
    *("1e16", "9" * 30, "9" * 400, "0x10", "1_000", "1,5", "1;5", "1 2", "1e", "٣", "½", "True"),
    *('"', '"a', "'", "\r", "\n", "\n\n", "é", "2024-01-01", "12:30", "null", "=1+1", "007", "0.1"),
    *HOSTILE_TEXTS,
)
"""Texts of cells that are missing, out of range, not numbers, or break a line or a quote."""

HOSTILE_NAMES = (
    *("", " ", "index", "level_0", "Unnamed: 0", "log density", "standard error", "file", "c0"),
    *("LAT", "lat", "a,b", "(", ")", ";", "a=b", "1", "nan", "__init__", "é"),
    *HOSTILE_TEXTS,
)
"""Names of columns that repeat, are empty, or mean something to a parser."""

DTYPES = (
    *("f2", "f4", "f8", "g", "i1", "u1", "<i2", ">i4", "i8", "u8", ">f8", "?", "c8", "c16"),
    *("S3", "U3", "M8[ns]", "M8[D]", "m8[s]", "O"),
)
"""NumPy's types. Most of them are not numbers."""


def clean_columns(rows: int = ROWS) -> dict[str, np.ndarray]:
    """Return the columns that all schemas of the campaign name, without mutations."""
    rng = np.random.default_rng(1)
    return {
        "lat": rng.uniform(-60, 60, rows).round(3),
        "lon": rng.uniform(-170, 170, rows).round(3),
        "depth": np.exp(rng.normal(size=rows)).round(4),
        "magnitude": rng.uniform(3, 7, rows).round(1),
        "stations": rng.poisson(5, rows),
        "phi": rng.uniform(-180, 180, rows).round(2),
        "psi": rng.normal(60, 20, rows).round(2),
    }


def clean_csv() -> bytes:
    """Return the table without mutations as CSV."""
    return _join(_cells(clean_columns()), ",").encode()


def hostile_table(ending: str, rng: random.Random) -> bytes:
    """Return the bytes of a mutated table.

    Args:
        ending: One of `ENDINGS`.
        rng: Chooses the mutations.

    Returns:
        The content of the file. Half of the contents are damaged as bytes too.
    """
    plain = ending.removesuffix(".gz")
    writers: dict[str, Callable[[random.Random], bytes]] = {
        ".csv": lambda rng: _text(",", rng),
        ".tsv": lambda rng: _text("\t", rng),
        ".parquet": _parquet,
        ".npy": _npy,
        ".npz": _npz,
    }
    data = writers[plain](rng)
    damage = rng.random()
    if damage < 0.25:
        data = mutate_bytes(data, rng)
    if ending != plain:
        data = b"".join(gzip.compress(part, 1, mtime=0) for part in _parts(data, rng))
    return mutate_bytes(data, rng) if 0.25 < damage < 0.5 else data


def odd_values(rng: random.Random) -> bytes:
    """Return a CSV file that can be read, whose values are extreme, constant or repeated."""
    cells = _cells(clean_columns())
    for _ in range(rng.randint(1, 3)):
        rng.choice((_set_cell, _shift_column, _repeat_row))(cells, rng)
    return _join(cells, ",").encode()


def _parts(data: bytes, rng: random.Random) -> list[bytes]:
    """One or two members of a gzip file."""
    at = rng.choice([len(data), len(data) // 2])
    return [data[:at], data[at:]]


def _cells(columns: dict[str, np.ndarray]) -> list[list[str]]:
    return [list(columns), *([str(v) for v in row] for row in zip(*columns.values(), strict=True))]


def _join(cells: list[list[str]], separator: str, end: str = "\n") -> str:
    return end.join(separator.join(row) for row in cells) + end


def _text(separator: str, rng: random.Random) -> bytes:
    cells = _cells(clean_columns(rng.choice([ROWS, ROWS, 1, 2, 5])))
    for _ in range(rng.choice([0, 1, 1, 2, 5])):
        rng.choice(TEXT_MUTATIONS)(cells, rng)
    end = rng.choices(["\n", "\r\n", "\r", "\n\n"], [8, 1, 1, 1])[0]
    separator = rng.choices([separator, ";", " ", "|"], [30, 1, 1, 1])[0]
    encoding = rng.choices(["utf-8", "utf-8-sig", "utf-16", "latin-1"], [20, 2, 1, 1])[0]
    return _join(cells, separator, end).encode(encoding, errors="replace")


def _set_cell(cells: list[list[str]], rng: random.Random) -> None:
    row = rng.choice(cells[1:] or cells)
    if row:
        row[rng.randrange(len(row))] = rng.choice(HOSTILE_CELLS)


def _quote_cell(cells: list[list[str]], rng: random.Random) -> None:
    row = rng.choice(cells)
    if row:
        text = rng.choice(HOSTILE_CELLS).replace('"', '""')
        row[rng.randrange(len(row))] = f'"{text}"'


def _set_column(cells: list[list[str]], rng: random.Random) -> None:
    at, few = rng.randrange(len(cells[0]) or 1), rng.choices(HOSTILE_CELLS, k=rng.randint(1, 3))
    for row in cells[1:]:
        row[at : at + 1] = [rng.choice(few)]


def _shift_column(cells: list[list[str]], rng: random.Random) -> None:
    at, scale = rng.randrange(len(cells[0]) or 1), rng.choice([0.0, 1e-300, 1e-9, 1e6, 1e15, 1e300])
    for row in cells[1:]:
        row[at : at + 1] = [repr(scale * rng.random() + rng.choice([0.0, scale]))]


def _rename(cells: list[list[str]], rng: random.Random) -> None:
    if cells[0]:
        cells[0][rng.randrange(len(cells[0]))] = rng.choice(HOSTILE_NAMES)


def _drop_column(cells: list[list[str]], rng: random.Random) -> None:
    at = rng.randrange(len(cells[0]) or 1)
    for row in cells:
        del row[at : at + 1]


def _drop_cell(cells: list[list[str]], rng: random.Random) -> None:
    row = rng.choice(cells)
    if row:
        del row[rng.randrange(len(row))]


def _repeat_row(cells: list[list[str]], rng: random.Random) -> None:
    cells[1:] = [list(row) for row in cells[1:] for _ in range(rng.choice([0, 1, 1, 8]))]


def _insert_row(cells: list[list[str]], rng: random.Random) -> None:
    row = rng.choice([[], [""], [" "], ["", ""], list(cells[0]), ["# comment"]])
    cells.insert(rng.randint(0, len(cells)), row)


def _widen(cells: list[list[str]], rng: random.Random) -> None:
    number = rng.choice([1, 2, 300])
    cells[0] += [f"column {i}" for i in range(number)]
    for row in cells[1:]:
        row += [rng.choice(HOSTILE_CELLS[:20])] * number


TEXT_MUTATIONS: tuple[Callable[[list[list[str]], random.Random], None], ...] = (
    *(_set_cell, _set_cell, _quote_cell, _set_column, _shift_column, _rename, _drop_column),
    *(_drop_cell, _repeat_row, _insert_row, _widen),
)


def _odd_array(rng: random.Random, rows: int) -> np.ndarray:
    """An array of one type, often of odd values or shape."""
    shape = rng.choice([(rows,), (rows,), (rows,), (rows, 3), (rows, 1, 2), (), (0,), (rows, 0)])
    values = np.random.default_rng(rng.getrandbits(32)).normal(size=shape)
    values = values * rng.choice([0.0, 1.0, 100.0, 1e300]) + rng.choice([0.0, 1e9])
    if values.size and rng.random() < 0.3:
        values.flat[rng.randrange(values.size)] = rng.choice([np.nan, np.inf, -1e308])
    with np.errstate(all="ignore"):
        dtype = np.dtype(rng.choice(DTYPES))
        if dtype.kind in "Mm":
            return np.frombuffer(rng.randbytes(8 * values.size), "i8").astype(dtype).reshape(shape)
        return np.asarray(values.astype(dtype), order=rng.choice(["C", "F"]))


def _columns(rng: random.Random) -> dict[str, np.ndarray]:
    columns: dict[str, np.ndarray] = dict(clean_columns())
    for _ in range(rng.choice([0, 1, 1, 2])):
        name = rng.choice([*columns, *HOSTILE_NAMES])
        columns[name] = _odd_array(rng, rng.choice([ROWS, ROWS, ROWS, 3]))
    return columns


def _npy(rng: random.Random) -> bytes:
    columns, file = _columns(rng), io.BytesIO()
    kind = rng.choice(["plain", "odd", "structured", "structured"])
    array = np.stack(list(clean_columns().values()), axis=1)
    if kind == "odd":
        array = _odd_array(rng, ROWS)
    elif kind == "structured":
        flat = {name: values for name, values in columns.items() if values.shape[:1] == (ROWS,)}
        fields = [(name or "f", values.dtype, values.shape[1:]) for name, values in flat.items()]
        array = np.zeros(ROWS, np.dtype(fields))
        for (name, *_), values in zip(fields, flat.values(), strict=True):
            array[name] = values
    np.save(file, array, allow_pickle=True)
    return _edit_npy_header(file.getvalue(), rng) if rng.random() < 0.2 else file.getvalue()


def _edit_npy_header(data: bytes, rng: random.Random) -> bytes:
    """Claim another shape, order or type."""
    size = int.from_bytes(data[8:10], "little")
    header = ast.literal_eval(data[10 : 10 + size].decode("latin-1"))
    header |= rng.choice(
        [
            {"shape": (10**12,)},
            {"shape": (-1,)},
            {"shape": (2**63, 2**63)},
            {"shape": (ROWS, 10**8)},
            {"shape": (1,) * 40},
            {"fortran_order": 1},
            {"descr": "|O"},
            {"descr": "<f16"},
            {"descr": [("a", "<f8")] * 2},
            {"descr": "<U1000000000"},
        ]
    )
    text = repr(header).encode("latin-1", errors="replace") + b"\n"
    return data[:8] + len(text).to_bytes(2, "little") + text + data[10 + size :]


def _npz(rng: random.Random) -> bytes:
    file = io.BytesIO()
    columns = {name: values for name, values in _columns(rng).items() if name != "file"}
    save: Callable[..., None] = rng.choice([np.savez, np.savez_compressed])
    save(file, **{name.replace("\0", "0"): values for name, values in columns.items()})
    return file.getvalue()


def _parquet(rng: random.Random) -> bytes:
    arrays = [_arrow(values) for values in _columns(rng).values() if values.shape == (ROWS,)]
    names = list(clean_columns())[: len(arrays)]
    names += [rng.choice(HOSTILE_NAMES) for _ in arrays[len(names) :]]
    if rng.random() < 0.5:
        arrays[rng.randrange(len(arrays))] = _odd_arrow(rng)
    table = pa.Table.from_arrays(arrays, names=names)
    if rng.random() < 0.3:
        described = {"index_columns": [rng.choice(names)], "columns": [], "column_indexes": []}
        mutate_tree(described, rng)
        table = table.replace_schema_metadata({"pandas": json.dumps(described)})
    file = io.BytesIO()
    pyarrow.parquet.write_table(table, file, compression=rng.choice(["snappy", "none", "gzip"]))
    return file.getvalue()


def _arrow(values: np.ndarray) -> pa.Array:
    try:
        return pa.array(values.astype(values.dtype.newbyteorder("=")))
    except (pa.ArrowException, TypeError, ValueError):
        return pa.array([str(value) for value in values])


def _odd_arrow(rng: random.Random) -> pa.Array:
    """A column of a type that only Arrow has."""
    numbers = [rng.choice([None, i]) for i in range(ROWS)]
    kinds = [
        lambda: pa.array([[n] for n in numbers]),
        lambda: pa.array([{"a": n} for n in numbers]),
        lambda: pa.array([str(n) for n in numbers]).dictionary_encode(),
        lambda: pa.array(numbers, pa.decimal128(38, 3)),
        lambda: pa.array(numbers, pa.timestamp("us", "UTC")),
        lambda: pa.array(numbers, pa.date32()),
        lambda: pa.array(numbers, pa.time64("ns")),
        lambda: pa.array(numbers, pa.duration("s")),
        lambda: pa.array(numbers, pa.uint64()),
        lambda: pa.array([None] * ROWS),
        lambda: pa.array([n is not None for n in numbers]),
        lambda: pa.array([rng.randbytes(4) for _ in numbers]),
        lambda: pa.array([rng.choice(HOSTILE_TEXTS) for _ in numbers]),
    ]
    return rng.choice(kinds)()
