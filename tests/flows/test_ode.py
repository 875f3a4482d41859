"""Fields, the continuous and the discrete flow."""

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import pytest

from foliax.flows import DiscreteODE, NeuralODE, Residual
from foliax.flows.determinant import determinant, log_determinant, log_determinant_of_positive
from foliax.flows.field import EXACT_DIM, TanhField, probe_from_bits
from foliax.flows.residual import MAX_CONTRACTION
from tests.flows.cases import SPECS, draws, in_double, log_probs, shaken


@pytest.mark.parametrize("depth", [1, 2, 3])
@pytest.mark.parametrize("dim", [1, 2, 5])
def test_divergence_and_tangents_equal_autodiff(dim, depth):
    with jax.enable_x64(True):
        field = TanhField(dim, 7, depth, key=jr.key(0))
        t, x = jnp.array(0.3), jr.normal(jr.key(1), (dim,))
        jacobian = jax.jacfwd(lambda x: field(t, x))(x)
        value, divergence = field.value_and_divergence(t, x, jnp.zeros(dim))
        assert jnp.allclose(value, field(t, x), atol=1e-12)
        assert jnp.allclose(divergence, jnp.trace(jacobian), atol=1e-12)
        tangents = field.value_and_tangents(t, x, jnp.eye(dim))[1]
        assert jnp.allclose(tangents, jacobian.T, atol=1e-12)
        assert not field.is_stochastic()


def test_closed_form_holds_in_any_dimension():
    field = TanhField(EXACT_DIM + 4, 9, 2, key=jr.key(0))
    x = jr.normal(jr.key(1), (field.dim,))
    trace = jnp.trace(jax.jacfwd(lambda x: field(jnp.array(0.5), x))(x))
    divergence = field.value_and_divergence(jnp.array(0.5), x, jnp.zeros_like(x))[1]
    assert jnp.allclose(divergence, trace, atol=1e-5)


@pytest.mark.slow
def test_hutchinson_is_unbiased():
    field = TanhField(EXACT_DIM + 1, 9, 3, key=jr.key(0))
    assert field.is_stochastic()
    t, x = jnp.array(0.5), jr.normal(jr.key(1), (field.dim,))
    probes = jax.jit(jax.vmap(probe_from_bits))(x + 1e-3 * jr.normal(jr.key(2), (4_000, field.dim)))
    assert abs(probes.mean()) < 0.02
    estimates = jax.vmap(lambda v: field.value_and_divergence(t, x, v)[1])(probes)
    trace = jnp.trace(jax.jacfwd(lambda x: field(t, x))(x))
    assert abs(estimates.mean() - trace) < 4 * estimates.std() / jnp.sqrt(len(probes))


@pytest.mark.parametrize("m", [1, 2, 3, 4, 5])
def test_determinant(m):
    with jax.enable_x64(True):
        a = jr.normal(jr.key(m), (m, m))
        assert jnp.allclose(determinant(a), jnp.linalg.det(a), atol=1e-12)


@pytest.mark.slow
def test_discrete_density_is_that_of_the_map():
    """log p = log N(map(x)) + log|det| with the Jacobian of the whole map by autodiff."""
    with jax.enable_x64(True):
        flow = in_double(shaken(SPECS["discrete-ode"], noise=0.5).inner)
        x = jnp.array([0.4, -0.2, 0.9])

        @jax.jit
        def to_base(x):
            for t in flow._times(x.dtype):
                x = flow._step(t, x)
            return x

        log_volume = jnp.linalg.slogdet(jax.jacfwd(to_base)(x))[1]
        expected = jax.scipy.stats.norm.logpdf(to_base(x)).sum() + log_volume
        assert jnp.allclose(log_probs(flow, x[None])[0], expected, atol=1e-10)
        z = jr.normal(jr.key(3), (3,), x.dtype)
        back = eqx.filter_jit(lambda f, k: f.sample(key=k))(flow, jr.key(3))
        assert jnp.allclose(to_base(back), z, atol=1e-10)


def test_many_steps_reach_the_continuous_flow():
    with jax.enable_x64(True):
        continuous = shaken(NeuralODE(width=8, rtol=1e-9, atol=1e-10), noise=0.5)
        discrete = shaken(DiscreteODE(width=8, steps=200), noise=0.5)
        x = jnp.array([[0.4, -0.2, 0.9]])
        for a, b in zip(
            log_probs(in_double(continuous), x), log_probs(in_double(discrete), x), strict=True
        ):
            assert jnp.allclose(a, b, atol=1e-4)


@pytest.mark.parametrize(
    "call", [lambda a: log_probs(a, jnp.ones((1, 3))), lambda a: draws(a, jr.key(0), 1)]
)
def test_a_solver_failure_says_how_to_fix_it(call):
    ambient = shaken(NeuralODE(width=8, max_steps=3, rtol=1e-7, atol=1e-7), noise=1.0)
    with pytest.raises(eqx.EquinoxRuntimeError, match="raise max_steps"):
        jax.block_until_ready(call(ambient))


def test_a_fold_is_not_rewarded_and_cannot_be_sampled():
    ambient = shaken(DiscreteODE(width=8, steps=1), noise=4.0)
    with pytest.raises(eqx.EquinoxRuntimeError, match="could not be inverted"):
        jax.block_until_ready(draws(ambient, jr.key(0), 500))


@pytest.mark.parametrize("det", [-3.0, -0.1, 0.0, 0.005, 0.01, 0.5, 4.0])
def test_log_determinant_is_a_barrier(det):
    matrix = jnp.diag(jnp.array([det, 1.0]))
    value, slope = jax.value_and_grad(lambda a: log_determinant(a))(matrix)
    assert jnp.isfinite(value)
    assert slope[0, 0] > 0
    if det >= 0.01:
        assert jnp.allclose(value, jnp.log(det), atol=1e-5)
    else:
        assert value < jnp.log(0.01)


@pytest.mark.parametrize("m", [1, 2, 4, 9])
def test_log_determinant_of_positive_matrices(m):
    with jax.enable_x64(True):
        root = jr.normal(jr.key(m), (20, m, m), jnp.float64)
        matrices = root @ jnp.swapaxes(root, 1, 2) + 0.1 * jnp.eye(m)
        found = jax.vmap(log_determinant_of_positive)(matrices)
        assert jnp.allclose(found, jnp.linalg.slogdet(matrices)[1], atol=1e-9)


@pytest.mark.slow
def test_residual_layers_cannot_fold():
    """However large the weights, the Jacobian's eigenvalues exceed e^s (1 − MAX_CONTRACTION)."""
    with jax.enable_x64(True):
        stacked = in_double(shaken(Residual(layers=1, width=8), noise=3.0).inner.layers)
        layer = jax.tree.map(lambda leaf: leaf[0], stacked)
        x = 3 * jr.normal(jr.key(0), (100, 3), jnp.float64)
        jacobians = jax.jit(jax.vmap(jax.jacfwd(layer)))(x)
        core = jnp.exp(-layer.log_scale)[:, None] * jacobians
        assert jnp.max(jnp.abs(core - jnp.swapaxes(core, 1, 2))) < 1e-10
        assert jnp.min(jnp.linalg.eigvalsh(core)) > 1 - MAX_CONTRACTION
        value, log_det = jax.jit(jax.vmap(layer.value_and_log_det))(x)
        assert jnp.allclose(value, jax.vmap(layer)(x), atol=1e-10)
        assert jnp.allclose(log_det, jnp.linalg.slogdet(jacobians)[1], atol=1e-9)
