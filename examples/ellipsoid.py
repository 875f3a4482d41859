"""A manifold that foliax does not have: the surface of an ellipsoid, by Theorem 1."""

import jax.numpy as jnp

from foliax.manifolds import ByAutodiff, LevelSet, auxiliary

axes = jnp.array([1.0, 2.0, 3.0])


def radius(x):
    return jnp.linalg.norm(x / axes)


ellipsoid = LevelSet(lambda y: radius(y) - 1, ambient=3)
dequantization = ByAutodiff(
    ellipsoid,
    auxiliary.positive(1),
    3,
    lambda x: (x / radius(x), radius(x)[None]),  # G: x -> (y, z)
    lambda y, z: z * y,  # its inverse
)
