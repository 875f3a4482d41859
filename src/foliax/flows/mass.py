"""A check that log densities match the samples, to detect exploited solver errors."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import paramax
from jaxtyping import Array, Float, PRNGKeyArray

from foliax.flows.base import AbstractAmbient


@eqx.filter_jit
def reciprocal_mass(
    ambient: AbstractAmbient, *, key: PRNGKeyArray, n: int = 1000
) -> tuple[Float[Array, ""], Float[Array, ""]]:
    """Estimate E g(x)/π(x) over the density's own samples, which is 1 for a correct density.

    g is a kernel estimate from half of the samples. It is narrow, so that it has no mass where π
    has none (a shell, two antipodal clusters). If π is c times the density of its samples, as after
    training has exploited a solver's error, the mean is 1/c.

    Args:
        ambient: The density π.
        key: Chooses the samples.
        n: The number of samples; 1000 give an error of a few per cent.

    Returns:
        The mean, and its standard error.
    """
    model = paramax.unwrap(ambient)
    x = jax.lax.map(lambda k: model.sample(key=k), jax.random.split(key, n), batch_size=100)
    centres, held = x[: n // 2], x[n // 2 :]
    # The median nearest distance: narrower than any structure of π, so that g/π stays bounded.
    gaps = jnp.linalg.norm(centres[:, None] - centres, axis=-1) + jnp.diag(
        jnp.full(n // 2, jnp.inf)
    )
    width = jnp.median(gaps.min(1))

    def log_kernel(point):
        log_each = jax.scipy.stats.norm.logpdf(point, centres, width).sum(1)
        return jax.nn.logsumexp(log_each) - jnp.log(len(centres))

    log_g = jax.lax.map(log_kernel, held, batch_size=100)
    log_prob = jax.lax.map(model.log_prob, held, batch_size=100)
    ratio = jnp.exp(log_g - log_prob)
    return ratio.mean(), ratio.std(ddof=1) / jnp.sqrt(len(held))
