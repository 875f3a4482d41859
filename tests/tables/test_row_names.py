"""Errors name the row and the line of the user's file: planted-value oracle for every kind."""

import importlib
import io

import numpy as np
import pandas as pd
import pytest

from foliax.tables import KINDS, Schema, TableError, read_table, write_table

ROWS = 30
WRONG_NUMBERS = {
    "sphere": 5000,
    "circle": 5000,
    "torsions": 5000,
    "euler": 5000,
    "rotvec": 5000,
    "count": -1,
    "integer": 0.5,
    "rounded": 0.123,
    "positive": 0,
    "fraction": 7,
    "interval": 9,
}
"""Invalid numbers of kinds for which 3 is valid; unit vectors and matrices are not of length 3."""


def make_case(kind: str):
    """Return the first case of the kind's contract suite."""
    module = importlib.import_module(f"tests.tables.kinds.test_{kind}")
    return module.CASES[0]


def bad_values(kind: str) -> list[str]:
    numbers = [] if kind == "real" else [str(WRONG_NUMBERS.get(kind, 3))]
    return ["north", "inf", "-1e400", '"1,5"', *numbers]


class Text:
    """A CSV file that knows in which line each of its rows starts."""

    def __init__(self, end: str):
        self.end, self.parts, self.line, self.starts = end, [], 1, []

    def add(self, record: str, *, is_row: bool = True):
        if is_row:
            self.starts.append(self.line)
        self.parts.append(record + self.end)
        self.line += 1 + record.count("\n")

    def bytes(self) -> bytes:
        return "".join(self.parts).encode()


def write_rows(frame: pd.DataFrame, random: np.random.Generator) -> Text:
    """Write rows with blank lines between them and line breaks in the last column."""
    text = Text(end=random.choice(["\n", "\r\n"]))
    for _ in range(random.integers(3)):
        text.add("", is_row=False)
    text.add(",".join([*frame, "note"]), is_row=False)
    for row in frame.astype(str).itertuples(index=False):
        for _ in range(random.choice([0, 0, 1, 2])):
            text.add(random.choice(["", "   "]), is_row=False)
        note = random.choice(["plain", '"two\nlines"', '"a, comma"', '""'])
        text.add(",".join([*row, note]))
    return text


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("kind", KINDS)
def test_planted_values(tmp_path, kind, seed):
    random = np.random.default_rng([seed, *kind.encode()])
    case = make_case(kind)
    columns = list(case.frame)
    for bad in bad_values(kind):
        rows = random.integers(len(case.frame), size=ROWS)
        frame = case.frame.iloc[rows].astype(object).reset_index(drop=True)
        planted, *missing = random.permutation(ROWS)[:6]
        column = random.choice(columns)
        frame.loc[planted, column] = bad
        for row in missing:
            frame.loc[row, random.choice(columns)] = ""
        text = write_rows(frame, random)
        path = tmp_path / "a.csv"
        path.write_bytes(text.bytes())

        read = read_table(path)
        name = f"Row {planted + 1} (line {text.starts[planted]}), column"
        shuffled = read.drop(index=missing).sample(frac=1, random_state=seed)
        with pytest.raises(TableError) as caught:
            case.schema.encode(shuffled)
        assert str(caught.value).startswith(name)
        assert column in str(caught.value).split(":")[0]
        report = case.schema.prepare(read, drop_invalid=True).report
        assert any(line.startswith(f"1 × {name}") for line in report)


@pytest.mark.parametrize("name", ["a.npy", "a.npz", "a.parquet", "a.tsv", "a.csv.gz"])
def test_rows_of_every_format(tmp_path, name):
    latitudes = np.linspace(-80, 80, 20)
    latitudes[13] = 95
    index = np.arange(100, 120)  # Parquet keeps it, but a row's number is its place in the file
    write_table(pd.DataFrame({"lat": latitudes, "lon": 0.0}, index=index), tmp_path / name)
    frame = read_table(tmp_path / name)
    line = " (line 15)" if "sv" in name else ""
    for part in (frame, frame[frame["lat"] > 0], frame.sample(frac=1, random_state=0), frame[12:]):
        with pytest.raises(TableError) as caught:
            Schema.parse("sphere(lat=lat, lon=lon)").encode(part)
        assert str(caught.value).startswith(f"Row 14{line}, column lat: latitude is 95")


def test_parquet_keeps_the_users_index_as_a_column(tmp_path):
    frame = pd.DataFrame({"y": [1.0, 2, 3]}, index=pd.Index([1.0, -2, 3], name="x"))
    frame.to_parquet(tmp_path / "a.parquet")
    with pytest.raises(TableError, match=r"^Row 2, column x"):
        Schema.parse("positive(x)").encode(read_table(tmp_path / "a.parquet"))


def test_no_line_is_named_where_it_could_be_wrong(tmp_path):
    (tmp_path / "a.csv").write_text("x\n1\n2\n-3\n")
    (tmp_path / "b.csv").write_text("x\n1\n2\n")
    frame, other = read_table(tmp_path / "a.csv"), read_table(tmp_path / "b.csv")
    schema = Schema.parse("positive(x)")
    with pytest.raises(TableError, match=r"^Row 2, column x"):
        schema.encode(frame[1:].reset_index(drop=True))
    with pytest.raises(TableError, match=r"^Row 5, column x"):
        schema.encode(pd.concat([other, frame]))
    with pytest.raises(TableError, match=r"^Row 3 \(line 4\), column x"):
        schema.encode(pd.concat([frame[:2], frame]))


def test_blank_lines_of_one_column_are_missing_values(tmp_path):
    (tmp_path / "a.csv").write_text("\nx\n1\n\n  \n-4\n5\n\n \n")
    frame = read_table(tmp_path / "a.csv")
    assert len(frame) == 5
    with pytest.raises(TableError, match=r"^Row 2 \(line 4\), column x: the value is missing"):
        Schema.parse("real(x)").encode(frame)
    with pytest.raises(TableError, match=r"^Row 4 \(line 6\), column x: -4"):
        Schema.parse("positive(x)").encode(frame.dropna())


def test_lines_do_not_reach_written_files(tmp_path):
    (tmp_path / "a.csv").write_text("x\n1\n2\n")
    write_table(read_table(tmp_path / "a.csv"), tmp_path / "a.parquet")
    assert pd.read_parquet(io.BytesIO((tmp_path / "a.parquet").read_bytes())).attrs == {}
