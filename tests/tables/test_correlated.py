"""Blocks from columns, and warnings about tables whose consecutive rows are much alike."""

import numpy as np
import pandas as pd
import pytest

from foliax.tables import Schema, TableError, audit
from foliax.tables.correlated import read_blocks

from ..manifolds.test_serial import path

N = 400
TRACK = pd.DataFrame(
    {
        "lat": 40 + 5 * path(0, N, 1)[:, 0],
        "lon": 10 + 5 * path(1, N, 1)[:, 0],
        "speed": np.random.default_rng(2).uniform(1, 9, N),
        "day": np.repeat(["mon", "tue", "wed", "thu"], N // 4),
        "ten": np.repeat(np.arange(N // 10), 10),
    }
)
SCHEMA = Schema.parse("sphere(lat=lat, lon=lon); positive(speed)")


def correlated(frame, blocks=None):
    found = audit(frame, SCHEMA, blocks)
    assert all(finding.severity == "warning" for finding in found)
    return found


def test_a_track_is_a_warning_that_says_what_to_do():
    (finding,) = correlated(TRACK)
    assert finding.columns == ("lat", "lon")
    assert "consecutive rows are far nearer to each other than random rows" in finding.message
    assert "Use --blocks with the column" in finding.consequence
    assert "--blocks 10 for consecutive parts" in finding.consequence


def test_shuffled_and_sorted_tracks_are_clean():
    assert correlated(TRACK.sample(frac=1, random_state=0)) == []
    for column in ("lat", "lon", "speed"):
        assert correlated(TRACK.sort_values(column)) == []


def test_long_blocks_are_clean_and_short_ones_are_not():
    assert correlated(TRACK, read_blocks(TRACK, "day")) == []
    assert correlated(TRACK, read_blocks(TRACK, "0")) == []
    (finding,) = correlated(TRACK, read_blocks(TRACK, "ten"))
    assert finding.message.startswith("blocks have about 10 consecutive rows")


def test_two_alternating_tracks_are_a_warning():
    other = {
        "lat": TRACK["lat"] - 60,
        "lon": TRACK["lon"] + 60,
        "speed": TRACK["speed"].to_numpy()[::-1],
    }
    both = pd.concat([TRACK, TRACK.assign(**other)])
    (finding,) = correlated(both.sort_index(kind="stable").reset_index(drop=True))
    assert finding.columns == ("lat", "lon")
    assert finding.message.startswith("rows alternate between 2 series, and rows 2 apart are far")


def test_invalid_rows_are_left_out():
    broken = TRACK.assign(lat=TRACK["lat"].where(TRACK.index != 7, 95.0))
    found = audit(broken, SCHEMA, read_blocks(TRACK, "ten"))
    assert "1 of 400 rows is invalid" in found[0].message
    assert found[-1].message.startswith("blocks have about 10 consecutive rows")


def test_a_column_or_a_number_makes_blocks():
    np.testing.assert_array_equal(read_blocks(TRACK, "ten"), TRACK["ten"])
    assert len(set(read_blocks(TRACK, "day"))) == 4
    np.testing.assert_array_equal(read_blocks(TRACK, "4"), np.repeat(range(4), 100))
    np.testing.assert_array_equal(read_blocks(TRACK, "0"), np.arange(N))


@pytest.mark.parametrize(
    ("changes", "text", "match"),
    [
        ({}, "hour", "no column 'hour' for blocks. It has: lat, lon"),
        ({}, "1", "at least 2 and below the number of rows, 400"),
        ({}, "400", "blocks of one row do nothing"),
        ({}, "401", "at least 2 and below the number of rows, 400"),
        ({}, "speed", "another value in every row, so that it labels no blocks"),
        ({"day": "mon"}, "day", "the same value in all rows"),
        (
            {"day": [None] * 3 + ["mon"] * 397},
            "day",
            "column day: the label of the block is",
        ),
        (
            {"day": [*("mon" for _ in range(399)), np.array([np.nan])]},
            "day",
            r"Row 400, column day: the label of the block is array\(\[nan\]\)",
        ),
    ],
)
def test_what_labels_no_blocks_is_refused(changes, text, match):
    with pytest.raises(TableError, match=match):
        read_blocks(TRACK.assign(**changes), text)
