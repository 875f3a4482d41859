"""Small densities that several tests share."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from foliax.density import Dataset
from foliax.dequantizers import HeavyTailed
from foliax.estimators import DequantizedFlow
from foliax.flows import RealNVP
from foliax.manifolds import AbstractDequantization
from foliax.training import ImportanceWeighted, Training, partition

SPEC = DequantizedFlow(
    RealNVP(2, 8),
    HeavyTailed(4),
    ImportanceWeighted(2),
    Training(steps=60, batch_size=32, eval_every=20, learning_rate=5e-3, warmup=5),
)


def density(g: AbstractDequantization, spec: DequantizedFlow = SPEC, seed: int = 0):
    """An untrained, shaken density: far enough from its start to be no Gaussian."""
    x = jax.random.normal(jax.random.key(seed), (64, g.ambient_dim))
    rows = jax.vmap(g.quantize)(x)[0]
    with_map = dataclasses.replace(spec, dequantization=g)
    built = with_map.build(Dataset(rows, g.manifold), key=jax.random.key(seed))
    params, static = partition(built)
    leaves, tree = jax.tree.flatten(params)
    keys = jax.random.split(jax.random.key(seed + 1), len(leaves))
    shaken = [a + 0.1 * jax.random.normal(k, a.shape) for a, k in zip(leaves, keys, strict=True)]
    return eqx.combine(jax.tree.unflatten(tree, shaken), static)


def rows_of(target, n, seed=0):
    return jnp.asarray(target.sample(n, key=jax.random.key(seed)))


def points_of(manifold, n):
    """Some points of a manifold, uniform ones where its volume is finite."""
    if not np.isfinite(manifold.log_total_volume()):
        return np.arange(n * manifold.size, dtype=float).reshape(n, manifold.size)
    keys = jax.random.split(jax.random.key(0), n)
    return np.asarray(jax.vmap(lambda k: manifold.sample_uniform(key=k))(keys))
