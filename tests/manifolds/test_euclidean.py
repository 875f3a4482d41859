import math

import jax
import jax.numpy as jnp
import pytest
from jax.scipy.stats import norm

from foliax.manifolds import Chart, Euclidean, Interval, PositiveReals

from .contract import Case, suite


def wide_normal(key):
    y = 3 * jax.random.normal(key, (2,))
    return y, norm.logpdf(y, 0, 3).sum()


def wide_log_normal(key):
    x = 1.5 * jax.random.normal(key, (1,))
    return jnp.exp(x), (norm.logpdf(x, 0, 1.5) - x).sum()


CASES = [
    Case(
        "R²",
        Chart(Euclidean(2)),
        known=lambda y: norm.logpdf(y).sum(),
        proposal=wide_normal,
        awkward=(([1e6, -1e6], []),),
    ),
    Case(
        "R₊",
        Chart(PositiveReals(1)),
        invalid=(([0.0], "not positive"), ([-2.0], "-2 is not positive")),
        known=lambda y: (norm.logpdf(jnp.log(y)) - jnp.log(y)).sum(),
        proposal=wide_log_normal,
        awkward=(([1e-6], []), ([1e6], [])),
    ),
    Case(
        "(2, 5)",
        Chart(Interval(2.0, 5.0)),
        invalid=(
            ([2.0], "2 is not strictly between"),
            ([7.0], "7 is not strictly"),
            ([5 - 1e-9], "not strictly"),
        ),
        awkward=(([2.0001], []), ([4.9999], [])),
        # log(y − 2) of a float32 y has an absolute error of 1e-7 / (y − 2).
        tol32=1e-2,
    ),
]

test_contract = suite(CASES)


def test_intervals_are_finite_and_ordered():
    with pytest.raises(ValueError, match="low < high"):
        Interval(1.0, 1.0)
    with pytest.raises(ValueError, match="finite"):
        Interval(0.0, math.inf)
