import math

import jax.numpy as jnp
import numpy as np
import pytest
from jax.scipy.stats import norm

from foliax.manifolds import ByRadii, Torus, Wrapping, covers

from .contract import Case, suite


def wrapped_normal(y):
    """Product of wrapped normals of mean 0.3 and deviation 1.2."""
    turns = 2 * jnp.pi * jnp.arange(-20, 21)
    return jnp.log(norm.pdf(y[:, None] + turns, 0.3, 1.2).sum(1)).sum()


def uniform(d):
    return lambda y: -d * math.log(2 * math.pi)


CASES = [
    Case(
        f"T^{d} radii",
        ByRadii(Torus(d)),
        invalid=(([90.0] + [0.0] * (d - 1), "degrees"),),
        awkward=(
            ([-math.pi] * d, [1.0] * d),
            ([0.0] * d, [1e-6] * d),
            ([math.pi] * d, [1e6] * d),
        ),
        known=uniform(d),
    )
    for d in (1, 2, 7)
] + [
    Case(
        "T² wrapped",
        Wrapping(Torus(2), window=2),
        invalid=(([0.0, -100.0], "angle 1"),),
        awkward=(([-math.pi, math.pi], []), ([3.0, -3.0], [])),
        known=wrapped_normal,
        loc=0.3,
        scale=1.2,
    ),
]

test_contract = suite(CASES)


def test_the_window_holds_every_shift_and_reports_what_it_loses():
    g = Wrapping(Torus(2), window=2)
    x, _ = g.preimages(jnp.array([0.1, 0.2]), jnp.zeros(0))
    shifts = np.round((np.asarray(x) - [0.1, 0.2]) / (2 * np.pi)).astype(int)
    assert {tuple(s) for s in shifts} == {(i, j) for i in range(-2, 3) for j in range(-2, 3)}
    assert covers(g, jnp.array([4.9 * np.pi, -4.9 * np.pi]))
    assert not covers(g, jnp.array([5.1 * np.pi, 0.0]))


def test_any_representative_has_the_same_preimages():
    g = Wrapping(Torus(1), window=1)
    for y in (0.5, 0.5 + 2 * math.pi, 0.5 - 2 * math.pi):
        x, _ = g.preimages(jnp.array([y]), jnp.zeros(0))
        np.testing.assert_allclose(np.sort(x[:, 0]), 0.5 + 2 * np.pi * np.arange(-1, 2), atol=1e-5)


def test_too_many_branches_are_refused():
    with pytest.raises(ValueError, match=r"2187 branches, more than .* ByRadii"):
        Wrapping(Torus(7), window=1)
