"""Couplings, autoregressive flows and the flowjax adapter."""

import itertools

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import pytest
from flowjax.distributions import MultivariateNormal, Normal, StandardNormal

from foliax.flows import AutoregressiveSpline, FromFlowjax, NeuralODE, RealNVP, SplineCoupling
from tests.flows.cases import SPECS, build, count, in_double, log_probs, shaken


def network(*sizes: int) -> int:
    """Parameters of a dense network of these layer sizes."""
    return sum(a * b + b for a, b in itertools.pairwise(sizes))


@pytest.mark.parametrize(
    ("spec", "dim", "dequantizer", "total"),
    [
        (RealNVP(layers=3, width=40), 3, (3, 10, 10, 2), 5_824),
        (RealNVP(layers=3, width=70), 4, (4, 70, 70, 2), 21_854),
        (RealNVP(layers=3, width=35), 4, (4, 35, 35, 4), 6_106),
        (RealNVP(layers=3, width=40), 2, None, 5_406),
        (RealNVP(layers=5, width=512, split=5), 9, (9, 128, 128, 12), 1_368_500),
        (NeuralODE(width=70), 3, (3, 10, 10, 2), 5_705),
        (NeuralODE(width=100, depth=3), 4, (4, 10, 10, 2), 21_386),
    ],
)
def test_parameter_counts_of_the_paper(spec, dim, dequantizer, total):
    ones = (1.0,) * dim
    ambient = build(spec, dim=dim, shift=ones, scale=ones)
    assert count(ambient) + (network(*dequantizer) if dequantizer else 0) == total


@eqx.filter_jit
def to_base(flow, s):
    return *jax.vmap(flow.inverse_and_log_det)(s), jax.vmap(jax.jacfwd(flow.inverse))(s)


@eqx.filter_jit
def to_data(flow, z):
    return jax.vmap(flow.transform_and_log_det)(z)


@pytest.mark.parametrize("name", ["realnvp-split", "autoregressive"])
def test_inverse_round_trip(name):
    single = shaken(SPECS[name]).inner  # outside: others share it, and must not get float64
    with jax.enable_x64(True):
        flow = in_double(single).distribution.bijection
        s = jr.normal(jr.key(5), (50, 3), jnp.float64)
        z, log_det, jacobian = to_base(flow, s)
        back, log_det_back = to_data(flow, z)
        assert jnp.max(jnp.abs(back - s)) < 1e-9
        assert jnp.max(jnp.abs(log_det + log_det_back)) < 1e-8
        assert jnp.max(jnp.abs(jnp.linalg.slogdet(jacobian)[1] - log_det)) < 1e-8


@pytest.mark.parametrize("name", ["realnvp", "spline", "autoregressive"])
def test_starts_close_to_the_normal(name):
    ambient = build(SPECS[name], shift=(0.0,) * 3, scale=(1.0,) * 3)
    x = jr.normal(jr.key(6), (100, 3))
    expected = StandardNormal((3,)).log_prob(x)
    assert jnp.max(jnp.abs(log_probs(ambient, x)[0] - expected)) < 0.2


@pytest.mark.parametrize("spec", [RealNVP(), SplineCoupling(), AutoregressiveSpline()])
def test_one_coordinate_is_refused_with_a_remedy(spec):
    with pytest.raises(ValueError, match="use GaussianMixture or an ODE"):
        build(spec, dim=1)


@pytest.mark.parametrize("kind", [RealNVP, SplineCoupling, AutoregressiveSpline])
def test_unknown_activation_is_refused(kind):
    with pytest.raises(ValueError, match="choose from"):
        build(kind(activation="swoosh"))


def test_any_flowjax_distribution_will_do():
    covariance = jnp.array([[2.0, 0.3], [0.3, 1.0]])
    normal = MultivariateNormal(jnp.array([1.0, -1.0]), covariance)
    ambient = FromFlowjax(normal)
    x = jnp.array([0.2, 0.1])
    assert ambient.dim == 2
    assert jnp.allclose(ambient.log_prob(x), normal.log_prob(x))
    assert ambient.log_prob_and_cost(x)[1] == 0
    assert ambient.sample(key=jr.key(0)).shape == (2,)


@pytest.mark.parametrize("shape", [(), (2, 2)])
def test_flowjax_distribution_of_another_shape_is_refused(shape):
    with pytest.raises(ValueError, match="over vectors"):
        FromFlowjax(Normal(jnp.zeros(shape)))


def test_a_far_point_has_a_finite_density_under_jit():
    for name in ("realnvp", "spline", "autoregressive"):
        log_prob = log_probs(build(SPECS[name]), jnp.array([[1e4, -1e4, 1e4]]))[0]
        assert jnp.isfinite(log_prob[0])
