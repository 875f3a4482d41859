"""Whether log densities belong to the samples: the alarm for solvers whose error was exploited."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import paramax
from jaxtyping import Array, Float, PRNGKeyArray

from foliax.ambient.base import AbstractAmbient


@eqx.filter_jit
def reciprocal_mass(
    ambient: AbstractAmbient, *, key: PRNGKeyArray, n: int = 1000
) -> tuple[Float[Array, ""], Float[Array, ""]]:
    """E g(x)/π(x) over the density's own samples, and its standard error: 1 where all is well.

    g is a Gaussian fitted to the samples and shrunk, so that the ratio has a finite variance. If π
    is `c` times the density of its samples, as an exploited solver's is, the mean is 1/c.
    """
    model = paramax.unwrap(ambient)
    x = jax.lax.map(lambda k: model.sample(key=k), jax.random.split(key, n), batch_size=100)
    # Medians: a handful of far samples must not widen g.
    centre = jnp.median(x, axis=0)
    width = 0.7 * jnp.median(jnp.abs(x - centre), axis=0) / 0.6745
    log_g = jax.scipy.stats.norm.logpdf(x, centre, width).sum(1)
    log_prob = jax.lax.map(model.log_prob, x, batch_size=100)
    ratio = jnp.exp(log_g - log_prob)
    return ratio.mean(), ratio.std(ddof=1) / jnp.sqrt(n)
