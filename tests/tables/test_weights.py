"""Weights of rows: errors name the row of the file."""

import numpy as np
import pandas as pd
import pytest

from foliax.tables import TableError, read_table, read_weights

BAD = {
    "negative": ("-1", "the weight is '-1'"),
    "infinite": ("inf", "the weight is 'inf'"),
    "missing": ("", "the weight is missing"),
    "text": ("heavy", "the weight is 'heavy'"),
    "huge": ("1e300", r"the weight 1e\+300 is so large that all other rows count nothing"),
}


@pytest.mark.parametrize("what", BAD)
def test_bad_weights_name_the_row_of_the_file(tmp_path, what):
    value, message = BAD[what]
    weights = ["1"] * 9
    weights[6] = value
    (tmp_path / "a.csv").write_text("x,w\n" + "".join(f"1,{w}\n\n" for w in weights))
    frame = read_table(tmp_path / "a.csv")
    with pytest.raises(TableError, match=rf"^Row 7 \(line 14\), column w: {message}"):
        read_weights(frame, "w", np.array([0, 2, 6, 8]))
    if what != "text":
        kept = np.array([0, 2, 5, 8])
        np.testing.assert_array_equal(read_weights(frame, "w", kept), np.ones(4))


def test_other_refusals():
    frame = pd.DataFrame({"w": [0, 0]})
    with pytest.raises(TableError, match="all weights are 0"):
        read_weights(frame, "w", np.arange(2))
    with pytest.raises(TableError, match="The weights: The table has no column 'v'"):
        read_weights(frame, "v", np.arange(2))


@pytest.mark.parametrize("scale", [1e-308, 1e-40, 1e40, 1e308])
def test_weights_that_single_precision_cannot_hold_are_scaled(scale):
    frame = pd.DataFrame({"w": scale * np.array([1, 0.5, 0])})
    np.testing.assert_allclose(read_weights(frame, "w", np.arange(3)), [2, 1, 0])


def test_other_weights_are_not_scaled():
    frame = pd.DataFrame({"w": [1e12, 1.0, 1e7, 0]})
    np.testing.assert_array_equal(read_weights(frame, "w", np.arange(4)), frame["w"])
