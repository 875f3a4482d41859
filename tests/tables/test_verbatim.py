"""Columns that a command does not change come back as the file has them."""

import gzip
import io

import numpy as np
import pandas as pd
import pytest

from foliax.tables import read_table, write_table
from foliax.tables.files import read_table_verbatim
from foliax.tables.verbatim import add_columns, select_verbatim

TEXT = (
    "id,zone,amount,big,note,flag\n"
    '007,NA,1.50,9007199254740993,"a, ""b""",True\n'
    "010,,2,,NaN,False\n"
    "003,null,3e2,12345678901234567890,None,True\n"
)


@pytest.fixture(params=[".csv", ".tsv", ".csv.gz"])
def table(request, tmp_path):
    path = tmp_path / f"table{request.param}"
    separator = "\t" if "tsv" in request.param else ","
    text = pd.read_csv(io.StringIO(TEXT), dtype=str, na_filter=False)
    content = text.to_csv(index=False, sep=separator).encode()
    path.write_bytes(gzip.compress(content) if request.param.endswith("gz") else content)
    return path


def expected() -> pd.DataFrame:
    return pd.read_csv(io.StringIO(TEXT), dtype=str, na_filter=False)


def test_text_comes_back_unchanged(table):
    rows = select_verbatim(read_table_verbatim(table), np.array([0, 2]), as_text=True)
    assert rows.to_numpy().tolist() == expected().iloc[[0, 2]].to_numpy().tolist()
    write_table(rows, table)
    again = read_table_verbatim(table).verbatim
    assert again.to_numpy().tolist() == rows.to_numpy().tolist()


def test_numbers_where_they_stand_for_the_text(table):
    rows = select_verbatim(read_table_verbatim(table), np.arange(3), as_text=False)
    assert rows["id"].tolist() == ["007", "010", "003"]
    assert rows["zone"].isna().tolist() == [False, True, False]
    assert rows["zone"][0] == "NA"
    assert rows["zone"][2] == "null"
    assert rows["amount"].tolist() == [1.5, 2.0, 300.0]
    assert rows["big"][0] == "9007199254740993"
    assert rows["note"].tolist() == ['a, "b"', "NaN", "None"]
    assert rows["flag"].tolist() == [True, False, True]


def test_other_formats_hold_text_and_blanks(table, tmp_path):
    rows = select_verbatim(read_table_verbatim(table), np.arange(3), as_text=False)
    for name in ("out.parquet", "out.npz", "out.npy"):
        write_table(rows, tmp_path / name)
        found = read_table(tmp_path / name)
        assert found["id"].tolist() == ["007", "010", "003"]
        assert found["zone"].fillna("").tolist() == ["NA", "", "null"]


def test_integers_with_blanks_keep_their_digits(tmp_path):
    ids = pd.array([2**60 + 1, None], dtype="Int64")
    pd.DataFrame({"id": ids, "x": [0.5, 1.5]}).to_parquet(tmp_path / "a.parquet")
    found = read_table_verbatim(tmp_path / "a.parquet")
    assert found.frame["x"].tolist() == [0.5, 1.5]
    rows = select_verbatim(found, np.arange(2), as_text=False)
    write_table(rows, tmp_path / "b.parquet")
    write_table(rows, tmp_path / "b.csv")
    assert pd.read_parquet(tmp_path / "b.parquet", dtype_backend="pyarrow")["id"][0] == 2**60 + 1
    assert (tmp_path / "b.csv").read_text() == f"id,x\n{2**60 + 1},0.5\n,1.5\n"


def test_bytes_are_written_as_text(tmp_path):
    np.savez(tmp_path / "a.npz", name=np.array([b"one", b"\xff"]), x=np.arange(2))
    rows = read_table_verbatim(tmp_path / "a.npz").verbatim
    write_table(rows, tmp_path / "a.csv")
    assert (tmp_path / "a.csv").read_text() == "name,x\none,0\n\\xff,1\n"


def test_a_column_of_the_user_is_not_replaced():
    rows = pd.DataFrame({"error": ["a"], "error_2": ["b"], "x": [1]}, index=[5])
    scored, names = add_columns(rows, {"score": np.array([0.5]), "error": np.array([0.1])})
    assert names == {"score": "score", "error": "error_3"}
    assert scored.to_dict("list") == {
        "error": ["a"],
        "error_2": ["b"],
        "x": [1],
        "score": [0.5],
        "error_3": [0.1],
    }


def test_equal_tables_give_equal_compressed_files(tmp_path):
    frame = pd.DataFrame({"a": [1, 2]})
    write_table(frame, tmp_path / "one.csv.gz")
    write_table(frame, tmp_path / "two.csv.gz")
    assert (tmp_path / "one.csv.gz").read_bytes() == (tmp_path / "two.csv.gz").read_bytes()


def test_a_failed_write_leaves_the_old_table(tmp_path, monkeypatch):
    path = tmp_path / "a.csv"
    path.write_text("old")

    def fail(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pd.DataFrame, "to_csv", fail)
    with pytest.raises(OSError, match=r"a\.csv cannot be written: no space"):
        write_table(pd.DataFrame({"a": [1]}), path)
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["a.csv"]
