"""Splines on intervals and circles."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flowjax.bijections import RationalQuadraticSpline

from foliax.estimators import CircularSplineFlow
from foliax.evaluation import metrics
from foliax.flows.manifold import CircularSpline
from foliax.flows.manifold.spline import Ends, Spline, shares, slopes
from foliax.manifolds import Torus

KEY = jax.random.key(0)


def spline(bins=7, size=1.0):
    k1, k2, k3 = jax.random.split(KEY, 3)
    return Spline(
        shares(size * jax.random.normal(k1, (bins,))),
        shares(size * jax.random.normal(k2, (bins,))),
        slopes(size * jax.random.normal(k3, (bins + 1,))),
    )


def test_it_is_flowjaxs_spline_inside():
    s = spline()
    theirs = RationalQuadraticSpline(knots=6, interval=(0, 1))
    for name, values in (
        ("x_pos", jnp.append(0.0, jnp.cumsum(s.before))),
        ("y_pos", jnp.append(0.0, jnp.cumsum(s.after))),
        ("derivatives", s.slopes),
    ):
        object.__setattr__(theirs, name, values)
    at = jnp.linspace(0.01, 0.99, 50)
    move = jax.vmap(lambda a: s.forward(Ends(a, 1 - a)))(at)
    expected, log_slope = jax.vmap(theirs.transform_and_log_det)(at)
    np.testing.assert_allclose(move.ends.low, expected, atol=2e-6)
    np.testing.assert_allclose(move.ends.high, 1 - expected, atol=2e-6)
    np.testing.assert_allclose(move.log_slope, log_slope, atol=1e-4)


@pytest.mark.parametrize("size", [1.0, 4.0])
def test_both_ends_keep_their_relative_accuracy(size):
    s = spline(size=size)
    near = jnp.array([0.0, 1e-30, 1e-12, 1e-7, 1e-4, 0.01, 0.3])
    for at in (Ends(near, 1 - near), Ends(1 - near, near)):
        move = jax.vmap(s.forward)(at)
        back = jax.vmap(s.inverse)(move.ends)
        own, own_back = (at.low, back.ends.low) if at.low[0] == 0 else (at.high, back.ends.high)
        stretch = jnp.maximum(1, jnp.exp(-move.log_slope))
        np.testing.assert_allclose(own_back[:5], own[:5], rtol=5e-5, atol=0)
        assert (jnp.abs(own_back - own) <= 1e-6 * stretch).all()
        np.testing.assert_allclose(move.ends.low + move.ends.high, 1, atol=1e-6)
        np.testing.assert_allclose(back.ends.low + back.ends.high, 1, atol=1e-6)
        np.testing.assert_allclose(back.log_slope[:5], -move.log_slope[:5], atol=2e-3)
        assert jnp.isfinite(move.log_ratios).all()
        np.testing.assert_allclose(back.log_ratios[:5], -move.log_ratios[:5], atol=2e-3)


def test_the_slope_has_no_step_at_the_cut():
    circle_map = CircularSpline(5)
    raw = jax.random.normal(KEY, (circle_map.size,))
    (low, high), log_slopes = jax.vmap(lambda a: circle_map.forward(raw, a))(
        jnp.array([-3.14159, 3.14159])
    )
    assert abs(abs(high - low) - 2 * jnp.pi) < 1e-4
    assert abs(log_slopes[0] - log_slopes[1]) < 1e-3


@pytest.mark.parametrize("coupling", [False, True])
def test_three_angles(coupling):
    spec = CircularSplineFlow(4, 2, coupling, 8)
    density = spec.build(Torus(3), key=KEY)
    mass = metrics.total_mass(density, 4000, key=KEY)
    assert abs(mass.value - 1) < 4 * mass.error + 1e-4
    assert mass.error < 0.03


def test_a_single_coupling_would_leave_angles_as_they_are():
    with pytest.raises(ValueError, match="layers=1"):
        CircularSplineFlow(coupling=True)
