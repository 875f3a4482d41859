"""Read and write tables: CSV, TSV, Parquet, NPY and NPZ, by the ending of the file's name."""

from __future__ import annotations

import functools
import importlib.util
import io
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import pandas as pd

from ..atomic import atomic_path
from .errors import TableError, describe_os_error, one_line
from .numpy_files import read_npy, read_npz, write_npy, write_npz
from .row_names import number_rows
from .text_files import read_text, write_text

T = TypeVar("T")


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
    return _check_rows(path, _read(path, format.read))


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
        frame = _check_rows(path, _read(path, format.read))
        return TableWithText(frame, frame)
    found = _read(path, format.read_verbatim)
    _check_rows(path, found.frame)
    return found


def _format_of_file(path: Path) -> _Format:
    format = _format(path)
    _check_readable(path)
    return format


def _read(path: Path, read: Callable[[Path], T]) -> T:
    try:
        return read(path)
    except OSError as error:
        raise TableError(f"{path} cannot be read: {describe_os_error(error)}.") from None


def _check_rows(path: Path, frame: pd.DataFrame) -> pd.DataFrame:
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
    return _parse_parquet(path, path.read_bytes())


def _read_parquet_verbatim(path: Path) -> TableWithText:
    """Read both tables; NumPy's types would turn integers with blanks into floats."""
    content = path.read_bytes()
    frame = _parse_parquet(path, content)
    return TableWithText(frame, _parse_parquet(path, content, dtype_backend="pyarrow"))


def _parse_parquet(path: Path, content: bytes, **how: Any) -> pd.DataFrame:
    _need_pyarrow()
    try:
        frame = pd.read_parquet(io.BytesIO(content), engine="pyarrow", **how)
        _check_text(frame)
    except Exception as error:  # a damaged file raises errors of many types
        raise TableError(
            f"{path} cannot be read as Parquet: {one_line(error)}. Write it again."
        ) from None
    if any(name is not None for name in frame.index.names):
        frame = frame.reset_index()
    return number_rows(frame)


def _check_text(frame: pd.DataFrame) -> None:
    """Raise an error for text that is not UTF-8, which pyarrow reads without looking at it."""
    import pyarrow as pa

    for name in frame.columns:
        if isinstance(frame[name].dtype, pd.StringDtype | pd.ArrowDtype):
            pa.array(frame[name]).validate(full=True)


def _write_parquet(frame: pd.DataFrame, path: Path) -> None:
    _need_pyarrow()
    frame = frame.copy(deep=False)
    frame.attrs = {}  # pandas writes them into the file, as JSON
    import pyarrow as pa

    try:
        with path.open("wb") as file:  # pyarrow cannot open names that are not UTF-8
            frame.to_parquet(file, engine="pyarrow", index=False)
    except pa.ArrowException as error:
        raise TableError(f"Parquet cannot hold it: {one_line(error)}. Write a CSV.") from None


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
