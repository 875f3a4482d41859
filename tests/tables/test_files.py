"""Reading and writing tables."""

import datetime
import decimal
import gzip
import importlib.util
import io
import os
import sys
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from foliax.tables import Schema, TableError, read_table, write_table
from foliax.tables.files import read_table_verbatim

FRAME = pd.DataFrame({"lat": [0.1, -1 / 3, 1e-300], "n": [1, 2, 3], "wind dir": [1.5, 2.5, 359.0]})


@pytest.mark.parametrize(
    "name", ["a.csv", "a.tsv", "a.CSV", "a.csv.gz", "a.parquet", "a.npy", "a.npz"]
)
def test_round_trip(tmp_path, name):
    write_table(FRAME, tmp_path / name)
    back = read_table(tmp_path / name)
    pd.testing.assert_frame_equal(back, FRAME, check_exact=True)


@pytest.mark.parametrize("name", ["a.npy", "a.npz", "a.csv", "a.parquet"])
def test_text_columns_survive(tmp_path, name):
    write_table(FRAME.assign(who=["a", "bc", "d"]), tmp_path / name)
    assert read_table(tmp_path / name)["who"].tolist() == ["a", "bc", "d"]


def test_separators_are_what_the_endings_say(tmp_path):
    write_table(FRAME, tmp_path / "a.csv")
    write_table(FRAME, tmp_path / "a.tsv")
    assert (tmp_path / "a.csv").read_text().startswith("lat,n,wind dir\n0.1,1,1.5\n")
    assert (tmp_path / "a.tsv").read_text().startswith("lat\tn\twind dir\n")


def test_arrays_without_names(tmp_path):
    rows = np.arange(6.0).reshape(3, 2)
    np.save(tmp_path / "a.npy", rows)
    frame = read_table(tmp_path / "a.npy")
    assert list(frame) == ["c0", "c1"]
    write_table(frame, tmp_path / "b.npy")
    np.testing.assert_array_equal(np.load(tmp_path / "b.npy"), rows)
    np.save(tmp_path / "c.npy", rows[:, 0])
    assert list(read_table(tmp_path / "c.npy")) == ["c0"]
    np.savez(tmp_path / "a.npz", x=rows, n=np.arange(3))
    assert list(read_table(tmp_path / "a.npz")) == ["x0", "x1", "n"]


