"""Whether log densities belong to the samples: the alarm for solvers whose error was exploited."""

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
    """E g(x)/π(x) over the density's own samples, and its standard error: 1 where all is well.

    g is a kernel estimate from the other half of the samples, narrow, so that it has no mass where
    π has none (a shell, two antipodal clouds). If π is `c` times the density of its samples, as an
    exploited solver's is, the mean is 1/c.
    """
    model = paramax.unwrap(ambient)
    x = jax.lax.map(lambda k: model.sample(key=k), jax.random.split(key, n), batch_size=100)
    seen, held = x[: n // 2], x[n // 2 :]
    # A kernel that narrow follows π within its own thickness; g/π stays bounded, if noisy.
    gaps = jnp.linalg.norm(seen[:, None] - seen, axis=-1) + jnp.diag(jnp.full(n // 2, jnp.inf))
    width = jnp.median(gaps.min(1))

    def log_kernel(point):
        log_each = jax.scipy.stats.norm.logpdf(point, seen, width).sum(1)
        return jax.nn.logsumexp(log_each) - jnp.log(len(seen))

    log_g = jax.lax.map(log_kernel, held, batch_size=100)
    log_prob = jax.lax.map(model.log_prob, held, batch_size=100)
    ratio = jnp.exp(log_g - log_prob)
    return ratio.mean(), ratio.std(ddof=1) / jnp.sqrt(len(held))
