"""Tables as text: CSV and TSV, whose first line names the columns."""

from __future__ import annotations

import contextlib
import csv
import gzip
import io
import warnings
import zlib
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from .columns import FIRST_LINE
from .errors import TableError


class TextTable(NamedTuple):
    """A table and the text that it was read from.

    Attributes:
        frame: The table, with numbers where pandas recognizes them.
        content: The bytes of the file, decompressed.
        separator: What separates the fields of a line.
    """

    frame: pd.DataFrame
    content: bytes
    separator: str

    def cells(self) -> pd.DataFrame:
        """Return the same rows as text: 007, NA and 1.50 stay what they are."""
        cells = _read_rows(self.content, self.separator, dtype=str, na_filter=False)
        return cells.set_axis(self.frame.columns, axis="columns")


def read_text(path: Path, separator: str) -> TextTable:
    """Read a table; the file is opened once.

    Args:
        path: A file in UTF-8; it is decompressed if its name ends in .gz.
        separator: What separates the fields of a line.

    Returns:
        The table. Its `attrs` hold the line of the first row if every row is one line.

    Raises:
        TableError: The file is not such a table.
    """
    names: list[str] = []
    try:
        content = _read_bytes(path)
        names = _read_header(path, content, separator)
        _check_header(path, names, separator)
        table = _read_rows(content, separator)
    except UnicodeDecodeError:
        raise TableError(f"{path} is not a text file in UTF-8. Save it as UTF-8.") from None
    except pd.errors.ParserWarning:
        raise TableError(
            f"{path}: rows have more fields than the header has names, {len(names)}. Name every "
            "column."
        ) from None
    except (pd.errors.ParserError, csv.Error, gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise TableError(f"{path} cannot be read as a table: {error}".strip()) from None
    table.columns = names
    if _count_lines(content) == len(table) + 1:
        table.attrs[FIRST_LINE] = 2
    return TextTable(table, content, separator)


def format_text(frame: pd.DataFrame, separator: str = ",") -> str:
    """Return a table as text; numbers take the shortest form that reads back to the same float."""
    return _decode_bytes(frame).to_csv(sep=separator, index=False)


def write_text(frame: pd.DataFrame, path: Path, separator: str) -> None:
    """Write what `format_text` returns in UTF-8; equal tables give equal files."""
    with path.open("wb") as file, contextlib.ExitStack() as stack:
        stream: Any = file
        if path.suffix.lower() == ".gz":
            # The header names neither a file nor a time, which would differ between runs.
            stream = stack.enter_context(gzip.GzipFile("", "wb", fileobj=file, mtime=0))
        _decode_bytes(frame).to_csv(
            stream, sep=separator, index=False, mode="wb", errors="backslashreplace"
        )


def _decode_bytes(frame: pd.DataFrame) -> pd.DataFrame:
    """Replace bytes by text, where columns may hold them."""
    decoded = {
        i: frame.iloc[:, i].map(decode_if_bytes)
        for i, dtype in enumerate(frame.dtypes)
        if str(dtype) == "object" or "binary" in str(dtype)
    }
    if not decoded:
        return frame
    columns = [decoded.get(i, frame.iloc[:, i]) for i in range(frame.shape[1])]
    return pd.concat(columns, axis="columns").set_axis(frame.columns, axis="columns")


def decode_if_bytes(value: Any) -> Any:
    """Return the text of bytes, and any other value unchanged."""
    return value.decode(errors="backslashreplace") if isinstance(value, bytes) else value


def _read_bytes(path: Path) -> bytes:
    content = path.read_bytes()
    return gzip.decompress(content) if path.suffix.lower() == ".gz" else content


def _read_header(path: Path, content: bytes, separator: str) -> list[str]:
    text = io.TextIOWrapper(io.BytesIO(content), encoding="utf-8-sig", newline="")
    rows = csv.reader(text, delimiter=separator, skipinitialspace=True)
    first = next((row for row in rows if row), None)
    if first is None:
        raise TableError(f"{path} is empty. Its first line should name the columns.")
    return [name.strip() for name in first]


def _read_rows(content: bytes, separator: str, **how: Any) -> pd.DataFrame:
    with warnings.catch_warnings():
        # Without index_col=False the first of too many fields would silently become the index.
        warnings.simplefilter("error", pd.errors.ParserWarning)
        return pd.read_csv(
            io.BytesIO(content),
            sep=separator,
            encoding="utf-8-sig",
            skipinitialspace=True,
            index_col=False,
            **how,
        )


def _count_lines(content: bytes) -> int:
    """Count lines as Python does: they end with \\n, \\r or \\r\\n, or with the file."""
    ends = content.count(b"\n") + content.count(b"\r") - content.count(b"\r\n")
    return ends + (not content.endswith((b"\n", b"\r")))


def _check_header(path: Path, names: list[str], separator: str) -> None:
    for other, word in ((";", "semicolons"), ("\t", "tabs"), (",", "commas")):
        if len(names) == 1 and other in names[0] and other != separator:
            raise TableError(
                f"{path}: its only column is called '{names[0]}'; it seems to be separated by "
                f"{word}. A .csv is separated by commas, a .tsv by tabs."
            )
    repeated = [name for name in names if names.count(name) > 1]
    if repeated:
        raise TableError(f"{path}: two columns are called '{repeated[0]}'. Rename one.")
    if all(_is_number(name) for name in names):
        raise TableError(
            f"{path}: the first line is {', '.join(names[:4])}, numbers instead of names. Add a "
            "line that names the columns."
        )


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True
