import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import paramax
import pytest

from foliax.manifolds import QR, Fold, Hyperspherical, Quaternions, Sphere, Stiefel, Torus, Wrapping
from foliax.training import ELBO, Batch, ImportanceWeighted, partition
from foliax.training.objectives import draw, log_weights

from ..small import density


def case(g, n=6):
    d = density(g)
    rows = jnp.asarray(d.sample(n, key=jax.random.key(2)))
    return d, Batch(rows, jnp.ones(n))


def value(objective, d, batch, key):
    return objective.value_and_grad(*partition(d), batch, key=key)


def mean_of(objective, d, batch, n=400):
    params, static = partition(d)

    @jax.jit
    def many(keys):
        def one(key):
            return objective.value_and_grad(params, static, batch, key=key)

        return jax.vmap(one)(keys)

    return many(jax.random.split(jax.random.key(0), n))


@pytest.mark.slow
def test_bounds_tighten_towards_the_likelihood():
    d, batch = case(Hyperspherical(Sphere(2)))
    exact = -float(jnp.mean(jax.vmap(lambda y: d.log_prob(y).value)(batch.rows)))
    losses = [
        mean_of(objective, d, batch)[0]
        for objective in (ELBO(cost=0.0), ImportanceWeighted(2, 0.0), ImportanceWeighted(16, 0.0))
    ]
    means = [float(v.mean()) for v in losses]
    errors = [float(v.std() / 20) for v in losses]
    assert means[0] > means[1] + 3 * errors[0] > means[2]
    assert means[2] > exact - 3 * errors[2]
    assert means[2] < exact + 0.1


@pytest.mark.slow
def test_the_papers_bound_for_rotations_is_looser():
    d, batch = case(Fold(QR(Stiefel(3, 3))))
    ours = float(mean_of(ELBO(cost=0.0), d, batch)[0].mean())
    papers = float(mean_of(ELBO(cost=0.0, over_branches=True), d, batch)[0].mean())
    # At least log 2 is dropped, and Jensen is applied to the two branches.
    assert papers > ours + np.log(2) - 1e-3


def plain(samples_):
    """The importance-weighted bound differentiated as it stands."""

    class Plain(ImportanceWeighted):
        def value_and_grad(self, params, static, batch, *, key):
            def loss(params):
                model = paramax.unwrap(eqx.combine(params, static))
                log_w, cost = log_weights(model, batch, draw(model, batch, self.samples, key))
                bound = jax.nn.logsumexp(log_w, axis=1) - jnp.log(self.samples)
                return -(batch.weights * bound).mean() + self.cost * cost

            return jax.value_and_grad(loss)(params)

    return Plain(samples_)


@pytest.mark.parametrize(
    "g",
    [
        pytest.param(Hyperspherical(Sphere(2)), id="S²"),
        pytest.param(Quaternions(), id="SO(3)", marks=pytest.mark.slow),
    ],
)
def test_the_doubly_reparameterised_gradient(g):
    """Same value and ambient gradient as the plain one, same mean in q, smaller variance in q."""
    d, batch = case(g)
    k = 8
    v1, g1 = mean_of(ImportanceWeighted(k), d, batch, 2000)
    v2, g2 = mean_of(plain(k), d, batch, 2000)
    np.testing.assert_allclose(v1, v2, rtol=2e-4, atol=2e-4)
    for ours, theirs in zip(jax.tree.leaves(g1.ambient), jax.tree.leaves(g2.ambient), strict=True):
        np.testing.assert_allclose(ours, theirs, atol=2e-3 * float(1 + jnp.abs(theirs).max()))
    spread = np.zeros(2)
    for ours, theirs in zip(
        jax.tree.leaves(g1.dequantizer), jax.tree.leaves(g2.dequantizer), strict=True
    ):
        error = np.sqrt((ours.var(0) + theirs.var(0)) / 2000)
        assert (np.abs(ours.mean(0) - theirs.mean(0)) < 5 * error + 1e-6).all()
        spread += [float(ours.var(0).sum()), float(theirs.var(0).sum())]
    assert spread[0] < spread[1]


def test_weights_weigh():
    d, batch = case(Hyperspherical(Sphere(2)))
    only = batch._replace(weights=jnp.zeros(6).at[2].set(6.0))
    a = value(ImportanceWeighted(2, 0.0), d, only, jax.random.key(1))[0]
    changed = only._replace(rows=only.rows.at[0].set(only.rows[1]))
    b = value(ImportanceWeighted(2, 0.0), d, changed, jax.random.key(1))[0]
    assert float(a) == float(b)


def test_a_row_without_auxiliaries_is_evaluated_once():
    model = density(Wrapping(Torus(2), 0))
    batch = Batch(jnp.zeros((5, 2)), jnp.ones(5))
    z = draw(model, batch, 16, jax.random.key(0))
    log_w, _ = log_weights(model, batch, z)
    assert log_w.shape == (5, 16)
    assert (log_w == log_w[:, :1]).all()
    program = str(jax.make_jaxpr(lambda batch: log_weights(model, batch, z)[0])(batch))
    assert "f32[5,2]" in program
    assert "f32[80,2]" not in program
