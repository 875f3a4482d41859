"""Möbius maps of the circle, and the recursion over heights."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from foliax.estimators import MobiusFlow
from foliax.evaluation import metrics
from foliax.flows.manifold import Mobius
from foliax.manifolds import Sphere, Torus
from foliax.paper import targets
from foliax.training import count_parameters

KEY = jax.random.key(0)


def test_one_map_is_the_formula_of_rezende():
    v = jnp.array([0.7, -1.1])
    w = complex(*(0.99 * v / jnp.sqrt(1 + v @ v)))
    angles = np.linspace(-3, 3, 25)

    def turned(z):
        return (1 - abs(w) ** 2) / abs(z - w) ** 2 * (z - w) - w

    image, _ = jax.vmap(lambda a: Mobius(1).forward(v, a))(jnp.asarray(angles, jnp.float32))
    expected = turned(np.exp(1j * angles)) / turned(1)
    np.testing.assert_allclose(np.exp(1j * np.asarray(image)), expected, atol=2e-6)


@pytest.mark.parametrize("size", [1.0, 1e4])
def test_the_inverse_of_the_sharpest_maps(size):
    """All centres at the bound |w| = 0.99, in one place: slopes from 1/199 to 199."""
    circle_map = Mobius(5)
    raw = size * jnp.tile(jnp.array([0.6, 0.8]), 5)
    angle = jnp.linspace(-jnp.pi, jnp.pi, 4001)
    image, log_slope = jax.vmap(lambda a: circle_map.forward(raw, a))(angle)
    assert jnp.abs(log_slope).max() <= np.log(199.01)
    assert (jnp.diff(image) >= 0).all()
    back, log_back = jax.vmap(lambda a: circle_map.inverse(raw, a))(image)
    assert (jnp.abs(back - angle) <= 1e-5 * jnp.maximum(1, jnp.exp(-log_slope))).all()
    np.testing.assert_allclose(log_back, -log_slope, atol=2e-2)


def test_the_inverse_has_the_derivatives_of_the_implicit_function():
    circle_map, raw = Mobius(4), 2 * jax.random.normal(KEY, (8,))

    def both(raw, angle):
        return jnp.stack(circle_map.inverse(raw, angle))

    angle, step = jnp.float32(1.3), 1e-2
    by_raw, by_angle = jax.jacrev(both, (0, 1))(raw, angle)
    for i in range(8):
        e = jnp.zeros(8).at[i].set(step)
        slope = (both(raw + e, angle) - both(raw - e, angle)) / (2 * step)
        np.testing.assert_allclose(by_raw[:, i], slope, atol=5e-3, rtol=2e-2)
    slope = (both(raw, angle + step) - both(raw, angle - step)) / (2 * step)
    np.testing.assert_allclose(by_angle, slope, atol=5e-3, rtol=2e-2)


def test_no_gradient_is_infinite_at_a_pole():
    density = MobiusFlow(3, 4, 8).build(Sphere(3), key=KEY)
    target = targets.sphere_s3()
    points = []
    for height in (1.0, -1.0, 1 - 6e-8):
        side = np.sqrt(max(0, 1 - np.float64(np.float32(height)) ** 2))
        points += [(side, 0, 0, height), (0, side, height, 0)]

    def losses(density, y):
        image, log_q = density.push(y)
        return log_q - target.log_prob(image).value + density.log_prob(y).value

    y = jnp.asarray(points, jnp.float32)
    gradients = eqx.filter_jit(eqx.filter_vmap(eqx.filter_grad(losses), in_axes=(None, 0)))
    for leaf in jax.tree.leaves(gradients(density, y)):
        assert jnp.isfinite(leaf).all()


def test_sizes_are_the_papers():
    def parameters(spec, where):
        return count_parameters(spec.build(where, key=KEY))

    assert parameters(MobiusFlow(9), Torus(2)) == 5_540
    assert parameters(MobiusFlow(12, 31), Sphere(2)) <= 5_943
    assert parameters(MobiusFlow(32, 63), Sphere(3)) <= 25_406


def test_settings_are_checked():
    with pytest.raises(ValueError, match="centre"):
        MobiusFlow(0)
    with pytest.raises(ValueError, match="bins"):
        MobiusFlow(bins=1)


@pytest.mark.parametrize("where", [Torus(3), Sphere(1), Sphere(4)], ids=str)
def test_other_dimensions(where):
    density = MobiusFlow(3, 4, 8).build(where, key=KEY)
    mass = metrics.total_mass(density, 4000, key=KEY)
    assert abs(mass.value - 1) < 4 * mass.error + 1e-4
    assert mass.error < 0.03
