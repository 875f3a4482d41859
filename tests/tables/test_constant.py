"""Continuous columns with one value are refused; others are not."""

import numpy as np
import pandas as pd
import pytest

from foliax.tables import Schema, TableError
from foliax.tables.constant import check_columns_vary


@pytest.mark.parametrize(
    "table",
    [
        {"a": 1e15 + np.arange(4.0), "b": np.arange(4.0)},
        {"a": 1.7e18 + 256.0 * np.arange(4), "b": 1000.0 * np.arange(4)},
    ],
)
def test_columns_of_one_factor_may_have_other_scales(table):
    check_columns_vary(Schema.parse("real(a, b)").factors, pd.DataFrame(table))


def test_one_place_is_refused():
    table = pd.DataFrame({"lat": [90.0, 90.0], "lon": [10.0, 200.0]})
    with pytest.raises(TableError, match=r"all rows are the same point|every value is 90"):
        check_columns_vary(Schema.parse("sphere(lat=lat, lon=lon)").factors, table)
