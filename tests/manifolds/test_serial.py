"""Serial correlation is found in paths, and never in independent rows, sorted or not."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from foliax import Circle, Euclidean, Naturals, Product, SpecialOrthogonal, Sphere, Torus
from foliax.manifolds.serial import Part, serial_correlation, serial_correlations


def normal(seed, *shape):
    return np.random.default_rng(seed).normal(size=shape)


def on_sphere(x):
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def path(seed, n, d, *, step=0.1, pull=0.02):
    """A slow random walk that is pulled back to 0."""
    steps, x = step * normal(seed, n, d), np.zeros((n, d))
    for i in range(1, n):
        x[i] = (1 - pull) * x[i - 1] + steps[i]
    return x


N = 400
NORTH = np.array([0.0, 0.0, 1.0])
PATHS = {
    "sphere": (Sphere(2), on_sphere(path(0, N, 3) + NORTH)),
    "rotations": (SpecialOrthogonal(3), Rotation.from_rotvec(path(1, N, 3)).as_matrix()),
    "torus": (Torus(2), (path(2, N, 2) + np.pi) % (2 * np.pi) - np.pi),
    "northings": (Euclidean(2), 5.4e6 + 20 * path(3, N, 2)),
    "row": (
        Product(Sphere(2), Euclidean(1)),
        np.c_[on_sphere(path(4, N, 3) + NORTH), 1e3 * path(5, N, 1)],
    ),
}


@pytest.mark.parametrize("name", PATHS)
def test_a_path_is_found_and_its_shuffled_rows_are_not(name):
    manifold, rows = PATHS[name]
    rows = np.asarray(rows).reshape(N, -1)
    found = serial_correlation(manifold, rows)
    assert found is not None
    assert found.ratio < 0.3
    # Distances of a walk reach half of their limit within its correlation length of 50 rows.
    assert 8 <= found.length <= 128
    assert 10 <= found.blocks <= 13
    assert serial_correlation(manifold, np.random.default_rng(0).permutation(rows)) is None


def alternate(*paths):
    """Rows that take turns between paths."""
    return np.stack(paths, axis=1).reshape(-1, paths[0].shape[1])


@pytest.mark.parametrize("paths", [2, 3, 8])
def test_paths_that_take_turns_are_found(paths):
    # No path is beside the next one.
    places = [5 * (3 * number % 8) for number in range(paths)]
    each = [path(seed, N, 2) + place for seed, place in enumerate(places)]
    found = serial_correlation(Euclidean(2), alternate(*each))
    assert found is not None
    assert found.lag == paths
    assert found.length % paths == 0
    assert found.ratio < 0.3
    turns = [normal(seed, N, 2) + place for seed, place in enumerate(places)]
    assert serial_correlation(Euclidean(2), alternate(*turns)) is None


def test_consecutive_rows_have_lag_one():
    found = serial_correlation(Euclidean(2), path(0, N, 2))
    assert found is not None
    assert found.lag == 1


def tables(seed):
    """Independent rows, in their order and sorted."""
    x = normal(seed, 300, 3)
    y = on_sphere(x)
    angles = np.random.default_rng(seed).uniform(-np.pi, np.pi, (300, 1))
    two = 10.0 * (x[:, :1] > 0) + 0.01 * x[:, 1:2]
    yield Sphere(2), y
    yield Sphere(2), y[np.argsort(y[:, 2])]
    yield Sphere(2), y[np.argsort(np.arctan2(y[:, 1], y[:, 0]))]
    yield Euclidean(2), x[np.argsort(x[:, 0]), :2]
    yield Euclidean(2), (x[:, :1] + 0.1 * x[:, 1:])[np.argsort(x[:, 0])]
    yield Circle(), angles
    yield Circle(), np.roll(np.sort(angles, axis=0), 50)
    yield Euclidean(1), two
    yield Euclidean(1), np.sort(two, axis=0)
    yield Naturals(1), np.floor(np.abs(x[:, :1]))
    # Sorted by a label of 6 values that stands for a place.
    yield Euclidean(2), 5 * x[np.repeat(np.arange(6), 50), :2] + 0.3 * x[:, :2]


def test_independent_rows_are_no_path():
    """With 200 seeds, 2,200 tables, there is no alarm either."""
    for seed in range(20):
        for number, (manifold, rows) in enumerate(tables(seed)):
            assert serial_correlation(manifold, rows) is None, (seed, number)


def test_a_table_sorted_by_two_columns_is_no_path():
    first, second = normal(0, 500).round(1), normal(1, 500)
    order = np.lexsort((second, first))
    parts = [Part(Euclidean(1), x[order, None], x[order, None]) for x in (first, second)]
    assert serial_correlations(parts) == [None, None]


def test_the_path_among_independent_columns_is_found():
    lines = [path(0, N, 1), normal(1, N, 1), np.sort(normal(2, N, 1), axis=0)]
    found = serial_correlations([Part(Euclidean(1), x, x) for x in lines])
    assert found[0] is not None
    assert found[1:] == [None, None]
    assert serial_correlations([Part(Euclidean(1), x[:90], x[:90]) for x in lines]) == [None] * 3
