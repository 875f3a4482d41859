"""The mixture against scipy's formula, in large batches too."""

import jax
import jax.numpy as jnp
import jax.random as jr

from tests.ambient.cases import DIM, SPECS, log_probs, shaken


def test_density_equals_the_sum_of_normals_in_a_large_batch():
    """In 8,000 rows, because a fused pair of small sums once came out wrong only there."""
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
