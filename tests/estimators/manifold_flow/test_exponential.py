"""Rotation vectors in a ball."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from foliax.estimators import ExponentialFlow
from foliax.estimators.dequantized_flow import covered_share
from foliax.flows import InBall, RealNVP
from foliax.manifolds import SpecialOrthogonal

KEY = jax.random.key(0)
SPEC = ExponentialFlow(RealNVP(2, 8))


def test_the_ball_has_all_the_mass():
    inner = RealNVP(2, 8).build(3, shift=jnp.zeros(3), scale=jnp.ones(3), key=KEY)
    ball = InBall(inner, 5.0)
    x = jax.random.uniform(KEY, (40_000, 3), minval=-5, maxval=5)
    values = np.exp(np.asarray(jax.jit(jax.vmap(ball.log_prob))(x), float)) * 1000
    assert abs(values.mean() - 1) < 4 * values.std() / np.sqrt(len(values))
    assert values.std() / np.sqrt(len(values)) < 0.05
    drawn = jax.vmap(lambda k: ball.sample(key=k))(jax.random.split(KEY, 200))
    assert jnp.linalg.norm(drawn, axis=1).max() < 5
    assert ball.log_prob(jnp.array([3.0, 4.0, 0.1])) == -jnp.inf


def test_no_mass_is_outside_the_branches():
    density = SPEC.build(SpecialOrthogonal(3), key=KEY)
    assert float(covered_share(density, jax.random.split(KEY, 2000))) == 1


def test_gradients_are_finite_at_no_turn_and_at_half_turns():
    density = SPEC.build(SpecialOrthogonal(3), key=KEY)
    for diagonal in ((1.0, 1.0, 1.0), (1.0, -1.0, -1.0), (-1.0, -1.0, 1.0)):
        y = jnp.diag(jnp.array(diagonal)).reshape(-1)
        gradient = eqx.filter_jit(eqx.filter_grad(lambda d, y=y: d.log_prob(y).value))(density)
        assert all(bool(jnp.isfinite(g).all()) for g in jax.tree.leaves(gradient))


@pytest.mark.parametrize("radius", [3.0, 6.3])
def test_the_radius_is_checked(radius):
    with pytest.raises(ValueError, match="radius"):
        ExponentialFlow(radius=radius)
