"""Tables as text: CSV and TSV, whose first line names the columns."""

from __future__ import annotations

import collections
import contextlib
import csv
import gzip
import io
import warnings
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from .errors import TableError, one_line
from .row_names import number_rows

UTF8_MARK = b"\xef\xbb\xbf"
"""What spreadsheets write at the start of a file in UTF-8."""

OTHER_CONTENTS = {
    b"\x1f\x8b": "It is compressed: add .gz to its name.",
    b"PK\x03\x04": "It is a spreadsheet or an archive: save the table as CSV in UTF-8.",
    b"\xff\xfe": "It is in UTF-16: save it as UTF-8.",
    b"\xfe\xff": "It is in UTF-16: save it as UTF-8.",
}
"""The first bytes of files that are often mistaken for text in UTF-8, and what to do."""


class _Record(NamedTuple):
    """The fields of a row, and the line in which it starts."""

    line: int
    fields: list[str]


class TextTable(NamedTuple):
    """A table and the text that it was read from.

    Attributes:
        path: The file.
        frame: The table, with numbers where pandas recognizes them.
        content: The bytes of the file, decompressed.
        separator: What separates the fields of a line.
    """

    path: Path
    frame: pd.DataFrame
    content: bytes
    separator: str

    def cells(self) -> pd.DataFrame:
        """Return the same rows as text: 007, NA and 1.50 stay what they are.

        Raises:
            TableError: A row has "nan" after the last column, which is no empty field.
        """
        columns = self.frame.columns
        # For objects, pandas ignores an empty field after the last column, as it does for numbers.
        how = {"dtype": object, "na_filter": False}
        text = (self.content, self.separator, len(columns))
        try:
            cells = _read_rows(*text, **how).astype(str)
        except pd.errors.ParserWarning as error:
            raise _describe_bad_record(self.path, *text, error) from None
        return cells.set_axis(columns, axis="columns").set_axis(self.frame.index)


def read_text(path: Path, separator: str) -> TextTable:
    """Read a table; the file is opened once.

    Blank lines are no rows, except in a table of one column, where they are missing values.

    Args:
        path: A file in UTF-8; it is decompressed if its name ends in .gz.
        separator: What separates the fields of a line.

    Returns:
        The table, whose rows know their lines.

    Raises:
        TableError: The file is not such a table.
    """
    content = _read_bytes(path)
    _check_characters(path, content)
    header = next(_records(path, content, separator), None)
    if header is None:
        raise TableError(f"{path} is empty. Its first line should name the columns.")
    names = [name.strip() for name in header.fields]
    _check_header(path, names, separator)
    try:
        table = _read_rows(content, separator, len(names))
    except (pd.errors.ParserError, pd.errors.ParserWarning) as error:
        raise _describe_bad_record(path, content, separator, len(names), error) from None
    table.columns = names
    lines = _find_lines(path, content, separator, len(table), len(names))
    infinite = _find_infinite(table, content, separator)
    return TextTable(path, number_rows(table, lines, infinite), content, separator)


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
    if path.suffix.lower() != ".gz":
        return content
    try:
        return gzip.decompress(content)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise TableError(
            f"{path} cannot be read as a compressed table: {one_line(error)}. It is incomplete or "
            "damaged: copy or compress it again."
        ) from None


def _check_characters(path: Path, content: bytes) -> None:
    """Refuse bytes that are no text; pandas ends a field at a NUL without a warning."""
    for first, hint in OTHER_CONTENTS.items():
        if content.startswith(first):
            raise TableError(f"{path} is not a text file in UTF-8. {hint}")
    if b"\0" in content:
        line = _count_lines(content[: content.index(b"\0") + 1])
        raise TableError(f"{path}, line {line}: there is a NUL byte, which no text has. Remove it.")
    try:
        content.decode()
    except UnicodeDecodeError as error:
        line = _count_lines(content[: error.start + 1])
        raise TableError(
            f"{path} is not a text file in UTF-8: line {line} has the byte "
            f"0x{content[error.start]:02x}. Save it as UTF-8."
        ) from None


