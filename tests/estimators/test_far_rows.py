"""Rows that float32 represents more coarsely than the others are spread."""

import jax
import numpy as np
import pytest

import foliax
from foliax.density import Dataset
from foliax.estimators import LocalKernel, ScaleMixtureKernel
from foliax.io import dumps, loads
from foliax.manifolds.far_values import FarValueError, find_far_value
from foliax.manifolds.resolution import ResolutionError

KEY = jax.random.key(0)
N = 600


def with_one_row_at(far):
    rows = np.random.default_rng(0).normal(size=(N, 1))
    rows[0] = far
    return Dataset(rows, foliax.Euclidean(1))


def two_groups(far):
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(N, 1))
    rows[: N // 4] += far
    return Dataset(rows, foliax.Euclidean(1))


def mass_around(density, centre, reach, step=0.25):
    grid = centre + np.arange(-reach, reach, step)
    return np.exp(density.evaluate(grid[:, None], tol=np.inf).value).sum() * step


@pytest.mark.parametrize("far", [1e8, 1e12])
def test_a_far_row_has_no_more_than_its_mass(far):
    density = ScaleMixtureKernel().fit(with_one_row_at(far), key=KEY).density
    # The row's own share is 1/600. A spike on the grid of float32 would have up to 48. Broad
    # kernels, as wide as the distance to the other rows, carry what its own ones do not.
    steps = 64 * np.spacing(np.float32(far), dtype=np.float32).astype(float)
    mass = mass_around(density, far, 1000 * steps, step=steps)
    assert mass < 1.01 / N
    wide = mass_around(density, far, 0.9 * far, step=far / 2000)
    assert 0.3 / N < wide < 0.05
    assert abs(mass_around(density, 0.0, 50) - (1 - 1 / N)) < 0.02


def test_a_far_row_survives_a_model_file_and_sampling():
    density = ScaleMixtureKernel().fit(with_one_row_at(1e8), key=KEY).density
    assert any(part.finest is not None for part in density.parts)
    points = np.array([[0.0], [1.0], [1e8]])
    expected = density.evaluate(points, tol=np.inf).value
    loaded = loads(dumps(density)).density
    assert np.array_equal(loaded.evaluate(points, tol=np.inf).value, expected)
    drawn = density.sample(2000, key=KEY)
    # A share of 1/600 is far away, three standard errors allowed for.
    assert (drawn > 1e7).mean() <= 1 / N + 3 * np.sqrt(1 / N / 2000)


def test_many_rows_are_scored_like_few_beside_a_far_row():
    density = ScaleMixtureKernel().fit(with_one_row_at(1e7), key=KEY).density
    few = 1e7 + np.random.default_rng(2).normal(size=(50, 1))
    many = np.concatenate([few, np.random.default_rng(3).normal(size=(120_000, 1))])
    alone = density.evaluate(few, tol=np.inf).value
    # By an index of the kernels, and by their whole sum.
    assert np.abs(density.evaluate(many, tol=np.inf).value[:50] - alone).max() < 0.01


@pytest.mark.parametrize("kernel", [ScaleMixtureKernel(), LocalKernel()])
def test_a_group_that_float32_merges_is_refused(kernel):
    with pytest.raises(ResolutionError, match="Fit the groups separately"):
        kernel.fit(two_groups(1e9), key=KEY)


def test_a_group_that_float32_resolves_is_fitted():
    density = ScaleMixtureKernel().fit(two_groups(1e4), key=KEY).density
    # The broad kernels, with a weight of about 0.02, reach across both groups.
    assert abs(mass_around(density, 1e4, 50) - 0.25) < 0.015


def test_a_narrow_group_on_the_sphere_is_fitted():
    # Heights near a pole change with the square of the distance from it.
    rng = np.random.default_rng(4)
    points = rng.normal(size=(N, 3))
    points[: N // 4] = np.array([0.0, 0.0, 1.0]) + 3e-4 * rng.normal(size=(N // 4, 3))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    found = ScaleMixtureKernel().fit(Dataset(points, foliax.Sphere(2)), key=KEY)
    assert -found.record.best_validation > 0


def test_a_dequantized_flow_refuses_a_far_row_by_its_value():
    with pytest.raises(FarValueError, match=r"1 value is 100000000, and the median is"):
        foliax.DequantizedFlow().fit(with_one_row_at(1e8), key=KEY)


def test_log_normal_values_are_not_far():
    rows = np.exp(5 * np.random.default_rng(0).normal(size=(2000, 1)))
    assert rows.max() / np.median(rows) > 1e6
    assert find_far_value(foliax.PositiveReals(1), rows) is None
    assert find_far_value(foliax.Naturals(1), np.floor(rows)) is None
