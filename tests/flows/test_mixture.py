"""The mixture against scipy's formula, also in large batches, and its initial values."""

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from sklearn.mixture import GaussianMixture as EM

from foliax.flows import Residual
from foliax.flows.mixture import initial_mixture, mixture_by_em
from tests.flows.cases import DIM, SCALE, SHIFT, SPECS, build, log_probs, shaken


def test_density_equals_the_sum_of_normals_in_a_large_batch():
    """8,000 rows, because XLA computed a fused pair of small sums wrongly only there."""
    mixture = shaken(SPECS["mixture"]).inner
    x = 2 * jr.normal(jr.key(0), (8_000, DIM))
    factors = mixture._factors()
    covariances = jnp.linalg.inv(factors @ jnp.swapaxes(factors, 1, 2))
    normals = [
        jax.scipy.stats.multivariate_normal.logpdf(x, mean, covariance)
        for mean, covariance in zip(mixture.means, covariances, strict=True)
    ]
    expected = jax.nn.logsumexp(jnp.stack(normals, 1) + jax.nn.log_softmax(mixture.logits), axis=1)
    assert jnp.allclose(log_probs(mixture, x)[0], expected, rtol=1e-4, atol=1e-3)


def three_modes(n=2_000):
    """Sample three narrow modes far apart, in scaled coordinates."""
    which = jr.randint(jr.key(1), (n,), 0, 3)
    return 2 * jnp.eye(DIM)[which] + 0.1 * jr.normal(jr.key(2), (n, DIM))


def test_the_initial_mixture_has_variance_one():
    """k^(−2/m) lies within components and the rest between them; one component is N(0, I)."""
    one = initial_mixture(1, DIM, key=jr.key(0))
    assert jnp.all(one.means == 0)
    assert jnp.all(one.log_diagonals == 0)
    many = initial_mixture(4_000, DIM, key=jr.key(0))
    between = many.means.var(0)
    within = jnp.exp(-2 * many.log_diagonals[0])
    # The variance of a variance from 4,000 normal means is 2/4,000.
    assert jnp.allclose(between + within, 1.0, atol=4 * np.sqrt(2 / 4_000))


def test_mixture_by_em_is_that_of_scikit_learn():
    x = three_modes()
    found = EM(3, init_params="k-means++", n_init=3, reg_covar=1e-4, random_state=0).fit(x)
    ours = log_probs(mixture_by_em(3, x), x)[0]
    assert np.allclose(ours, found.score_samples(np.asarray(x, float)), atol=1e-3)


@pytest.mark.parametrize("components", [1, 3])
def test_a_residual_flow_starts_at_the_data(components):
    """The layers hardly move points, so the flow starts at the score of its base."""
    spec, s = Residual(layers=2, width=8, components=components), three_modes()
    x = jnp.array(SHIFT) + jnp.array(SCALE) * s
    plain = build(spec)
    moved = spec.initialize_from_data(plain, x)
    assert spec.initialize_from_data(plain, x[:components]) is plain, "too few points"
    if components == 1:
        assert moved is plain
        return
    entropy = DIM * (0.5 * np.log(2 * np.pi * np.e) + np.log(0.1)) + np.log(3)
    mean = float(log_probs(moved, x)[0].mean()) + float(jnp.log(jnp.array(SCALE)).sum())
    assert mean == pytest.approx(-entropy, abs=0.3)
    assert log_probs(plain, x)[0].mean() < log_probs(moved, x)[0].mean() - 1
