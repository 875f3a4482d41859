"""A small example of every spec, and helpers of the contract tests."""

import functools

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import paramax

from foliax.flows import (
    AutoregressiveSpline,
    DiscreteODE,
    GaussianMixture,
    NeuralODE,
    RealNVP,
    Residual,
    SplineCoupling,
)

SPECS = {
    "realnvp": RealNVP(layers=2, width=8),
    "realnvp-split": RealNVP(layers=2, width=8, split=2, activation="silu"),
    "spline": SplineCoupling(layers=2, width=8, knots=5),
    "autoregressive": AutoregressiveSpline(layers=2, width=8, knots=5),
    "mixture": GaussianMixture(components=4),
    "neural-ode": NeuralODE(width=8, rtol=1e-6, atol=1e-7),
    "discrete-ode": DiscreteODE(width=8, steps=4),
    "residual": Residual(layers=2, width=8),
    "residual-mixture": Residual(layers=2, width=8, components=3),
}
DIM = 3
SHIFT = (0.5, -1.0, 2.0)
SCALE = (1.0, 0.5, 3.0)


def is_frozen(leaf) -> bool:
    return isinstance(leaf, paramax.NonTrainable)


def parameters(tree):
    return eqx.filter(tree, eqx.is_inexact_array, is_leaf=is_frozen)


def count(tree) -> int:
    return sum(leaf.size for leaf in jax.tree.leaves(parameters(tree)))


@functools.cache
def build(spec, *, dim=DIM, shift=SHIFT, scale=SCALE, key=0):
    """Build the density, which for a flow is near the identity."""
    return spec.build(
        dim, shift=jnp.array(shift[:dim]), scale=jnp.array(scale[:dim]), key=jr.key(key)
    )


@functools.cache
def shaken(spec, *, noise=0.1, **options):
    """Build the density and perturb its parameters."""
    ambient = build(spec, **options)
    params, static = eqx.partition(ambient, eqx.is_inexact_array, is_leaf=is_frozen)
    leaves, structure = jax.tree.flatten(params)
    keys = jr.split(jr.key(7), len(leaves))
    shake = [a + noise * jr.normal(k, a.shape, a.dtype) for a, k in zip(leaves, keys, strict=True)]
    return eqx.combine(jax.tree.unflatten(structure, shake), static)


def in_double(tree):
    """Convert to float64: equinox builds float32 networks even under `enable_x64(True)`."""
    return jax.tree.map(lambda a: a.astype("float64") if eqx.is_inexact_array(a) else a, tree)


@eqx.filter_jit
def log_probs(ambient, x):
    """Compute the log density and the cost of every row."""
    return jax.vmap(ambient.log_prob_and_cost)(x)


@eqx.filter_jit
def draws(ambient, key, n):
    """Draw n points."""
    return jax.vmap(lambda k: ambient.sample(key=k))(jr.split(key, n))
