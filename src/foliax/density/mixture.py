"""Mixtures of densities on one manifold, and sampling by component."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key, PRNGKeyArray

from ..manifolds import AbstractManifold
from ..registry import storable
from .base import AbstractDensity, Budget, Condition, Point
from .batches import padded_batches
from .log_prob import LogProb


@jax.jit
def choose_components(
    log_weights: Float[Array, " k"], keys: Key[Array, " n"]
) -> tuple[Int[Array, " n"], Key[Array, " n"]]:
    """Choose a component for each key by the weights, and return keys for the rest of the draw."""
    first, rest = jnp.moveaxis(jax.vmap(jax.random.split)(keys), 1, 0)
    return jax.vmap(lambda key: jax.random.categorical(key, log_weights))(first), rest


def sample_by_component(
    chosen: Int[Array, " n"] | np.ndarray,
    count: int,
    sample: Callable[[int, np.ndarray], np.ndarray],
) -> np.ndarray:
    """Sample each of `count` components where it was chosen, and return the rows in their order.

    One compiled program for the mixture would sample every component for every row.

    Args:
        chosen: The component of each row.
        count: How many components there are.
        sample: `sample(component, which)` draws the rows of these numbers.
    """
    chosen = np.asarray(chosen)
    places = [np.flatnonzero(chosen == component) for component in range(count)]
    rows = [
        sample(component, batch)[:length]
        for component, which in enumerate(places)
        for batch, length in padded_batches(which)
    ]
    order = np.argsort(np.concatenate(places), kind="stable")
    return np.concatenate(rows)[order]


@storable("stacking.Stacked")
class Stacked(AbstractDensity):
    """p(y) = Σ_k π_k p_k(y); sample: k ~ π, y ~ p_k.

    Standard error: the members' errors, each times its share π_k p_k(y)/p(y), in quadrature.
    """

    members: tuple[AbstractDensity, ...]
    log_weights: Float[Array, " k"]
    manifold: AbstractManifold

    def __init__(self, members: tuple[AbstractDensity, ...], log_weights: Float[Array, " k"]):
        if not members:
            raise ValueError("At least one density is needed for a stack.")
        self.members = members
        self.log_weights = log_weights
        self.manifold = members[0].manifold

    def __check_init__(self):
        if {repr(member.manifold) for member in self.members} != {repr(self.manifold)}:
            raise ValueError("Only densities of one manifold can be stacked, and at least one.")

    def _log_prob(
        self, y: Point, *, condition: Condition = None, key: PRNGKeyArray | None = None
    ) -> LogProb:
        keys = [None] * len(self.members)
        if key is not None:
            keys = list(jax.random.split(key, len(self.members)))
        pairs = zip(self.members, keys, strict=True)
        each = [member._log_prob(y, condition=condition, key=k) for member, k in pairs]
        return _combine_members(
            jnp.stack([found.value for found in each]) + self.log_weights,
            jnp.stack([found.error for found in each]),
        )

    def _log_prob_batch(
        self,
        rows: Float[Array, "n size"],
        *,
        condition: Float[Array, "n c"] | None = None,
        keys: Key[Array, " n"] | None = None,
    ) -> LogProb:
        each_keys: list = [None] * len(self.members)
        if keys is not None:
            split = jax.vmap(lambda key: jax.random.split(key, len(self.members)))(keys)
            each_keys = [split[:, k] for k in range(len(self.members))]
        each = [
            member._log_prob_batch(rows, condition=condition, keys=k)
            for member, k in zip(self.members, each_keys, strict=True)
        ]
        logs, errors = (jnp.stack(found, axis=1) for found in zip(*each, strict=True))
        return jax.vmap(_combine_members)(logs + self.log_weights, errors)

    def log_prob_rows(
        self,
        rows: np.ndarray,
        row_ids: np.ndarray,
        *,
        condition: np.ndarray | None = None,
        key: PRNGKeyArray,
        batch_size: int,
    ) -> LogProb:
        keys = jax.random.split(key, len(self.members))
        pairs = [
            m.log_prob_rows(rows, row_ids, condition=condition, key=k, batch_size=batch_size)
            for m, k in zip(self.members, keys, strict=True)
        ]
        each, errors = (np.stack(found, axis=1) for found in zip(*pairs, strict=True))
        found = _combine_rows(each + np.asarray(self.log_weights), errors)
        return LogProb(np.asarray(found.value), np.asarray(found.error))

    def sample_rows(
        self, keys: Key[Array, " n"], *, condition: np.ndarray | None = None
    ) -> np.ndarray:
        if not len(keys):
            return np.zeros((0, self.manifold.size), np.float32)
        chosen, rest = choose_components(self.log_weights, keys)

        def sample(component: int, which: np.ndarray) -> np.ndarray:
            some = None if condition is None else condition[which]
            return self.members[component].sample_rows(rest[which], condition=some)

        return sample_by_component(chosen, len(self.members), sample)

    def _sample(self, *, condition: Condition = None, key: PRNGKeyArray) -> Point:
        k1, k2 = jax.random.split(key)
        chosen = jax.random.categorical(k1, self.log_weights)
        draws = [lambda key, m=m: m._sample(condition=condition, key=key) for m in self.members]
        return jax.lax.switch(chosen, draws, k2)

    @property
    def work(self) -> int:
        return sum(member.work for member in self.members)

    @property
    def evaluation_work(self) -> float:
        return sum(member.evaluation_work for member in self.members)

    def refine(self) -> Stacked:
        return self._with_members(tuple(member.refine() for member in self.members))

    def with_budget(self, budget: Budget) -> Stacked:
        return self._with_members(tuple(member.with_budget(budget) for member in self.members))

    def _with_members(self, members: tuple[AbstractDensity, ...]) -> Stacked:
        if all(a is b for a, b in zip(members, self.members, strict=True)):
            return self
        return Stacked(members, self.log_weights)


def _combine_members(logs: Float[Array, " k"], errors: Float[Array, " k"]) -> LogProb:
    """The mixture's log density and error, given its members' weighted log densities."""
    shares = jax.nn.softmax(logs)
    # A member of no share may be infinitely uncertain.
    scaled = jnp.where(shares > 0, shares * errors, 0)
    return LogProb(jax.nn.logsumexp(logs), jnp.sqrt((scaled**2).sum()))


_combine_rows = jax.jit(jax.vmap(_combine_members))
