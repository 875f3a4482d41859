import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.scipy.stats import norm

from foliax.manifolds import (
    Cells,
    Integers,
    LogCells,
    Naturals,
    OffManifoldError,
    Rounded,
    check_points,
)
from foliax.manifolds.points import check_points_on_device

from .contract import Case, suite


def discretised(cell_low, cell_high, loc, scale):
    return lambda y: jnp.log(
        norm.cdf(cell_high(y), loc, scale) - norm.cdf(cell_low(y), loc, scale)
    ).sum()


def two_sided_geometric(step):
    """Steps away from 0 by a two-sided geometric law of ratio ρ."""
    rho = 0.8

    def draw(key):
        k1, k2 = jax.random.split(key)
        size = jnp.floor(jnp.log(jax.random.uniform(k1, (1,))) / math.log(rho))
        sign = jnp.where(jax.random.bernoulli(k2), 1.0, -1.0)
        log_pmf = math.log(1 - rho) + size[0] * math.log(rho)
        return sign * size * step, log_pmf + jnp.where(size[0] == 0, 0, -math.log(2))

    return draw


def power_law(key):
    """⌊1/U^{1/a} − 1⌋: a tail heavier than the log-normal's."""
    a = 0.7
    n = jnp.floor(jax.random.uniform(key, (1,)) ** (-1 / a) - 1)
    n = jnp.minimum(n, 1e6)
    return n, jnp.log((n[0] + 1) ** -a - (n[0] + 2) ** -a)


CASES = [
    Case(
        "Z",
        Integers(1).dequantization(),
        invalid=(([0.5], "not an integer"),),
        awkward=(([0.0], [1e-6]), ([-3.0], [0.9999999]), ([1000.0], [0.5])),
        known=discretised(lambda y: y, lambda y: y + 1, 0.5, 3.0),
        loc=0.5,
        scale=3.0,
        proposal=two_sided_geometric(1.0),
        tol32=1e-3,
    ),
    Case(
        "N",
        Naturals(1).dequantization(),
        invalid=(([-1.0], "negative"), ([2.5], "whole")),
        awkward=(([0.0], [1e-20]), ([0.0], [0.5]), ([1e6], [0.5])),
        known=discretised(lambda y: jnp.log(y), lambda y: jnp.log(y + 1), 1.0, 1.0),
        loc=1.0,
        scale=1.0,
        proposal=power_law,
    ),
    Case(
        "rounded to 0.1",
        Cells(Rounded(0.1)),
        invalid=(([0.05], "not a multiple of 0.1"),),
        awkward=(([4.3], [1e-6]), ([-0.1], [0.9999999])),
        known=discretised(lambda y: y - 0.05, lambda y: y + 0.05, 0.0, 0.5),
        scale=0.5,
        proposal=two_sided_geometric(0.1),
        tol32=1e-3,
    ),
]

test_contract = suite(CASES)


def test_cells_are_where_the_values_were_rounded_from():
    floor, nearest = Cells(Integers(1)), Cells(Rounded(1.0))
    for x, down, near in ((2.7, 2, 3), (-0.2, -1, 0), (2.2, 2, 2)):
        assert float(floor.quantize(jnp.array([x]))[0][0]) == down
        assert float(nearest.quantize(jnp.array([x]))[0][0]) == near


def test_naturals_have_no_mass_below_zero():
    y, _ = jax.vmap(LogCells(Naturals(1)).quantize)(
        5 * jax.random.normal(jax.random.key(0), (1000, 1))
    )
    assert float(y.min()) == 0


def test_recorded_decimals_are_multiples_in_float32_too():
    values = np.arange(20_000)[:, None] / 100
    check_points(Rounded(0.01), values)
    with pytest.raises(OffManifoldError, match="Row 0"):
        check_points(Rounded(0.01), values + 0.004)


def test_integers_too_far_apart_for_float32_are_refused():
    far = np.array([[0.0], [1.0], [2.0**24]])
    check_points(Integers(1), far)
    with pytest.raises(OffManifoldError, match="too far for float32"):
        check_points_on_device(Integers(1), far)
    check_points_on_device(Naturals(1), far)


def test_a_step_is_positive():
    with pytest.raises(ValueError, match="positive step"):
        Rounded(-0.1)


def test_offset_lattices():
    quarter_past = Rounded(0.5, 1, 0.25)
    assert float(quarter_past.violation(jnp.array([1.75]))) == 0
    np.testing.assert_allclose(quarter_past.project(jnp.array([1.9])), [1.75])
