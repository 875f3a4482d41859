"""Read and write tables: CSV, TSV, Parquet, NPY and NPZ, by the ending of the file's name."""

from __future__ import annotations

import functools
import importlib.util
import stat
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from .errors import TableError, describe_os_error, one_line
from .numpy_files import read_npy, read_npz, write_npy, write_npz
from .row_names import number_rows
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
    _check_readable(path)
    try:
        frame = format.read(path)
    except OSError as error:
        raise TableError(f"{path} cannot be read: {describe_os_error(error)}.") from None
    if frame.shape[1] == 0:
        raise TableError(f"{path} has no columns. Add data.")
    if len(frame) == 0:
        raise TableError(f"{path} has no rows. Add data.")
    return frame


def _check_readable(path: Path) -> None:
    """Raise `TableError` if the path is not a file with content."""
    try:
        status = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        raise TableError(f"There is no file {path}.") from None
    except (OSError, ValueError) as error:
        raise TableError(f"{path} cannot be read: {describe_os_error(error)}.") from None
    if stat.S_ISDIR(status.st_mode):
        raise TableError(f"{path} is a folder. Name a file in it.")
    if not stat.S_ISREG(status.st_mode):
        raise TableError(f"{path} is a device or a pipe. Save its content to a file first.")
    if status.st_size == 0:
        raise TableError(f"{path} is empty. Its first line should name the columns.")


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
        with path.open("rb") as file:  # pyarrow cannot open names that are not UTF-8
            frame = pd.read_parquet(file, engine="pyarrow")
    except PermissionError:
        raise
    except Exception as error:  # a damaged file raises errors of many types
        raise TableError(
            f"{path} cannot be read as Parquet: {one_line(error)}. Write it again."
        ) from None
    if any(name is not None for name in frame.index.names):
        frame = frame.reset_index()
    return number_rows(frame)


def _write_parquet(frame: pd.DataFrame, path: Path) -> None:
    _need_pyarrow()
    frame = frame.copy(deep=False)
    frame.attrs = {}  # pandas writes them into the file, as JSON
    with path.open("wb") as file:  # pyarrow cannot open names that are not UTF-8
        frame.to_parquet(file, engine="pyarrow", index=False)


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
