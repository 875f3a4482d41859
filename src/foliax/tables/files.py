"""Read and write tables: CSV, TSV, Parquet, NPY and NPZ, by the ending of the file's name."""

from __future__ import annotations

import functools
import importlib.util
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from ..atomic import atomic_path
from .errors import TableError
from .numpy_files import read_npy, read_npz, write_npy, write_npz
from .text_files import read_text, write_text


class TableWithText(NamedTuple):
    """A table twice: with numbers, and with the values exactly as the file has them.

    Attributes:
        frame: The table that `read_table` returns.
        verbatim: The same rows and columns: text if the file is text, otherwise types that lose
            nothing, such as integers with blanks.
        is_text: Whether the file is text.
    """

    frame: pd.DataFrame
    verbatim: pd.DataFrame
    is_text: bool = False


class _Format(NamedTuple):
    read: Callable[[Path], pd.DataFrame]
    write: Callable[[pd.DataFrame, Path], None]
    read_verbatim: Callable[[Path], TableWithText] | None = None


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
    format = _format_of_file(path)
    return _check_rows(path, format.read(path))


def read_table_verbatim(path: str | Path) -> TableWithText:
    """Read a table, and also its values exactly as the file has them.

    Args:
        path: The file, as for `read_table`. It is read once.

    Returns:
        Both tables.

    Raises:
        TableError: As for `read_table`.
    """
    path = Path(path)
    format = _format_of_file(path)
    if format.read_verbatim is None:
        frame = _check_rows(path, format.read(path))
        return TableWithText(frame, frame)
    found = format.read_verbatim(path)
    _check_rows(path, found.frame)
    return found


def _format_of_file(path: Path) -> _Format:
    format = _format(path)
    if not path.is_file():
        raise TableError(f"There is no file {path}.")
    if path.stat().st_size == 0:
        raise TableError(f"{path} is empty. Its first line should name the columns.")
    return format


def _check_rows(path: Path, frame: pd.DataFrame) -> pd.DataFrame:
    if len(frame) == 0:
        raise TableError(f"{path} has no rows. Add data.")
    return frame


def write_table(frame: pd.DataFrame, path: str | Path) -> None:
    """Write a table to a file atomically; numbers keep every digit.

    Args:
        frame: The table.
        path: The file; its ending is the format, as for `read_table`.

    Raises:
        TableError: The folder is absent, the format is unknown or cannot hold the table.
        OSError: The file cannot be written. An old file stays unchanged.
    """
    path = Path(path)
    format = _format(path)
    if not path.parent.is_dir():
        raise TableError(f"There is no folder {path.parent} to write {path.name} into.")
    with atomic_path(path) as temporary:
        format.write(frame, temporary)


def is_text_format(path: str | Path) -> bool:
    """Return whether a file of this name is text: CSV or TSV, perhaps compressed."""
    return Path(path).name.lower().endswith(_TEXT_ENDINGS)


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
    return _parse_parquet(path, path)


def _read_parquet_verbatim(path: Path) -> TableWithText:
    """Read both tables; NumPy's types would turn integers with blanks into floats."""
    content = io.BytesIO(path.read_bytes())
    frame = _parse_parquet(path, content)
    return TableWithText(frame, _parse_parquet(path, content, dtype_backend="pyarrow"))


def _parse_parquet(path: Path, source: Path | io.BytesIO, **how: Any) -> pd.DataFrame:
    _need_pyarrow()
    try:
        return pd.read_parquet(source, engine="pyarrow", **how)
    except (OSError, ValueError) as error:
        raise TableError(f"{path} cannot be read as Parquet: {error}") from None


def _write_parquet(frame: pd.DataFrame, path: Path) -> None:
    _need_pyarrow()
    frame.to_parquet(path, engine="pyarrow", index=False)


def _text(separator: str) -> _Format:
    def read_verbatim(path: Path) -> TableWithText:
        found = read_text(path, separator)
        return TableWithText(found.frame, found.cells(), is_text=True)

    return _Format(
        lambda path: read_text(path, separator).frame,
        functools.partial(write_text, separator=separator),
        read_verbatim,
    )


_FORMATS = {
    ".csv": _text(","),
    ".tsv": _text("\t"),
    ".csv.gz": _text(","),
    ".tsv.gz": _text("\t"),
    ".parquet": _Format(_read_parquet, _write_parquet, _read_parquet_verbatim),
    ".npy": _Format(read_npy, write_npy),
    ".npz": _Format(read_npz, write_npz),
}
_TEXT_ENDINGS = (".csv", ".tsv", ".csv.gz", ".tsv.gz")
