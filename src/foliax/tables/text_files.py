"""Tables as text: CSV and TSV, whose first line names the columns."""

from __future__ import annotations

import csv
import gzip
import io
import warnings
from pathlib import Path

import pandas as pd

from .columns import LINES
from .errors import TableError


def read_text(path: Path, separator: str) -> pd.DataFrame:
    """A table, with the line of its first row in `attrs` where every row is one line."""
    names: list[str] = []
    try:
        names = _header(path, separator)
        _check_header(path, names, separator)
        table = _body(path, separator)
    except UnicodeDecodeError:
        raise TableError(f"{path} is not a text file in UTF-8. Save it as UTF-8.") from None
    except pd.errors.ParserWarning:
        raise TableError(
            f"{path}: rows have more fields than the header has names, {len(names)}. Name every "
            "column."
        ) from None
    except (pd.errors.ParserError, csv.Error, gzip.BadGzipFile) as error:
        raise TableError(f"{path} cannot be read as a table: {error}".strip()) from None
    table.columns = names
    with _open(path) as file:
        one_line_each = sum(1 for _ in file) == len(table) + 1
    if one_line_each:
        table.attrs[LINES] = 2
    return table


def _body(path: Path, separator: str) -> pd.DataFrame:
    with warnings.catch_warnings():
        # Without index_col=False the first of too many fields would silently become the index.
        warnings.simplefilter("error", pd.errors.ParserWarning)
        return pd.read_csv(
            path, sep=separator, encoding="utf-8-sig", skipinitialspace=True, index_col=False
        )


def write_text(frame: pd.DataFrame, path: Path, separator: str) -> None:
    """Numbers in the shortest form that reads back to the same float."""
    frame.to_csv(path, sep=separator, index=False)


def _open(path: Path) -> io.TextIOWrapper:
    if path.suffix.lower() == ".gz":
        return io.TextIOWrapper(gzip.open(path), encoding="utf-8-sig", newline="")
    return path.open(encoding="utf-8-sig", newline="")


def _header(path: Path, separator: str) -> list[str]:
    with _open(path) as file:
        rows = csv.reader(file, delimiter=separator, skipinitialspace=True)
        first = next((row for row in rows if row), None)
    if first is None:
        raise TableError(f"{path} is empty. Its first line should name the columns.")
    return [name.strip() for name in first]


def _check_header(path: Path, names: list[str], separator: str) -> None:
    for other, called in ((";", "semicolons"), ("\t", "tabs"), (",", "commas")):
        if len(names) == 1 and other in names[0] and other != separator:
            raise TableError(
                f"{path}: its only column is called '{names[0]}'; it seems to be separated by "
                f"{called}. A .csv is separated by commas, a .tsv by tabs."
            )
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise TableError(f"{path}: two columns are called '{twice[0]}'. Rename one.")
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
