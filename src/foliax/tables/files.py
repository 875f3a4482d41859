"""Read and write tables: CSV, TSV, Parquet, NPY and NPZ, by the ending of the file's name."""

from __future__ import annotations

import functools
import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from .errors import TableError
from .numpy_files import read_npy, read_npz, write_npy, write_npz
from .text_files import read_text, write_text


class _Format(NamedTuple):
    read: Callable[[Path], pd.DataFrame]
    write: Callable[[pd.DataFrame, Path], None]


def read_table(path: str | Path) -> pd.DataFrame:
    """Read a table from a file.

    Args:
        path: The file; its ending is the format. In .csv and .tsv (also .gz) the first line names
            the columns. .npy holds a structured array, or a plain one, whose columns are c0, c1, ….
            .npz holds an array for each column, or arrays a of shape (n, k), whose columns are a0,
            a1, …. .parquet needs pyarrow.

    Returns:
        The table, with at least one row.

    Raises:
        TableError: The file is absent, empty, of unknown format, or not a table.
    """
    path = Path(path)
    format = _format(path)
    if not path.is_file():
        raise TableError(f"There is no file {path}.")
    if path.stat().st_size == 0:
        raise TableError(f"{path} is empty. Its first line should name the columns.")
    frame = format.read(path)
    if len(frame) == 0:
        raise TableError(f"{path} has no rows. Add data.")
    return frame


def write_table(frame: pd.DataFrame, path: str | Path) -> None:
    """Write a table to a file; numbers keep every digit.

    Args:
        frame: The table.
        path: The file; its ending is the format, as for `read_table`.

    Raises:
        TableError: The folder is absent, the format is unknown or cannot hold the table.
    """
    path = Path(path)
    format = _format(path)
    if not path.parent.is_dir():
        raise TableError(f"There is no folder {path.parent} to write {path.name} into.")
    format.write(frame, path)


def _format(path: Path) -> _Format:
    name = path.name.lower()
    for ending, format in _FORMATS.items():
        if name.endswith(ending):
            return format
    known = ", ".join(_FORMATS)
    raise TableError(f"{path}: the ending of a table's name must be one of {known}.")


def _need_pyarrow() -> None:
    if importlib.util.find_spec("pyarrow") is None:
        raise TableError(
            "Parquet files need pyarrow: pip install 'foliax[parquet]', or use CSV or NPZ."
        )


def _read_parquet(path: Path) -> pd.DataFrame:
    _need_pyarrow()
    try:
        return pd.read_parquet(path, engine="pyarrow")
    except (OSError, ValueError) as error:
        raise TableError(f"{path} cannot be read as Parquet: {error}") from None


def _write_parquet(frame: pd.DataFrame, path: Path) -> None:
    _need_pyarrow()
    frame.to_parquet(path, engine="pyarrow", index=False)


def _text(separator: str) -> _Format:
    return _Format(
        functools.partial(read_text, separator=separator),
        functools.partial(write_text, separator=separator),
    )


_FORMATS = {
    ".csv": _text(","),
    ".tsv": _text("\t"),
    ".csv.gz": _text(","),
    ".tsv.gz": _text("\t"),
    ".parquet": _Format(_read_parquet, _write_parquet),
    ".npy": _Format(read_npy, write_npy),
    ".npz": _Format(read_npz, write_npz),
}
