"""A conditional density: a RealNVP on S² that learns p(y | c) of a known conditional density."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from foliax import Sphere
from foliax.density import Dataset
from foliax.distributions import log_vmf_normaliser, sample_von_mises_fisher
from foliax.estimators import Auto, DequantizedFlow, ScaleMixtureKernel
from foliax.flows import GaussianMixture, RealNVP
from foliax.io import dumps, loads
from foliax.training import ELBO, Training

KEY = jax.random.key(0)
KAPPA = 8.0
TRUE_CONSTANT = float(log_vmf_normaliser(np.array([KAPPA]), 2)[0])


def means(condition):
    """The mean direction turns with the condition, an angle by its cosine and sine."""
    return jnp.concatenate([condition, jnp.zeros_like(condition[:, :1])], axis=1)


def conditional_rows(n, seed):
    k1, k2 = jax.random.split(jax.random.key(seed))
    angle = jax.random.uniform(k1, (n,), maxval=2 * jnp.pi)
    condition = jnp.stack([jnp.cos(angle), jnp.sin(angle)], axis=1)
    keys = jax.random.split(k2, n)
    draw = jax.vmap(lambda mean, k: sample_von_mises_fisher(mean, KAPPA, key=k))
    return np.asarray(draw(means(condition), keys)), np.asarray(condition)


def true_log_prob(rows, condition):
    drop = 0.5 * ((rows - np.asarray(means(jnp.asarray(condition)))) ** 2).sum(axis=1)
    return -KAPPA * drop - TRUE_CONSTANT


@pytest.fixture(scope="module")
def density():
    rows, condition = conditional_rows(4000, 1)
    training = Training(steps=600, batch_size=256, learning_rate=1e-2, eval_every=300)
    flow = DequantizedFlow(RealNVP(3, 24, activation="tanh"), objective=ELBO(), training=training)
    return flow.fit(Dataset(rows, Sphere(2), condition=condition), key=KEY).density


def test_it_learns_the_conditional_density(density):
    rows, condition = conditional_rows(1000, 2)
    found = density.evaluate(rows, condition=condition).value
    gap = true_log_prob(rows, condition) - found
    # KL(p‖q) for each condition on average; the uniform mixture over all conditions is 1.5 away.
    assert gap.mean() < 0.1
    assert gap.mean() > -4 * gap.std() / np.sqrt(len(gap))
    wrong = density.evaluate(rows, condition=-condition).value
    assert (true_log_prob(rows, condition) - wrong).mean() > 2


def test_samples_follow_the_condition(density):
    _, condition = conditional_rows(400, 3)
    drawn = density.sample(400, condition=condition, key=KEY)
    along = (drawn * np.asarray(means(jnp.asarray(condition)))).sum(axis=1)
    # E yᵀμ = coth κ − 1/κ; its standard error from 400 draws, and the fit's own error.
    expected = 1 / np.tanh(KAPPA) - 1 / KAPPA
    assert abs(along.mean() - expected) < 4 * along.std() / np.sqrt(400) + 0.03
    one = density.sample(50, condition=condition[0], key=KEY)
    assert (one @ np.asarray(means(jnp.asarray(condition[:1])))[0]).mean() > 0.7


def test_it_integrates_to_one_for_every_condition(density):
    points = Sphere(2).sample_uniform
    uniform = np.asarray(jax.vmap(lambda k: points(key=k))(jax.random.split(KEY, 2000)))
    for angle in (0.0, 2.0):
        condition = np.tile([np.cos(angle), np.sin(angle)], (2000, 1))
        values = np.exp(density.evaluate(uniform, condition=condition).value) * 4 * np.pi
        assert abs(values.mean() - 1) < 4 * values.std() / np.sqrt(2000)


def test_own_z_and_model_files_know_the_condition(density):
    rows, condition = conditional_rows(8, 4)
    keys = jax.random.split(KEY, 8)
    drawn, found = density.sample_rows_with_log_prob(
        keys, np.arange(8), condition=condition, key=KEY, batch_size=8
    )
    expected = density.evaluate(drawn, condition=condition, tol=1e-3).value
    np.testing.assert_allclose(found.value, expected, atol=0.02)
    again = loads(dumps(density)).density
    np.testing.assert_array_equal(
        again.evaluate(rows, condition=condition).value,
        density.evaluate(rows, condition=condition).value,
    )


@pytest.mark.parametrize("estimator", [ScaleMixtureKernel(), Auto()])
def test_an_estimator_that_takes_no_condition_refuses_it(estimator):
    rows, condition = conditional_rows(50, 5)
    with pytest.raises(ValueError, match="cannot fit a conditional density"):
        estimator.fit(Dataset(rows, Sphere(2), condition=condition), key=KEY)


def test_a_flow_that_cannot_be_conditional_says_so():
    rows, condition = conditional_rows(50, 5)
    with pytest.raises(ValueError, match="condition"):
        DequantizedFlow(GaussianMixture(2)).fit(
            Dataset(rows, Sphere(2), condition=condition), key=KEY
        )
