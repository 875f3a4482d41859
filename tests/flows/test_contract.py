"""What every ambient density must satisfy."""

import dataclasses
import json

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import pytest

from foliax.flows import Scaled
from tests.flows.cases import (
    DIM,
    SCALE,
    SHIFT,
    SPECS,
    build,
    draws,
    is_frozen,
    log_probs,
    parameters,
    shaken,
)

every_spec = pytest.mark.parametrize(
    "spec",
    [
        pytest.param(spec, id=name, marks=[pytest.mark.slow] if name == "neural-ode" else [])
        for name, spec in SPECS.items()
    ],
)
N = 8_000


@every_spec
def test_mass_is_one(spec):
    """∫ p dx by importance sampling from a wide Student-t (4 degrees) around the data."""
    t = jr.t(jr.key(1), 4.0, (N, DIM))
    x = jnp.array(SHIFT) + 1.5 * jnp.array(SCALE) * t
    log_q = jax.scipy.stats.t.logpdf(t, 4.0).sum(-1) - jnp.log(1.5 * jnp.array(SCALE)).sum()
    weights = jnp.exp(log_probs(shaken(spec), x)[0] - log_q)
    error = weights.std() / jnp.sqrt(N)
    assert error < 0.05
    assert abs(weights.mean() - 1) < 4 * error


@every_spec
def test_samples_follow_the_density(spec):
    """E_p[φ g/p] = ∫ φ g for a narrow normal g and φ = 1, s_i, s_i²."""
    x = draws(shaken(spec), jr.key(2), N)
    s = (x - jnp.array(SHIFT)) / jnp.array(SCALE)
    log_g = jax.scipy.stats.norm.logpdf(s, scale=0.6).sum(-1) - jnp.log(jnp.array(SCALE)).sum()
    weights = jnp.exp(log_g - log_probs(shaken(spec), x)[0])[:, None]
    for terms, expected in ((weights, 1.0), (weights * s, 0.0), (weights * s**2, 0.36)):
        error = terms.std(axis=0) / jnp.sqrt(N)
        assert jnp.all(error < 0.05)
        assert jnp.all(jnp.abs(terms.mean(axis=0) - expected) < 4.5 * error)


@every_spec
def test_gradient_is_finite_in_float32(spec):
    ambient = build(spec)
    params, static = eqx.partition(ambient, eqx.is_inexact_array, is_leaf=is_frozen)
    x = jnp.array(SHIFT) + jnp.array(SCALE) * jnp.concatenate(
        [jnp.zeros((1, DIM)), jr.normal(jr.key(3), (8, DIM)), 30 * jnp.ones((1, DIM))]
    )

    @jax.jit
    def loss(params):
        log_prob, cost = jax.vmap(eqx.combine(params, static).log_prob_and_cost)(x)
        return jnp.mean(log_prob) + jnp.mean(cost)

    gradients = jax.tree.leaves(jax.grad(loss)(params))
    assert all(bool(jnp.all(jnp.isfinite(g))) for g in gradients)
    assert any(bool(jnp.any(g != 0)) for g in gradients)


@every_spec
def test_scaling_is_not_trained(spec):
    ambient = build(spec)
    frozen = [leaf for leaf in jax.tree.leaves(ambient, is_leaf=is_frozen) if is_frozen(leaf)]
    assert isinstance(ambient, Scaled)
    assert [tuple(leaf.tree.tolist()) for leaf in frozen] == [SHIFT, SCALE]


def test_scaling_is_exact():
    plain = shaken(SPECS["mixture"]).inner
    scaled = Scaled(plain, jnp.array(SHIFT), jnp.array(SCALE))
    s = jr.normal(jr.key(4), (5, DIM))
    expected = log_probs(plain, s)[0] - jnp.log(jnp.array(SCALE)).sum()
    x = jnp.array(SHIFT) + jnp.array(SCALE) * s
    assert jnp.allclose(log_probs(scaled, x)[0], expected, atol=1e-4)
    standard = draws(plain, jr.key(4), 5)
    expected = jnp.array(SHIFT) + jnp.array(SCALE) * standard
    assert jnp.allclose(draws(scaled, jr.key(4), 5), expected, atol=1e-5)


@every_spec
def test_cost_is_not_negative(spec):
    assert jnp.all(log_probs(shaken(spec), jnp.zeros((N, DIM)))[1] >= 0)


@every_spec
def test_spec_survives_json(spec):
    fields = json.loads(json.dumps(dataclasses.asdict(spec)))
    assert type(spec)(**fields) == spec


@every_spec
def test_same_key_builds_the_same(spec):
    first, second = build(spec), build.__wrapped__(spec)
    assert eqx.tree_equal(parameters(first), parameters(second))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"scale": (1.0, 0.0, 1.0)}, "constant column"),
        ({"shift": (0.0, float("nan"), 0.0)}, "not finite"),
        ({"shift": (0.0, 0.0), "scale": (1.0, 1.0)}, "needs \\(3,\\)"),
    ],
)
def test_bad_scaling_is_refused(options, words):
    with pytest.raises(ValueError, match=words):
        build(SPECS["mixture"], **options)
