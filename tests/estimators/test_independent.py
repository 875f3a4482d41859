"""Independent factors: a product of densities, and what a model file keeps of it."""

import equinox as eqx
import jax
import numpy as np
import pytest

from foliax import io
from foliax.density import Dataset
from foliax.estimators import ScaleMixtureKernel, get_estimator
from foliax.estimators.independent import Independent, ProductDensity
from foliax.evaluation import total_mass
from foliax.manifolds import Circle, Interval, Naturals, Product, Sphere, Stiefel

KEY = jax.random.key(0)
KERNEL = ScaleMixtureKernel(smallest=1.0, largest=256.0, ratio=4.0)
CYLINDER = Product(Circle(), Interval(-1.0, 1.0))
RANDOM = np.random.default_rng(0)
ANGLES = RANDOM.vonmises(0.0, 2.0, (120, 1))
ROWS = np.concatenate([ANGLES, np.tanh(ANGLES / 2)], axis=1).astype(np.float32)
WEIGHTS = np.where(np.arange(120) < 20, 2.0, 1.0)


def fit(rows=ROWS, manifold=CYLINDER, weights=None):
    return Independent(KERNEL).fit(Dataset(rows, manifold, weights), key=KEY)


@pytest.fixture(scope="module")
def density() -> ProductDensity:
    return fit().density


def test_the_density_is_the_product_of_separate_fits(density):
    alone = [
        KERNEL.fit(Dataset(ROWS[:, i : i + 1], factor), key=jax.random.fold_in(KEY, i)).density
        for i, factor in enumerate(CYLINDER.factors)
    ]
    wanted = sum(part.evaluate(ROWS[:, i : i + 1]).value for i, part in enumerate(alone))
    np.testing.assert_allclose(density.evaluate(ROWS).value, wanted, atol=1e-5)
    np.testing.assert_allclose(density.log_prob(ROWS).value, wanted, atol=1e-4)


def test_the_total_mass_is_one(density):
    mass = total_mass(density, 4000, key=KEY)
    assert abs(mass.value - 1) < 4 * mass.error + 1e-3


def test_samples_follow_the_log_densities_and_are_independent(density):
    """E over samples of u/p is 1 for the uniform density u; columns are not correlated."""
    drawn = density.sample(4000, key=KEY)
    ratio = np.exp(-CYLINDER.log_total_volume() - density.evaluate(drawn).value)
    assert abs(ratio.mean() - 1) < 4 * ratio.std() / np.sqrt(len(ratio))
    assert abs(np.corrcoef(np.sin(drawn[:, 0]), drawn[:, 1])[0, 1]) < 4 / np.sqrt(len(drawn))
    assert np.corrcoef(np.sin(ROWS[:, 0]), ROWS[:, 1])[0, 1] > 0.9
    one = jax.jit(lambda key: density.sample(key=key))(KEY)
    assert one.shape == (2,)


def test_a_row_of_weight_two_is_a_row_twice():
    weighted = fit(weights=WEIGHTS).density.evaluate(ROWS).value
    repeated = fit(np.concatenate([ROWS, ROWS[:20]])).density.evaluate(ROWS).value
    np.testing.assert_allclose(weighted, repeated, atol=1e-4)


def test_the_same_key_gives_the_same_bits(density):
    assert eqx.tree_equal(density, fit().density)
    first, second = (density.sample(5, key=KEY) for _ in range(2))
    np.testing.assert_array_equal(first, second)


def test_a_model_file_gives_the_same_bits(density, tmp_path):
    path = tmp_path / "model.foliax"
    io.save(path, density, estimator=Independent(KERNEL))
    model = io.load(path)
    assert model.estimator == Independent(KERNEL)
    values = [d.evaluate(ROWS).value for d in (model.density, density)]
    np.testing.assert_array_equal(*values)


def test_one_factor_is_fitted_by_the_inner_estimator():
    rows = Dataset(ANGLES.astype(np.float32), Circle())
    found, inner = (e.fit(rows, key=KEY).density for e in (Independent(KERNEL), KERNEL))
    assert eqx.tree_equal(found, inner)


def test_large_offsets_and_counts():
    """The pressure needs float64, and its factor keeps that."""
    manifold = Product(Naturals(1), Interval(1e6, 1e6 + 1.0))
    rows = np.stack([RANDOM.poisson(4.0, 100), 1e6 + RANDOM.uniform(0.2, 0.8, 100)], axis=1)
    density = fit(rows, manifold).density
    assert np.isfinite(density.evaluate(rows).value).all()
    assert len(np.unique(density.sample(50, key=KEY)[:, 1])) == 50


def test_what_it_declares():
    spec = get_estimator("independent")
    assert isinstance(spec, Independent)
    mixed = Product(Sphere(2), Stiefel(3, 2))
    assert spec.serves(mixed)
    assert [type(spec.choose(factor)).__name__ for factor in mixed.factors] == [
        "ScaleMixtureKernel",
        "DequantizedFlow",
    ]
    assert not Independent(KERNEL, fallback=KERNEL).serves(mixed)
    work = [spec.fit_work(n, CYLINDER) for n in (100, 1000, 100_000)]
    assert work == sorted(work)
    assert work[0] > ScaleMixtureKernel().fit_work(100, Circle())
