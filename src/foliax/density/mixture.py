"""Mixtures of densities on one manifold, and sampling by component."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key, PRNGKeyArray

from ..manifolds import AbstractManifold
from ..registry import storable
from .base import AbstractDensity
from .batches import padded
from .log_prob import LogProb

Point = Float[Array, " size"]


@jax.jit
def picked(
    logs: Float[Array, " k"], keys: Key[Array, " n"]
) -> tuple[Int[Array, " n"], Key[Array, " n"]]:
    """For each key, a number by the weights exp(logs), and the key that is left for the rest."""
    first, rest = jnp.moveaxis(jax.vmap(jax.random.split)(keys), 1, 0)
    return jax.vmap(lambda key: jax.random.categorical(key, logs))(first), rest


def drawn_by(
    chosen: Int[Array, " n"] | np.ndarray,
    count: int,
    draw: Callable[[int, np.ndarray], np.ndarray],
) -> np.ndarray:
    """Rows that each of `count` sources draws where it was chosen, in their places.

    A mixture's draws under one compiled program would be made by every source and most be lost.
    """
    chosen = np.asarray(chosen)
    places = [np.flatnonzero(chosen == number) for number in range(count)]
    rows = [
        draw(number, padded(which))[: len(which)]
        for number, which in enumerate(places)
        if len(which)
    ]
    order = np.argsort(np.concatenate(places), kind="stable")
    return np.concatenate(rows)[order]


@storable("stacking.Stacked")
class Stacked(AbstractDensity):
    """p(y) = Σ_k π_k p_k(y); sample: k ~ π, y ~ p_k.

    Error: the members' errors, each times its share π_k p_k(y)/p(y), in quadrature.
    """

    members: tuple[AbstractDensity, ...]
    log_weights: Float[Array, " k"]
    manifold: AbstractManifold

    def __init__(self, members: tuple[AbstractDensity, ...], log_weights: Float[Array, " k"]):
        if len({repr(member.manifold) for member in members}) != 1:
            raise ValueError("Only densities of one manifold can be stacked, and at least one.")
        self.members = members
        self.log_weights = log_weights
        self.manifold = members[0].manifold

    def log_prob(
        self, y: Point, *, context: None = None, key: PRNGKeyArray | None = None
    ) -> LogProb:
        keys = [None] * len(self.members)
        if key is not None:
            keys = list(jax.random.split(key, len(self.members)))
        pairs = zip(self.members, keys, strict=True)
        each = [member.log_prob(y, context=context, key=k) for member, k in pairs]
        return _composed(
            jnp.stack([found.value for found in each]) + self.log_weights,
            jnp.stack([found.error for found in each]),
        )

    def log_probs(
        self, rows: np.ndarray, numbers: np.ndarray, key: PRNGKeyArray, chunk: int
    ) -> tuple[np.ndarray, np.ndarray]:
        keys = jax.random.split(key, len(self.members))
        pairs = [
            member.log_probs(rows, numbers, k, chunk)
            for member, k in zip(self.members, keys, strict=True)
        ]
        each, errors = (np.stack(found, axis=1) for found in zip(*pairs, strict=True))
        found = _composed_rows(each + np.asarray(self.log_weights), errors)
        return np.asarray(found.value), np.asarray(found.error)

    def draws(self, keys: Key[Array, " n"]) -> np.ndarray:
        if not len(keys):
            return np.zeros((0, self.manifold.size), np.float32)
        chosen, rest = picked(self.log_weights, keys)
        members = self.members
        return drawn_by(chosen, len(members), lambda m, which: members[m].draws(rest[which]))

    def sample(self, *, context: None = None, key: PRNGKeyArray) -> Point:
        k1, k2 = jax.random.split(key)
        chosen = jax.random.categorical(k1, self.log_weights)
        draws = [lambda key, m=m: m.sample(context=context, key=key) for m in self.members]
        return jax.lax.switch(chosen, draws, k2)

    @property
    def work(self) -> int:
        return sum(member.work for member in self.members)

    def refined(self) -> Stacked:
        finer = tuple(member.refined() for member in self.members)
        if all(a is b for a, b in zip(finer, self.members, strict=True)):
            return self
        return Stacked(finer, self.log_weights)


def _composed(logs: Float[Array, " k"], errors: Float[Array, " k"]) -> LogProb:
    """Of the members' log densities with their weights."""
    shares = jax.nn.softmax(logs)
    # A member of no share may be infinitely uncertain.
    composed = jnp.where(shares > 0, shares * errors, 0)
    return LogProb(jax.nn.logsumexp(logs), jnp.sqrt((composed**2).sum()))


_composed_rows = jax.jit(jax.vmap(_composed))
