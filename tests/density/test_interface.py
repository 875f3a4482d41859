"""The public face of a density: one point, many rows, samples, a tolerance."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from foliax import Circle, Sphere
from foliax.density import Dataset, DequantizedDensity, Stacked
from foliax.estimators import DequantizedFlow, ScaleMixtureKernel
from foliax.flows import RealNVP
from foliax.paper import targets

KEY = jax.random.key(0)
TARGET = targets.sphere_s2()


@pytest.fixture(scope="module")
def densities():
    rows = TARGET.sample(60, key=KEY)
    data = Dataset(rows, Sphere(2))
    kernel = ScaleMixtureKernel(largest=30.0).fit(data, key=KEY).density
    flow = DequantizedFlow(RealNVP(1, 4)).build(data, key=KEY)
    stacked = Stacked((kernel, flow), jnp.log(jnp.array([0.5, 0.5])))
    return {"target": TARGET, "kernel": kernel, "flow": flow, "stack": stacked}


@pytest.mark.parametrize("name", ["target", "kernel", "flow", "stack"])
def test_rows_and_single_points_agree(densities, name):
    density, rows = densities[name], TARGET.sample(5, key=KEY)
    found = density.log_prob(rows, key=KEY)
    keys = jax.random.split(KEY, 5)
    each = [density.log_prob(y, key=k).value for y, k in zip(rows, keys, strict=True)]
    np.testing.assert_allclose(found.value, each, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(density.evaluate(rows).value, each, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("name", ["target", "kernel", "flow", "stack"])
def test_the_i_th_sample_depends_on_the_key_and_i_alone(densities, name):
    density = densities[name]
    several = density.sample(4, key=KEY)
    assert several.shape == (4, 3)
    np.testing.assert_array_equal(density.sample(3, key=KEY), several[:3])
    one = density.sample(key=jax.random.fold_in(KEY, 2))
    np.testing.assert_allclose(several[2], one, atol=1e-5)


def test_log_prob_can_be_differentiated(densities):
    slope = jax.grad(lambda y: densities["kernel"].log_prob(y).value)(jnp.array([0.0, 0.6, 0.8]))
    assert np.isfinite(slope).all()


def test_budgets(densities):
    flow = densities["flow"]
    assert isinstance(flow, DequantizedDensity)
    assert flow.with_budget("coarse").work < flow.work
    assert flow.with_budget("thorough") is flow  # z has one dimension: quadrature serves
    assert densities["kernel"].with_budget("coarse") is densities["kernel"]
    assert densities["stack"].with_budget("coarse").work < densities["stack"].work
    with pytest.raises(ValueError, match="budget is"):
        flow.with_budget("huge")


def test_samples_that_are_not_finite_are_refused(densities):
    flow = densities["flow"]
    arrays, rest = eqx.partition(flow.ambient, eqx.is_inexact_array)
    broken = eqx.combine(jax.tree.map(lambda a: a * np.nan, arrays), rest)
    with pytest.raises(FloatingPointError, match="is not finite"):
        DequantizedDensity(flow.dequantization, broken, flow.dequantizer).sample(3, key=KEY)


def test_a_mixture_needs_one_manifold(densities):
    circle = ScaleMixtureKernel(largest=30.0).fit(
        Dataset(np.linspace(-1, 1, 9)[:, None], Circle()), key=KEY
    )
    with pytest.raises(ValueError, match="one manifold"):
        Stacked((densities["kernel"], circle.density), jnp.zeros(2))