def test_marks_that_spreadsheets_add_are_ignored(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes("\ufefflat, lon \r\n1, 2,\r\n3, 4,\r\n".encode())
    frame = read_table(path)
    assert list(frame) == ["lat", "lon"]
    assert frame["lon"].tolist() == [2, 4]


def test_errors_name_the_line_also_after_filtering(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("x\n1\n-2\n-3\n")
    frame = read_table(path)
    with pytest.raises(TableError, match=r"^Row 2 \(line 3\), column x: -2"):
        Schema.parse("positive(x)").encode(frame)
    with pytest.raises(TableError, match=r"^Row 3 \(line 4\), column x: -3"):
        Schema.parse("positive(x)").encode(frame[frame["x"] != -2])


BAD = [
    ("absent.csv", None, "There is no file"),
    ("a.csv", b"", "is empty"),
    ("a.csv", b"\n\n", "is empty"),
    ("a.csv", b"lat,lon\n", "has no rows"),
    ("a.csv", b"1,2\n3,4\n", "numbers instead of names"),
    ("a.csv", b"a,a\n3,4\n", "two columns are called 'a'"),
    ("a.csv", b"a;b\n3;4\n", "separated by semicolons"),
    ("a.tsv", b"a,b\n3,4\n", "separated by commas"),
    ("a.csv", b"a\tb\n3\t4\n", "separated by tabs"),
    ("a.csv", b"a,b\n1,2\n1,2,3\n", r"line 3: .*more fields \(3\) .* names \(2\)"),
    ("a.csv", b"a,b\n1,2,3\n3,4,5\n", r"line 2: .*more fields \(3\) than"),
    ("a.csv", b"a,b\n0,2,3\n1,4,5\n", r"line 2: .*more fields \(3\) than"),
    ("a.csv", b'a,b\n1,"x\ny"\n\n1,2,3\n', r"line 5: .*more fields \(3\)"),
    ("a.csv", b'a,b\n1,2\n"3,4\n5,6\n', "line 3: a quote is not closed"),
    ("a.csv", b"a,b\n\xff\xfe,2\n", "not a text file in UTF-8: line 2 has the byte 0xff"),
    ("a.csv", b"a,b\n1,2\n3\x004,5\n", "line 3: there is a NUL byte"),
    ("a.csv", b"\xef\xbb\xbf", "is empty"),
    ("a.csv", b"x" * 200_000 + b",y\n1,2\n", "line 1: field larger than field limit"),
    ("a.csv", "a,b\n1,2\n".encode("utf-16"), "in UTF-16"),
    ("a.csv", b"\x1f\x8b\x08", "It is compressed: add .gz"),
    ("a.csv", b"PK\x03\x04", "save the table as CSV"),
    ("a.csv.gz", b"a,b\n1,2\n", "cannot be read"),
    ("a.parquet", b"a,b\n1,2\n", "cannot be read as Parquet"),
    ("a.npy", b"a,b\n1,2\n", "cannot be read as NumPy's .npy"),
    ("a.npz", b"a,b\n1,2\n", "cannot be read as NumPy's .npz"),
    ("a.xlsx", b"a,b\n1,2\n", "must be one of .csv, .tsv"),
]


@pytest.mark.parametrize(("name", "content", "message"), BAD)
def test_files_that_are_no_tables(tmp_path, name, content, message):
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(TableError, match=message):
        read_table(tmp_path / name)


def test_arrays_that_are_no_tables(tmp_path):
    np.save(tmp_path / "a.npy", np.zeros((2, 2, 2)))
    with pytest.raises(TableError, match=r"shape \(2, 2, 2\)"):
        read_table(tmp_path / "a.npy")
    np.save(tmp_path / "o.npy", np.array([{}], object), allow_pickle=True)
    with pytest.raises(TableError, match="cannot be read as NumPy"):
        read_table(tmp_path / "o.npy")
    np.savez(tmp_path / "a.npz", a=np.zeros(2), b=np.zeros(3))
    with pytest.raises(TableError, match=r"differ in length .a: 2, b: 3"):
        read_table(tmp_path / "a.npz")
    np.save(tmp_path / "b.npy", np.zeros((2, 2)))
    (tmp_path / "b.npy").rename(tmp_path / "b.npz")
    with pytest.raises(TableError, match="does not contain what its ending"):
        read_table(tmp_path / "b.npz")


def test_what_cannot_be_written(tmp_path):
    with pytest.raises(TableError, match="no folder"):
        write_table(FRAME, tmp_path / "absent" / "a.csv")
    with pytest.raises(TableError, match="called 'file'"):
        write_table(pd.DataFrame({"file": [1]}), tmp_path / "a.npz")


def test_parquet_names_what_to_install(tmp_path, monkeypatch):
    write_table(FRAME, tmp_path / "a.parquet")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    for use in (
        lambda: read_table(tmp_path / "a.parquet"),
        lambda: write_table(FRAME, "b.parquet"),
    ):
        with pytest.raises(TableError, match=r"pip install 'foliax\[parquet\]'"):
            use()


def test_compressed_text(tmp_path):
    with gzip.open(tmp_path / "a.csv.gz", "wt") as file:
        file.write("x\n1\n2\n")
    assert read_table(tmp_path / "a.csv.gz")["x"].tolist() == [1, 2]


opened: list[str] | None = None
"""Files opened since a test set it to an empty list."""


def record_open(event, arguments):
    if event == "open" and opened is not None:
        opened.append(str(arguments[0]))


sys.addaudithook(record_open)


@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.csv.gz", "a.npy", "a.npz"])
def test_a_file_is_opened_once(tmp_path, monkeypatch, name):
    """The audit hook sees every open in Python, also those inside pandas and NumPy."""
    path = tmp_path / name
    write_table(FRAME, path)
    read_table(path)  # so that imports are not counted
    monkeypatch.setattr(sys.modules[__name__], "opened", [])
    read_table(path)
    assert opened is not None
    assert opened.count(str(path)) == 1


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("last", [True, False])
def test_lines_are_counted_with_any_ending(tmp_path, end, last):
    path = tmp_path / "a.csv"
    path.write_bytes(end.join(["x", "1", "-2", *([""] if last else [])]).encode())
    with pytest.raises(TableError, match=r"^Row 2 \(line 3\), column x: -2"):
        Schema.parse("positive(x)").encode(read_table(path))


@pytest.mark.parametrize("name", ["a.csv.gz", "a.npz", "a.npy", "a.parquet"])
def test_damaged_files_are_no_tables(tmp_path, name):
    """Every cut, and random bytes anywhere, give a table or one error on one line."""
    path = tmp_path / name
    write_table(FRAME, path)
    whole = path.read_bytes()
    random = np.random.default_rng(0)
    for place in random.integers(1, len(whole), 40):
        damaged = bytearray(whole)
        damaged[place : place + 4] = random.bytes(len(damaged[place : place + 4]))
        for content in (whole[:place], bytes(damaged)):
            path.write_bytes(content)
            message = ""
            try:
                read_table(path)
            except TableError as error:
                message = str(error)
            assert "\n" not in message
            assert len(message) < 1000


def test_a_cut_archive_says_so(tmp_path):
    path = tmp_path / "a.csv.gz"
    write_table(FRAME, path)
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(TableError, match=r"cannot be read as a compressed table.*incomplete"):
        read_table(path)


def test_archives_of_other_things(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("x", "text")
    with pytest.raises(TableError, match="'x' is no array"):
        read_table(tmp_path / "a.npz")
    with zipfile.ZipFile(tmp_path / "b.npz", "w"):
        pass
    with pytest.raises(TableError, match="has no columns"):
        read_table(tmp_path / "b.npz")
    np.savez(tmp_path / "c.npz", a=np.zeros((3, 2)), a0=np.zeros(3))
    with pytest.raises(TableError, match="two columns are called 'a0'"):
        read_table(tmp_path / "c.npz")
    np.save(tmp_path / "d.npy", np.zeros(3, [("x", float, (2,))]))
    with pytest.raises(TableError, match=r"column 'x' has values of type float64, shape \(2,\)"):
        read_table(tmp_path / "d.npy")


@pytest.mark.parametrize("version", [(1, 0), (2, 0)])
def test_a_claim_of_terabytes_is_refused_before_it_is_allocated(tmp_path, version):
    file = io.BytesIO()
    np.lib.format.write_array(file, np.zeros(3), version=version)
    content = file.getvalue().replace(b"(3,)", b"(9999999999999,)")
    (tmp_path / "a.npy").write_bytes(content)
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("x.npy", content)
    for name in ("a.npy", "a.npz"):
        with pytest.raises(TableError, match=r"\(9999999999999,\) takes 79999999999992 bytes"):
            read_table(tmp_path / name)


def test_paths_that_are_no_files(tmp_path, monkeypatch):
    (tmp_path / "folder.csv").mkdir()
    (tmp_path / "loop.csv").symlink_to("loop.csv")
    (tmp_path / "device.csv").symlink_to("/dev/zero")
    os.mkfifo(tmp_path / "pipe.csv")
    for name, message in {
        "folder.csv": "is a folder",
        "loop.csv": "cannot be read: too many levels",
        "device.csv": "is a device or a pipe",
        "pipe.csv": "is a device or a pipe",
        "n" * 300 + ".csv": "cannot be read: file name too long",
        "folder.csv/a.csv": "There is no file",
    }.items():
        with pytest.raises(TableError, match=message):
            read_table(tmp_path / name)

    def refuse(path, *args):
        raise PermissionError(13, "Permission denied", str(path))

    for name in ("a.csv", "a.npy", "a.npz", "a.parquet"):
        write_table(FRAME, tmp_path / name)
    monkeypatch.setattr(Path, "open", refuse)
    monkeypatch.setattr(Path, "read_bytes", refuse)
    for name in ("a.csv", "a.npy", "a.npz", "a.parquet"):
        with pytest.raises(TableError, match=f"{name} cannot be read: permission denied"):
            read_table(tmp_path / name)


@pytest.mark.parametrize("name", ["a.csv", "a.npy", "a.npz", "a.parquet"])
def test_names_of_files_need_not_be_utf8(tmp_path, name):
    path = Path(os.fsdecode(os.fsencode(tmp_path / "x") + b"\xff" + name.encode()))
    write_table(FRAME, path)
    pd.testing.assert_frame_equal(read_table(path), FRAME)


def test_a_late_text_gives_no_warning(tmp_path):
    """pandas reads long files in parts, whose types differ."""
    (tmp_path / "a.csv").write_text("x,y\n" + "1,2\n" * 300_000 + "north,2\n")
    with pytest.raises(TableError, match=r"^Row 300001 \(line 300002\), column x: 'north'"):
        Schema.parse("real(x)").encode(read_table(tmp_path / "a.csv"))


REFUSED = {
    "complex": np.arange(3) * 1j,
    "date": np.arange(3).astype("M8[D]"),
    "duration": np.arange(3).astype("m8[s]"),
    "category": pd.Categorical(["a", "b", "a"]),
    "list": [[1, 2], [3], []],
    "dictionary": [{"a": 1}] * 3,
    "day": [datetime.date(2020, 1, 1)] * 3,
    "period": pd.period_range("2020", periods=3),
    "object complex": np.array([1j, 2, 3], object),
    "bytes": [b"1", b"x", b"2"],
    "long text": ["x" * 10_000, "1", "2"],
    "lines": ["a\nb", "1", "2"],
}


@pytest.mark.parametrize("what", REFUSED)
def test_odd_types_are_refused_on_one_line(what):
    frame = pd.DataFrame({"x": REFUSED[what]})
    with pytest.raises(TableError, match=r"[Cc]olumn '?x'?") as caught:
        Schema.parse("real(x)").encode(frame)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 250


ACCEPTED = {
    "decimal": [decimal.Decimal(value) for value in "123"],
    "bool": [True, True, True],
    "bytes": [b"1", b"2", b"3"],
    "text": ["1", " 2 ", "3e0"],
    "nullable": pd.array([1, 2, 3], "Int64"),
    "half": np.array([1, 2, 3], "f2"),
    "other byte order": np.array([1, 2, 3], ">f8"),
    "long": np.array([1, 2, 3], np.longdouble),
}


@pytest.mark.parametrize("what", ACCEPTED)
def test_odd_types_of_numbers_are_read(what):
    points = Schema.parse("real(x)").encode(pd.DataFrame({"x": ACCEPTED[what]}))
    assert points[:, 0].tolist() == ([1, 1, 1] if what == "bool" else [1, 2, 3])


def test_text_that_is_not_unicode_is_refused(tmp_path):
    for code in (0xD800, 0x7FFFFFFF):
        np.save(tmp_path / "a.npy", np.array([[code, 65]] * 3, "u4").view("U2")[:, 0])
        with pytest.raises(TableError, match=r"column 'c' holds text that is not valid Unicode"):
            read_table(tmp_path / "a.npy")


def test_parquet_refuses_types_that_it_cannot_hold(tmp_path):
    with pytest.raises(TableError, match=r"Parquet cannot hold it: .*float128.* Write a CSV"):
        write_table(pd.DataFrame({"x": np.ones(2, np.longdouble)}), tmp_path / "a.parquet")
    assert list(tmp_path.iterdir()) == []


def test_an_empty_field_after_the_last_column_is_no_cell(tmp_path):
    (tmp_path / "a.csv").write_text("x,y\n007,2,\n")
    assert read_table_verbatim(tmp_path / "a.csv").verbatim.to_numpy().tolist() == [["007", "2"]]


def test_parquet_text_that_is_not_utf8_is_refused(tmp_path):
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    raw = pa.array([b"1", b"\xff\xfe"], pa.binary())
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"x": pa.Array.from_buffers(pa.string(), 2, raw.buffers())}), path)
    with pytest.raises(TableError, match=r"t\.parquet cannot be read as Parquet: .*UTF"):
        read_table(path)


def test_a_missing_value_after_the_last_column_is_refused_where_text_is_kept(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("x,y\n1,2,nan\n")
    with pytest.raises(TableError, match=r"a\.csv, line 2: there are more fields \(3\)"):
        read_table_verbatim(path)
