"""`make demo`: an anisotropic cloud in R³ seen from its origin, as a density on the sphere."""

import jax
import jax.numpy as jnp
from rich.console import Console
from rich.table import Table

from foliax.manifolds import Sphere, log_joint

factor = jnp.array([[1.0, 0.0, 0.0], [0.5, 0.7, 0.0], [0.2, -0.4, 0.5]])
sphere = Sphere(2)
g = sphere.dequantization()


def ambient(x):
    white = jnp.linalg.solve(factor, x)
    return jax.scipy.stats.norm.logpdf(white).sum() - jnp.log(jnp.linalg.det(factor))


def density(y, key):
    """Importance sampling over the radius r ~ log-normal: mean weight and standard error."""
    u = jax.random.normal(key, (4000, 1))
    z, log_slope = jax.vmap(g.auxiliary.constrain)(u)
    log_q = jax.scipy.stats.norm.logpdf(u[:, 0]) - log_slope
    w = jnp.exp(jax.vmap(lambda z: log_joint(g, ambient, y, z))(z) - log_q)
    return w.mean(), w.std() / jnp.sqrt(len(w))


def main():
    keys = jax.random.split(jax.random.key(0), 5)
    y = jax.vmap(lambda key: sphere.sample_uniform(key=key))(keys)
    values, errors = jax.jit(jax.vmap(density))(y, keys)
    white = jax.vmap(lambda y: jnp.linalg.solve(factor, y))(y)
    exact = jnp.linalg.norm(white, axis=1) ** -3 / (4 * jnp.pi * jnp.linalg.det(factor))
    table = Table("point", "density per steradian", "± s.e.", "exact")
    for row in zip(y, values, errors, exact, strict=True):
        table.add_row(
            str([round(float(v), 3) for v in row[0]]), *(f"{float(v):.4f}" for v in row[1:])
        )
    Console().print(table)


if __name__ == "__main__":
    main()
