"""A short part of `make truth`, and that its oracle sees what is wrong."""

import dataclasses

import numpy as np
import pandas as pd
import pytest

from campaign.cases import cases
from campaign.truth import Finding, measure

CASES = {case.name: case for case in cases()}
SHORT = [
    "real, offset/spread 1e+09",
    pytest.param("count, Poisson(1e+04)", marks=pytest.mark.slow),
    "circle, 1/spread 1e+06",
    "real, weights of 1 and 1e-12",
]


@pytest.mark.parametrize("name", SHORT)
def test_kernels_are_near_the_truth(name):
    found = measure(CASES[name], "kernel", rows=800)
    assert found.mass is not None
    assert found.ok, found.line()


@pytest.mark.parametrize(
    ("name", "low", "high"),
    [("real, clusters 1e-6 apart", 5 - 1e-6, 5 + 2e-6), ("positive, log-normal", 1e-9, 1e6)],
)
def test_the_true_densities_integrate_to_one(name, low, high):
    grid = np.geomspace(low, high, 400_001)
    values = np.exp(CASES[name].log_prob(pd.DataFrame({"x": grid})))
    assert np.trapezoid(values, grid) == pytest.approx(1, abs=1e-4)


def test_the_true_probabilities_sum_to_one():
    cells = {"rounded, offset/spread 1e+03": 0.5, "integer, offset/spread 1e+00": 1.0}
    for name, step in cells.items():
        table = pd.DataFrame({"x": step * np.arange(-4000, 4000)})
        total = np.exp(CASES[name].log_prob(table)).sum() * (step if step < 1 else 1)
        assert total == pytest.approx(1, abs=1e-9)


def test_a_wrong_density_is_noticed():
    case = CASES["real, offset/spread 1e+00"]
    wrong = dataclasses.replace(case, log_prob=lambda table: case.log_prob(table) + 0.3)
    assert not measure(wrong, "kernel", rows=800).ok
    assert not Finding("", "", (1.1, 0.01), (0.0, 0.01)).ok
    assert not Finding("", "", (1.0, 0.001), (0.2, 0.01)).ok
    assert Finding("", "", refused="because").ok
    assert not Finding("", "").ok