def _records(
    path: Path, content: bytes, separator: str, *, blank: bool = False
) -> Iterator[_Record]:
    """Split text into records; `blank` includes blank lines."""
    text = io.TextIOWrapper(io.BytesIO(content), encoding="utf-8-sig", newline="")
    last = [""]

    def lines() -> Iterator[str]:
        for line in text:
            last[0] = line
            yield line

    reader = csv.reader(lines(), delimiter=separator, skipinitialspace=True)
    start = 1
    try:
        for fields in reader:
            if blank or len(fields) > 1 or last[0].strip():
                yield _Record(start, fields)
            start = reader.line_num + 1
    except csv.Error as error:
        raise TableError(f"{path}, line {start}: {one_line(error)}. Correct the line.") from None


def _read_rows(content: bytes, separator: str, width: int, **how: Any) -> pd.DataFrame:
    if width == 1:
        content = content.removeprefix(UTF8_MARK).strip()
    with warnings.catch_warnings():
        # Without index_col=False the first of too many fields would silently become the index.
        warnings.simplefilter("error", pd.errors.ParserWarning)
        return pd.read_csv(
            io.BytesIO(content),
            sep=separator,
            encoding="utf-8-sig",
            skipinitialspace=True,
            index_col=False,
            skip_blank_lines=width > 1,
            low_memory=False,  # in parts, a column could get a mixed type, with a warning
            **how,
        )


def _find_infinite(
    table: pd.DataFrame, content: bytes, separator: str
) -> dict[tuple[str, int], str]:
    """Return the text of infinite numbers, by column and row; reads only their columns again."""
    floats = [i for i, dtype in enumerate(table.dtypes) if dtype == np.float64]
    rows = {i: np.flatnonzero(np.isinf(table.iloc[:, i].to_numpy())) for i in floats}
    columns = [i for i in floats if len(rows[i])]
    if not columns:
        return {}
    how = {"usecols": columns, "dtype": object, "na_filter": False}
    cells = _read_rows(content, separator, table.shape[1], **how)
    return {
        (str(table.columns[i]), int(row)): str(cells.iloc[row, place])
        for place, i in enumerate(columns)
        for row in rows[i]
    }


def _find_lines(
    path: Path, content: bytes, separator: str, rows: int, width: int
) -> Sequence[int] | None:
    """Return the line in which each row starts; None if records are not the rows of pandas."""
    if _count_lines(content) == rows + 1:
        return range(2, rows + 2)
    single = width == 1
    text = content.rstrip() if single else content
    try:
        found = list(_records(path, text, separator, blank=single))
    except TableError:
        return None
    while found and not any(found[0].fields):
        found.pop(0)
    lines = [record.line for record in found[1:]]
    return lines if len(lines) == rows else None


def _count_lines(content: bytes) -> int:
    """Count lines as Python does: they end with \\n, \\r or \\r\\n, or with the file."""
    ends = content.count(b"\n") + content.count(b"\r") - content.count(b"\r\n")
    return ends + (not content.endswith((b"\n", b"\r")))


def _describe_bad_record(
    path: Path, content: bytes, separator: str, width: int, error: Exception
) -> TableError:
    """Say in which line a record has too many fields, or a quote that is not closed."""
    last = None
    for last in _records(path, content, separator):
        if any(last.fields[width:]):
            return TableError(
                f"{path}, line {last.line}: there are more fields ({len(last.fields)}) than the "
                f"header has names ({width}). Name every column, and quote text with a separator."
            )
    if last is not None and "EOF inside string" in str(error):
        return TableError(f"{path}, line {last.line}: a quote is not closed. Close or remove it.")
    return TableError(f"{path} cannot be read as a table: {one_line(error)}")


def _check_header(path: Path, names: list[str], separator: str) -> None:
    for other, word in ((";", "semicolons"), ("\t", "tabs"), (",", "commas")):
        if len(names) == 1 and other in names[0] and other != separator:
            raise TableError(
                f"{path}: its only column is called '{names[0]}'; it seems to be separated by "
                f"{word}. A .csv is separated by commas, a .tsv by tabs."
            )
    repeated = [name for name, times in collections.Counter(names).items() if times > 1]
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
