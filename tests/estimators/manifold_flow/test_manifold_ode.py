"""The tangent field, its divergence, and the alarm for an exploited grid."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from foliax.estimators import ManifoldODE
from foliax.estimators.manifold_flow.base import uniform_sampler
from foliax.flows.field import TanhField
from foliax.flows.manifold.ode import tangent_basis, velocity_and_divergence
from foliax.manifolds import Sphere
from foliax.training import count_parameters

KEY = jax.random.key(0)


def strong(tree, factor=10.0):
    """Last layer's weights times a factor: an untrained field hardly moves anything."""
    return eqx.tree_at(lambda f: f.layers[-1].weight, tree, replace_fn=lambda w: factor * w)


@pytest.mark.parametrize("y", [(0.0, 0.0, 1.0), (0.0, 0.0, -1.0), (0.6, 0.0, 0.8), (1.0, 0.0, 0.0)])
def test_the_basis_is_orthonormal_and_tangent(y):
    y = jnp.array(y)
    basis = tangent_basis(y)
    np.testing.assert_allclose(basis @ basis.T, np.eye(2), atol=1e-6)
    np.testing.assert_allclose(basis @ y, 0, atol=1e-6)


@pytest.mark.parametrize(("d", "depth"), [(1, 2), (2, 2), (3, 3)])
def test_velocity_is_tangent_and_divergence_is_that_of_the_extended_field(d, depth):
    """v(x/‖x‖) is constant along rays, so that its divergence in R^{d+1} is that on the sphere."""
    field = strong(TanhField(d + 1, 12, depth, key=KEY))
    t = jnp.float32(0.3)

    @jax.jit
    @jax.vmap
    def check(x):
        v, divergence = velocity_and_divergence(field, t, x)
        jacobian = jax.jacfwd(lambda x: velocity_and_divergence(field, t, x)[0])(x)
        return v @ x, divergence - jnp.trace(jacobian), divergence

    outward, gap, divergence = check(uniform_sampler(Sphere(d))(KEY, 50))
    assert jnp.abs(outward).max() < 1e-6
    assert jnp.abs(gap).max() < 1e-5
    assert jnp.abs(divergence).max() > 0.1


def test_grids_come_near_the_ode_with_their_steps():
    x = uniform_sampler(Sphere(2))(KEY, 40)
    errors = []
    for steps in (2, 8):
        density = ManifoldODE(16, steps=steps, cost=0.0).build(Sphere(2), key=KEY)
        density = eqx.tree_at(lambda d: d.bijection.flow.field, density, replace_fn=strong)
        y, log_q = jax.jit(jax.vmap(density.push))(x)
        exact, log_exact = jax.jit(jax.vmap(density.accurate().push))(x)
        errors.append(max(jnp.abs(y - exact).max(), jnp.abs(log_q - log_exact).max()))
    assert errors[1] < errors[0] / 20
    assert errors[1] < 1e-3


def test_long_paths_cost_both_ways():
    """At least the squared distance from end to end, by Cauchy and Schwarz, times the cost."""
    x = uniform_sampler(Sphere(2))(KEY, 40)

    def trained(cost):
        density = ManifoldODE(16, cost=cost).build(Sphere(2), key=KEY)
        return eqx.tree_at(lambda d: d.bijection.flow.field, density, replace_fn=strong)

    y, free = jax.jit(jax.vmap(trained(0.0).push))(x)
    paid = jax.jit(jax.vmap(trained(0.1).push))(x)[1] - free
    distance = jnp.arccos(jnp.clip((x * y).sum(1), -1, 1))
    assert distance.max() > 0.1
    assert (paid > 0.1 * distance**2 - 1e-5).all()
    np.testing.assert_allclose(paid.mean(), 0.1 * (distance**2).mean(), rtol=0.5)
    back, back_free = (jax.jit(jax.vmap(trained(c).bijection.inverse))(y)[1] for c in (0.1, 0.0))
    np.testing.assert_allclose(back_free - back, paid, atol=1e-4)
    ode, ode_free = (jax.jit(jax.vmap(trained(c).accurate().push))(x)[1] for c in (0.1, 0.0))
    np.testing.assert_array_equal(ode, ode_free)


def test_sizes_are_the_papers():
    for spec, d, expected in ((ManifoldODE(70, 2), 2, 5_533), (ManifoldODE(100, 3), 3, 21_204)):
        assert count_parameters(spec.build(Sphere(d), key=KEY)) == expected
