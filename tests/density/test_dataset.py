"""Datasets: checked once, split and taken apart without losing track of weights and conditions."""

import jax
import numpy as np
import pytest

from foliax import Circle, Sphere
from foliax.density import Dataset
from foliax.manifolds import OffManifoldError

KEY = jax.random.key(0)
ROWS = np.random.default_rng(0).uniform(-3, 3, (20, 1))


def test_weights_and_conditions_go_with_their_rows():
    data = Dataset(ROWS, Circle(), np.arange(1.0, 21.0), np.arange(40.0).reshape(20, 2))
    kept, held_out = data.split(0.3, key=KEY)
    assert (len(kept), len(held_out)) == (14, 6)
    for part in (kept, held_out):
        numbers = part.weights.astype(int) - 1
        np.testing.assert_array_equal(part.rows, ROWS[numbers])
        np.testing.assert_array_equal(part.condition[:, 0], 2.0 * numbers)
    together = np.concatenate([kept.weights, held_out.weights])
    np.testing.assert_array_equal(np.sort(together), data.weights)


def test_no_more_rows_are_held_out_than_asked_for():
    kept, held_out = Dataset(ROWS, Circle()).split(0.5, key=KEY, max_held_out=3)
    assert (len(kept), len(held_out)) == (17, 3)
    assert kept.weights is None
    with pytest.raises(ValueError, match="too few to hold out"):
        Dataset(ROWS[:1], Circle()).split(0.5, key=KEY)


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"weights": np.ones(3)}, "weights of shape"),
        ({"weights": -np.ones(20)}, "non-negative"),
        ({"weights": np.zeros(20)}, "not all zero"),
        ({"weights": np.full(20, np.nan)}, "finite"),
        ({"condition": np.ones(20)}, "one row of features"),
        ({"condition": np.ones((3, 2))}, "one row of features"),
        ({"condition": np.full((20, 2), np.inf)}, "Row 0 of the condition"),
    ],
)
def test_what_does_not_fit_the_rows_is_refused(changes, match):
    with pytest.raises(ValueError, match=match):
        Dataset(ROWS, Circle(), **changes)


def test_rows_off_the_manifold_are_refused():
    with pytest.raises(OffManifoldError, match="Row 1"):
        Dataset([[1.0, 0.0, 0.0], [2.0, 0.0, 0.0]], Sphere(2))


def test_a_sampler_has_no_weights():
    def sampler(key, n):
        return jax.random.uniform(key, (n, 1))

    assert Dataset(sampler, Circle()).is_sampler
    with pytest.raises(ValueError, match="no weights"):
        Dataset(sampler, Circle(), np.ones(3))
