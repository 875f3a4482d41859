"""The doughnut in R³, which the paper calls non-obvious, because the range of z depends on y."""

import jax.numpy as jnp

from foliax.manifolds import ByAutodiff, LevelSet, auxiliary

R, RHO = 2.0, 0.7  # radii of the core circle and of the tube; measure: area, ∝ R + ρ cos φ


def core_and_tube(x):
    core = R * jnp.append(x[:2] / jnp.linalg.norm(x[:2]), 0.0)  # nearest point of the circle
    return core, x - core, jnp.linalg.norm(x - core)


def quantize(x):
    core, out, t = core_and_tube(x)  # inwards t ends at the axis: t < 1/c
    return core + RHO * out / t, (t / (1 - t * inwards(core, out, t)))[None]


def inwards(core, out, t):
    return jnp.maximum(-core @ out / (R * t), 0.0) / R  # c = max(−cos φ, 0)/R


def inverse(y, z):
    core, out, t = core_and_tube(y)
    return core + out / t * z / (1 + z * inwards(core, out, t))


doughnut = LevelSet(lambda y: core_and_tube(y)[2] - RHO, ambient=3)
dequantization = ByAutodiff(doughnut, auxiliary.positive(1), 3, quantize, inverse)
