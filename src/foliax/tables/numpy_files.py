"""Tables as NumPy arrays: NPY and NPZ, without pickles."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from io import BufferedIOBase
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.lib import format as npy_format

from .errors import TableError, one_line, shorten
from .row_names import number_rows

HEADER_READERS = {
    (1, 0): npy_format.read_array_header_1_0,
    (2, 0): npy_format.read_array_header_2_0,
}
"""NumPy's readers of headers by version; it has none for 3.0, which names in other scripts need."""

MAX_SHOWN_CHARACTERS = 200
"""Characters of a list of columns that an error message shows."""


def read_npy(path: Path) -> pd.DataFrame:
    """Read a structured array by its names; columns of a plain array are c0, c1, …."""
    array = _load(path, _check_array)
    if array.dtype.names and array.ndim == 1:
        columns = {name: _flat(path, name, array[name]) for name in array.dtype.names}
    else:
        columns = _columns(path, "c", array[:, None] if array.ndim == 1 else array)
    return number_rows(pd.DataFrame(columns))


def write_npy(frame: pd.DataFrame, path: Path) -> None:
    """Write a plain array if the columns are c0, c1, …, otherwise a structured array."""
    columns = _plain_columns(frame)
    if list(columns) == [f"c{i}" for i in range(len(columns))]:
        np.save(path, np.stack(list(columns.values()), axis=1))
        return
    array = np.empty(len(frame), [(name, values.dtype) for name, values in columns.items()])
    for name, values in columns.items():
        array[name] = values
    np.save(path, array)


def read_npz(path: Path) -> pd.DataFrame:
    """Read a column from each one-dimensional array; a0, a1, … from a two-dimensional array a."""
    columns: dict[str, np.ndarray] = {}
    for name, array in _load(path, _read_archive).items():
        found = {name: _flat(path, name, array)} if array.ndim == 1 else _columns(path, name, array)
        repeated = columns.keys() & found.keys()
        if repeated:
            raise TableError(f"{path}: two columns are called '{min(repeated)}'. Rename an array.")
        columns |= found
    lengths = {name: len(values) for name, values in columns.items()}
    if len(set(lengths.values())) > 1:
        shown = ", ".join(f"{name}: {length}" for name, length in lengths.items())
        raise TableError(
            f"{path}: columns differ in length ({shorten(shown, MAX_SHOWN_CHARACTERS)}). They must "
            "be equal."
        )
    return number_rows(pd.DataFrame(columns))


def write_npz(frame: pd.DataFrame, path: Path) -> None:
    """Write an array for each column."""
    columns: dict[str, Any] = _plain_columns(frame)
    if "file" in columns:
        raise TableError("NPZ cannot hold a column called 'file'. Rename it, or write a CSV.")
    np.savez(path, **columns)


def _load(path: Path, read: Callable[[Path, Any], Any]) -> Any:
    """Read with NumPy. Files that are damaged or written to do harm raise errors of many types."""
    try:
        with path.open("rb") as file:
            if file.read(len(npy_format.MAGIC_PREFIX)) == npy_format.MAGIC_PREFIX:
                _check_size(path, file, path.stat().st_size)
            file.seek(0)
            return read(path, np.load(file, allow_pickle=False))
    except (TableError, PermissionError):
        raise
    except Exception as error:
        raise TableError(
            f"{path} cannot be read as NumPy's {path.suffix}: {one_line(error)}. Write it again "
            "with NumPy, without pickled objects."
        ) from None


def _check_size(path: Path, file: BufferedIOBase, size: int) -> None:
    """Refuse an array that claims more bytes than its file has, before NumPy allocates them."""
    file.seek(0)
    read_header = HEADER_READERS.get(npy_format.read_magic(file))
    if read_header is None:
        return
    shape, _, dtype = read_header(file)
    claimed = math.prod(shape) * dtype.itemsize
    if claimed > size and not dtype.hasobject:
        raise TableError(
            f"{path} is incomplete or damaged: an array of shape {shape} takes {claimed} bytes, "
            f"and there are {size}. Copy or write it again."
        )


def _check_array(path: Path, loaded: Any) -> np.ndarray:
    if not isinstance(loaded, np.ndarray):
        raise _wrong_ending(path)
    return loaded


def _read_archive(path: Path, loaded: Any) -> dict[str, np.ndarray]:
    if isinstance(loaded, np.ndarray):
        raise _wrong_ending(path)
    for entry in loaded.zip.infolist():
        with loaded.zip.open(entry) as file:
            if file.read(len(npy_format.MAGIC_PREFIX)) == npy_format.MAGIC_PREFIX:
                _check_size(path, file, entry.file_size)
    arrays = {name: loaded[name] for name in loaded.files}
    for name, array in arrays.items():
        if not isinstance(array, np.ndarray):
            raise TableError(f"{path}: '{name}' is no array. Write the file again with NumPy.")
    return arrays


def _wrong_ending(path: Path) -> TableError:
    return TableError(f"{path} does not contain what its ending {path.suffix} says. Rename it.")


def _flat(path: Path, name: str, array: np.ndarray) -> np.ndarray:
    """Return an array of single values in the byte order of this machine, as pandas needs it."""
    if array.ndim != 1 or array.dtype.kind == "V":
        raise TableError(
            f"{path}: column '{name}' has values of type {array.dtype}, shape {array.shape[1:]}. "
            "Save single numbers, each field in its own column."
        )
    array = array.astype(array.dtype.newbyteorder("="), copy=False)
    if array.dtype.kind == "U":
        _check_text(path, name, array)
    return array


def _check_text(path: Path, name: str, array: np.ndarray) -> None:
    """Refuse numbers that are no characters, which NumPy does not check."""
    if not array.size or not array.dtype.itemsize:
        return
    codes = np.ascontiguousarray(array).view(np.uint32)
    if (codes > sys.maxunicode).any() or ((codes >= 0xD800) & (codes <= 0xDFFF)).any():
        raise TableError(
            f"{path}: column '{name}' holds text that is not valid Unicode. It is damaged: copy or "
            "write it again."
        )


def _columns(path: Path, name: str, array: np.ndarray) -> dict[str, np.ndarray]:
    if array.ndim != 2:
        raise TableError(
            f"{path}: array '{name}' has shape {array.shape}; a table has rows and columns. "
            "Reshape it to (rows, columns)."
        )
    return {f"{name}{i}": _flat(path, name, column) for i, column in enumerate(array.T)}


def _plain_columns(frame: pd.DataFrame) -> dict[str, np.ndarray]:
    """Convert columns to NumPy values that need no pickling: numbers, or text of fixed width."""
    found = {}
    for i, name in enumerate(frame.columns):
        found[str(name)] = _plain_values(frame.iloc[:, i])
    return found


def _plain_values(series: pd.Series) -> np.ndarray:
    values = series.to_numpy()
    if values.dtype != object:
        return values
    if pd.api.types.is_numeric_dtype(series.dtype) and not pd.api.types.is_bool_dtype(series.dtype):
        return series.to_numpy(np.float64, na_value=np.nan)  # Integers with blanks.
    return _as_text(values)


def _as_text(values: np.ndarray) -> np.ndarray:
    """Convert objects to text, and blanks to empty text; bytes stay bytes."""
    blank = pd.isna(values)
    if all(isinstance(value, bytes) for value in values[~blank]):
        return np.where(blank, b"", values).astype(np.bytes_)
    return np.where(blank, "", values).astype(np.str_)
